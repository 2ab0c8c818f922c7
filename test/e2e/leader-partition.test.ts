import t from 'tap'
import { until } from '../fixtures/until.ts'
import type { LineState } from '../world/api-proxy.ts'
import { isLeading, lease, said, standsBy } from '../world/leadership.ts'
import { address } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 3 })
const { cluster, nodes, vcsim } = stage

/** A controller with a line of its own to the API server. */
async function replica(identity: string, until?: 'answering') {
  const proxy = await stage.line()
  return { ...(await stage.controller({ identity, cluster: proxy.cluster, ...(until && { until }) })), proxy }
}

const a = await replica('a')
const b = await replica('b', 'answering')
const member = await stage.initialized('worker')

const cases = [
  { line: 'lost', what: 'nothing passes', old: a, next: b, ip: '10.8.0.1' },
  { line: 'deaf', what: 'its requests arrive, and no answer comes back', old: b, next: a, ip: '10.8.0.2' },
] as const satisfies readonly { line: LineState; [key: string]: unknown }[]

for (const [turn, { line, what, old, next, ip }] of cases.entries()) {
  t.test(`a leader behind a line on which ${what}`, async (t) => {
    await until('the other knows it', () => standsBy(next, turn === 0 ? 'a' : 'b'))
    const before = nodes.of('worker').length
    const start = performance.now()
    old.proxy.set(line)
    await member.setAddresses(`${ip}/24`)
    await member.reportOnce()
    await until('the other leads', () => isLeading(next))
    const [down, up] = [said(old, 'leadership lost'), said(next, 'leadership begins')]
    t.ok(down < up, `down ${down}, the other up ${up}`)
    t.comment(`${Math.round(performance.now() - start)} ms`)
    t.notOk(await isLeading(old))
    await nodes.until('the work goes on', () => address(nodes.last('worker'), 'InternalIP') === ip)
    t.match(await vcsim.sessions(), { soap: 1 }, 'the old one has logged out')

    old.proxy.set('works')
    const leader = turn === 0 ? 'b' : 'a'
    await until('it stands by', () => standsBy(old, leader))
    t.equal(nodes.of('worker').length, before + 1, 'written once')
    t.match(await lease(cluster), {
      holderIdentity: new RegExp(`^${leader}_`),
      leaseTransitions: turn + 1,
    })
    t.same([old.exit(), next.exit()], [undefined, undefined], 'neither was started anew')
  })
}
