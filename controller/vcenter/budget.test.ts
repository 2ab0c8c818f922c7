import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openLab, until, vmsOf } from './testing/lab.ts'
import { TIMINGS } from './timings.ts'

t.test(
  'a thousand VMs, their ancestors and tags: at most 45 calls, asked for at once or one by one',
  async (t) => {
    for (const gap of [0, 5]) {
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
      for (const { uuid } of vms) {
        lab.inventory.follow(uuid)
        if (gap > 0) await sleep(gap)
      }
      await until(
        'all',
        () => vms.every(({ uuid }) => vmsOf(lab.inventory.lookup(uuid))?.[0]?.ancestry),
        30_000,
      )
      await until('watching all', async () => (await lab.vCenter.calls()).operations.ModifyListView === 1)
      await sleep(2_000)
      const { total, operations } = await lab.vCenter.calls()
      t.ok(total <= 45, `${gap} ms apart: ${JSON.stringify(operations)}`)
      t.match(operations, { Login: 1, 'REST POST /rest/com/vmware/cis/session': 1 })
      await lab.stop()
    }
  },
)
