/** `npm run soak`: for as long as one likes, on the real servers, everything that happens in a cluster's life. */
import { parseArgs } from 'node:util'
import { UNBOUND } from './ledger.ts'
import { soak } from './soak.ts'

const HELP = `usage: npm run soak -- [options]

Runs two replicas of the controller on a real API server, the real kube-controller-manager and a simulated
vCenter, lets VMs come, go, move and be off while sessions, vCenter, the API server and the leader fail, and
judges by its own knowledge of the VMs: no Node is wrongly deleted, none is held forever, no memory is lost.
Exit code 1 where one is. Kubelets and agents are stand-ins, each with the credential of its own node.

  --nodes N    how many (default 300); 20 for a quick trial
  --minutes M  how long the storm takes (default 60); memory is judged from 30 on
  --unbound W  lifecycle.unbound, delete (default) or report
  --far        behind a proxy as before a large site: 0.1 to 4 s a call, silence cut at 50 s, one call in 200 fails
  --seed N     what happens, and in what order; its times depend on the machine (default drawn, and printed)
  --help       print this text
`

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '300' },
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e6)) },
    unbound: { type: 'string', default: 'delete' },
    far: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const numbers = { nodes: Number(values.nodes), minutes: Number(values.minutes), seed: Number(values.seed) }
const unbound = UNBOUND.find((each) => each === values.unbound)
const sound = Object.values(numbers).every((value) => Number.isSafeInteger(value) && value > 0)
if (values.help || !sound || unbound === undefined) {
  process.stdout.write(HELP)
  process.exit(values.help ? 0 : 2)
}
// Each program that is started listens for the end of this process.
process.setMaxListeners(0)
// An end by a signal tells nobody that this process ends, and the programs would go on.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
const right = await soak({ ...numbers, unbound, far: values.far }, (line) =>
  process.stdout.write(`${line}\n`),
)
process.exit(right ? 0 : 1)
