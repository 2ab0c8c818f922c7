import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { until } from '../fixtures/until.ts'
import type { Controller } from '../world/controller.ts'
import { isLeading, lease, standsBy } from '../world/leadership.ts'
import { countRequests } from '../world/meters.ts'
import { address } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 3 })
const { cluster, nodes } = stage

t.test('frozen while a write of its own is on its way, which arrives after the take-over', async (t) => {
  const refused = { verb: 'PATCH', resource: 'nodes', code: '409' }
  const conflicts = await countRequests(cluster, refused)
  const proxy = await stage.line()
  const old = await stage.controller({ identity: 'old', cluster: proxy.cluster })
  const next = await stage.controller({ identity: 'next', until: 'answering' })
  const member = await stage.initialized('worker')
  await until('next knows who leads', () => standsBy(next, 'old'))
  t.equal(await conflicts(), 0)

  // Of the Node and of its report, whose status comes last.
  const written = await until('both are answered', async () => {
    const answered = await writes(old)
    return answered.length === 2 ? answered : undefined
  })

  // It still hears of the new address, and what it writes about it goes nowhere yet.
  proxy.set('mute')
  await until('the renewal of the Lease hangs', () => proxy.held() > 0)
  const hanging = proxy.held()
  await member.setAddresses('10.8.0.1/24')
  await member.reportOnce()
  await until('its write is on the way', () => proxy.held() > hanging)
  old.kill('SIGSTOP')
  await until('the other leads', () => isLeading(next))
  await nodes.until('it writes', () => address(nodes.last('worker'), 'InternalIP') === '10.8.0.1')
  const count = nodes.of('worker').length

  // On a busy machine it may be frozen before the write has left; then there is none to come late.
  let late = 0
  await t.test('what is late is refused', async (t) => {
    proxy.set('works')
    await until('all that was held has arrived', () => proxy.held() === 0)
    for (let looks = 0; looks < 30 && late === 0; looks++) {
      await sleep(100)
      late = await conflicts()
    }
    if (late === 0) t.comment('frozen before it wrote')
    t.equal(nodes.of('worker').length, count)
  })

  await t.test('thawed, it writes nothing of what it finds in its buffers', async (t) => {
    await member.setAddresses('10.8.0.2/24')
    await member.reportOnce()
    await nodes.until('the other writes', () => address(nodes.last('worker'), 'InternalIP') === '10.8.0.2')
    await member.setAddresses('10.8.0.3/24')
    await member.reportOnce()
    old.kill('SIGCONT')
    await until('it stands by', () => standsBy(old, 'next'))
    await nodes.until('the other writes', () => address(nodes.last('worker'), 'InternalIP') === '10.8.0.3')
    t.same(await writes(old), written)
    t.equal(await conflicts(), late, 'not even tried')
    t.equal(nodes.of('worker').length, count + 2)
    t.match(await lease(cluster), { holderIdentity: /^next_/, leaseTransitions: 1 })
  })
})

/** Requests of a controller that changed a Node or a report. */
async function writes(controller: Controller): Promise<string[]> {
  const lines = (await controller.metrics()).split('\n')
  return lines.filter((line) =>
    /^rollcall_api_requests_total\{method="(PATCH|DELETE)",resource="node(s|reports)",code="ok"\}/.test(line),
  )
}
