import t from 'tap'
import { until } from '../../test/fixtures/until.ts'
import { NEVER, openLab, vmsOf } from './testing/lab.ts'
import { TIMINGS } from './timings.ts'

t.test('what a thousand VMs, their ancestors and tags cost at once', async (t) => {
  const lab = await openLab(t, {
    simulator: { vms: 1_000, clusters: 2, hosts: 10 },
    // What is done now and then is no cost of the beginning, however long that takes.
    timings: { ...TIMINGS, doubt: NEVER, keepAlive: NEVER, resync: NEVER, sweep: NEVER },
    before: (vCenter) =>
      vCenter.tag(
        { category: 'k8s-zone', tag: 'a', object: 'DC0_C0' },
        { category: 'k8s-zone', tag: 'b', object: 'DC0_C1' },
        { category: 'k8s-region', tag: 'r', object: 'DC0' },
      ),
  })
  const vms = await lab.vCenter.vms()
  for (const { uuid } of vms) lab.inventory.follow(uuid)
  await until('all', () => vms.every(({ uuid }) => vmsOf(lab.inventory.lookup(uuid))?.[0]?.ancestry))
  const last = vms.at(-1)
  await lab.vCenter.setState({ vm: last?.ref ?? '', powerState: 'suspended' })
  const suspended = () => vmsOf(lab.inventory.lookup(last?.uuid ?? ''))?.[0]?.powerState === 'suspended'
  await until('watching all', suspended)
  const { total, operations } = await lab.vCenter.calls()
  // Polls come for as long as it takes.
  t.ok(total - (operations.WaitForUpdatesEx ?? 0) <= 35, JSON.stringify(operations))
  t.ok((operations.ModifyListView ?? 0) <= 3)
  t.match(operations, { Login: 1, 'REST POST /rest/com/vmware/cis/session': 1 })
})
