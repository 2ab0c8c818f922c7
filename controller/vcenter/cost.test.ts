/** How much vCenter has to tell, by VMs with devices of real size. */
import t from 'tap'
import { until } from '../../test/fixtures/until.ts'
import { type Lab, openLab, QUICK, vmsOf } from './testing/lab.ts'

const VMS = 60
/** What the devices of such a VM take alone. */
const DEVICES = 10_000

async function settled(t: Test, resync: number) {
  const lab = await openLab(t, {
    simulator: { vms: VMS, disks: 5 },
    timings: { ...QUICK, resync, sweep: 600_000 },
  })
  const vms = await lab.vCenter.vms()
  for (const { uuid } of vms) lab.inventory.follow(uuid)
  const all = () => vms.every(({ uuid }) => vmsOf(lab.inventory.lookup(uuid))?.[0]?.ancestry)
  await until('all', all)
  return { lab, vms }
}

type Test = Parameters<typeof openLab>[0]

/** Of reads, for each VM: as sent, and inflated. */
async function cost({ vCenter }: Lab) {
  const { wire = 0, inflated = 0 } = (await vCenter.bytes()).RetrievePropertiesEx ?? {}
  return { wire: wire / VMS, inflated: inflated / VMS }
}

t.test('until all are known', async (t) => {
  const { lab } = await settled(t, 600_000)
  const { wire, inflated } = await cost(lab)
  t.ok(inflated < DEVICES / 2, `${inflated} bytes inflated`)
  t.ok(wire < DEVICES / 10, `${wire} bytes sent`)
})

t.test('a resync where nothing has changed', async (t) => {
  const { lab } = await settled(t, 1_000)
  const next = async () => {
    const before = lab.corrections.length
    await until('a resync', () => lab.corrections.length > before)
    return lab.corrections.at(-1)
  }
  // What the first one corrects is of the beginning.
  await next()
  await lab.vCenter.resetCalls()
  t.equal(await next(), 0)
  const { operations } = await lab.vCenter.calls()
  const { wire, inflated } = await cost(lab)
  const resyncs = operations.RetrievePropertiesEx ?? 1
  t.ok(inflated < (DEVICES / 4) * resyncs, `${inflated} bytes inflated in ${resyncs}`)
  t.ok(wire < (DEVICES / 20) * resyncs, `${wire} bytes sent in ${resyncs}`)
})

t.test('a network card that is added is seen, by reading that VM alone', async (t) => {
  const { lab, vms } = await settled(t, 500)
  const [vm] = vms
  const cards = () => vmsOf(lab.inventory.lookup(vm?.uuid ?? ''))?.[0]?.nics.length
  t.equal(cards(), 1)
  await lab.vCenter.govc('vm.network.add', '-vm', vm?.name ?? '', '-net', 'DC0_DVPG0')
  await until('the card', () => cards() === 2)
  t.equal((await lab.vCenter.vms())[0]?.vnics.length, 2)
})
