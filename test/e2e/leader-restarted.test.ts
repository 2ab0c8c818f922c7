// A container that is restarted in its Pod starts with the same --identity. Whether the process before it has ended, the
// new one cannot know.
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { isLeading, lease, standsBy } from '../world/leadership.ts'
import { openStage } from '../world/stage.ts'

const { cluster, controller } = await openStage(t, { vms: 1 })
const POD = 'rollcall-controller-7d9f'

const first = await controller({ identity: POD })
const held = await lease(cluster)
t.match(held, { holderIdentity: new RegExp(`^${POD}_[0-9a-f]{8}$`), leaseTransitions: 0 })

t.test(
  'killed: the next one of that name waits until the Lease has run out, and it is a new term',
  async (t) => {
    first.kill('SIGKILL')
    await first.ended
    const { renewTime } = await lease(cluster)
    const second = await controller({ identity: POD, until: 'answering' })
    await until('it knows that another holds the Lease', () => standsBy(second, POD))
    await until('it leads', () => isLeading(second))
    const { holderIdentity, leaseTransitions, acquireTime } = await lease(cluster)
    t.match(holderIdentity, new RegExp(`^${POD}_`))
    t.not(holderIdentity, held.holderIdentity)
    t.equal(leaseTransitions, 1)
    t.ok(Date.parse(acquireTime) - Date.parse(renewTime) >= 15_000, `${renewTime}, then ${acquireTime}`)

    await t.test('frozen: it stands by when it wakes, though its successor has its name', async (t) => {
      second.kill('SIGSTOP')
      const third = await controller({ identity: POD, until: 'answering' })
      await until('the third leads', () => isLeading(third))
      second.kill('SIGCONT')
      await until('the second stands by', () => standsBy(second, POD))
      t.ok(await isLeading(third))
      t.match(await lease(cluster), { leaseTransitions: 2 })
    })
  },
)
