// The vSphere CPI initializes a cluster and hands it over to Rollcall, which hands it back. Each starts with the same file.
import t from 'tap'
import { LABEL_IDENTITY_LEVEL } from '../../controller/types/well-known.ts'
import { until } from '../fixtures/until.ts'
import { vsphereConf } from '../world/controller.ts'
import { startCPI } from '../world/cpi.ts'
import { isInitialized, level } from '../world/objects.ts'
import { type Program, runProgram } from '../world/program.ts'
import { LABELS, openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 3 })
const { cluster, vcsim, nodes, dir } = stage
const config = vsphereConf(vcsim, { labels: LABELS })

const first = await runCPI()
const names = ['worker-1', 'worker-2', 'worker-3']
for (const name of names) await stage.member(name, { tools: true, labels: { 'example.com/own': 'kept' } })
await nodes.until('the CPI has initialized all', () => names.every((name) => isInitialized(nodes.last(name))))
await rounds(first)

const byCPI = await written()

t.test('a plan says that nothing would change, but for the label', async (t) => {
  t.equal(byCPI.length, 3)
  t.match(byCPI[0], { labels: { 'topology.kubernetes.io/region': 'region-1' }, addresses: [{}, {}, {}] })
  await first.stop()
  const args = ['--from-cpi', `--config=${dir}/cpi.conf`, `--kubeconfig=${cluster.adminKubeconfig}`]
  const { code, text } = await runProgram('rollcall-controller', 'plan', ...args)
  t.equal(code, 0)
  t.match(text, /^no change to any of 3 Nodes$/m)
  t.match(text, /^Nodes that would get a new identity level label: 3 \(worker-1, worker-2, worker-3\)$/m)
})

t.test('Rollcall takes over, and nothing moves', async (t) => {
  const controller = await stage.controller({
    config,
    cpiArguments: ['--cloud-provider=vsphere', '--v=2', '--cloud-config=/etc/cloud/vsphere.conf'],
    args: ['--secure-port=0'],
  })
  await nodes.until('it knows all', () => names.every((name) => level(nodes.last(name)) === 'asserted'))
  await controller.stop()
  t.strictSame(await written(), byCPI)
})

t.test('the CPI takes it back, and nothing moves', async (t) => {
  await rounds(await runCPI())
  t.strictSame(await written(), byCPI)
})

interface WrittenNode {
  readonly metadata: {
    readonly name: string
    readonly labels: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly spec: object
  readonly status: { readonly addresses?: readonly object[] }
}

/** All of the Nodes that a cloud provider writes, but for the label that is Rollcall's own. */
async function written() {
  const { body } = await cluster.request<{ items: WrittenNode[] }>('GET', '/api/v1/nodes')
  return body.items.map(({ metadata: { name, annotations, labels }, spec, status: { addresses } }) => {
    const { [LABEL_IDENTITY_LEVEL]: _, ...others } = labels
    return { name, spec, labels: others, annotations, addresses }
  })
}

async function runCPI(): Promise<Program> {
  const cpi = await startCPI({ cluster, dir, config, args: ['-v=4', '--node-status-update-frequency=1s'] })
  t.teardown(() => cpi.stop())
  return cpi
}

/** Waits until the CPI has gone over the addresses of all Nodes, twice. */
async function rounds(cpi: Program): Promise<void> {
  const count = () => cpi.stderr.filter((line) => /Update \d+ nodes status took/.test(line)).length
  const before = count()
  await until('the CPI has looked at all Nodes', () => count() >= before + 2)
}
