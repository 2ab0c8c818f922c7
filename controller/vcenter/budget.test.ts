import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openLab, until, vmsOf } from './testing/lab.ts'
import { TIMINGS } from './timings.ts'

t.test('what a thousand VMs, their ancestors and tags cost, however long their crowd takes', async (t) => {
  // Milliseconds from one to the next, calls at most.
  for (const [gap, budget] of [
    [0, 48],
    [10, 63],
    [20, 68],
  ] as const) {
    const lab = await openLab(t, {
      simulator: { vms: 1_000, clusters: 2, hosts: 10 },
      timings: TIMINGS,
      before: (vCenter) =>
        vCenter.tag(
          { category: 'k8s-zone', tag: 'a', object: 'DC0_C0' },
          { category: 'k8s-zone', tag: 'b', object: 'DC0_C1' },
          { category: 'k8s-region', tag: 'r', object: 'DC0' },
        ),
    })
    const vms = await lab.vCenter.vms()
    const start = performance.now()
    for (const [i, { uuid }] of vms.entries()) {
      lab.inventory.follow(uuid)
      await sleep(Math.max(0, start + gap * i - performance.now()))
    }
    await until(
      'all',
      () => vms.every(({ uuid }) => vmsOf(lab.inventory.lookup(uuid))?.[0]?.ancestry),
      30_000,
    )
    const last = vms.at(-1)
    await lab.vCenter.setState({ vm: last?.ref ?? '', powerState: 'suspended' })
    const suspended = () => vmsOf(lab.inventory.lookup(last?.uuid ?? ''))?.[0]?.powerState === 'suspended'
    await until('watching all', suspended, 20_000)
    const { total, operations } = await lab.vCenter.calls()
    t.ok(total <= budget, `${gap} ms apart: ${JSON.stringify(operations)}`)
    t.ok((operations.ModifyListView ?? 0) <= 3)
    t.match(operations, { Login: 1, 'REST POST /rest/com/vmware/cis/session': 1 })
    await lab.stop()
  }
})
