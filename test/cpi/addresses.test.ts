/** The addresses that the CPI's own code chooses against ours, for Nodes without an agent. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { createRandom } from '../simulation/random.ts'
import { CASES } from './address-cases.ts'
import { compareAddresses } from './compare.ts'
import { PAGE } from './differences.ts'
import { generateConfigured } from './generate-addresses.ts'

const SEED = 20_261_123
const CONFIGURATIONS = 60

await t.test('the written set: the same, but for the listed differences', async (t) => {
  const compared = await compareAddresses(CASES)
  let next = 0
  for (const { name, verdict, machines } of CASES) {
    for (const _ of machines) {
      const one = compared[next++]
      t.equal(one?.verdict, verdict, `${name}: ${JSON.stringify(one)}`)
    }
  }
  t.equal(next, compared.length)
  const page = readFileSync(PAGE, 'utf8')
  for (const { name, verdict, shows } of CASES) {
    t.equal(shows === undefined, verdict === 'same' || verdict === 'neither', name)
    if (shows !== undefined) t.ok(page.includes(`\n| ${shows} | `), `docs/differences.md has: ${shows}`)
  }
})

await t.test('made up by seeds: the same, but where the kubelet chooses otherwise', async (t) => {
  const configured = Array.from({ length: CONFIGURATIONS }, (_, i) =>
    generateConfigured(createRandom(SEED + i)),
  )
  const counts = { same: 0, waiting: 0, followed: 0 }
  for (const one of await compareAddresses(configured)) {
    if (one.verdict === 'same') counts.same++
    else if (one.verdict === 'neither') counts.waiting++
    else if (followsKubelet(one)) counts.followed++
    else t.fail(JSON.stringify(one, undefined, 2))
  }
  const all = counts.same + counts.waiting + counts.followed
  t.ok(counts.same > all / 4 && counts.waiting > all / 10, JSON.stringify(counts))
})

/** A listed difference: `--node-ip` is on the machine, and the CPI would not choose it, or waits for the other family. */
function followsKubelet({
  verdict,
  rollcall,
  machine: { nodeIP = '' },
}: Awaited<ReturnType<typeof compareAddresses>>[number]): boolean {
  const [first] = 'value' in rollcall ? rollcall.value : []
  const [wanted = ''] = nodeIP.split(',')
  return verdict === 'only Rollcall' && wanted !== '' && first?.type !== 'Hostname'
}
