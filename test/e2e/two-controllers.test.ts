import t from 'tap'
import type { Controller } from '../fixtures/controller.ts'
import { until } from '../fixtures/until.ts'
import { isLeading, standsBy } from './leaders.ts'
import { lease } from './lease.ts'
import { isInitialized } from './objects.ts'
import { openStage } from './stage.ts'

const stage = await openStage(t, { vms: 6 })
const { cluster, nodes, vcsim } = stage

const metric = async ({ url }: Controller, line: string) =>
  (await (await fetch(`${url}/metrics`)).text()).includes(`${line}\n`)

/** Resolves with the milliseconds until it leads. */
async function takesOver(controller: Controller, within: number): Promise<number> {
  const start = performance.now()
  await until('the other one leads', () => isLeading(controller), within)
  return Math.round(performance.now() - start)
}

/** Registers a Node with its agent's report; resolves once it is initialised, by one of them alone. */
async function initialise(name: string): Promise<void> {
  const member = await stage.member(name)
  await member.reportOnce()
  await nodes.until(`${name} is initialised`, () => isInitialized(nodes.last(name)))
}

const a = await stage.controller({ identity: 'a' })
const b = await stage.controller({ identity: 'b', until: 'answering' })
await until('b knows who leads', () => standsBy(b, 'a'))

t.test('one leads, the other stands by and keeps away from vCenter', async (t) => {
  t.ok(await standsBy(b, 'a'))
  t.equal((await fetch(`${b.url}/readyz`)).status, 200, 'a standby is ready')
  t.ok(await metric(a, 'rollcall_leader 1'))
  t.ok(await metric(b, 'rollcall_leader 0'))
  await initialise('first')
  t.equal(nodes.of('first').length, 3)
  t.match(await vcsim.sessions(), { soap: 1 })
})

t.test('SIGTERM: the other takes over quickly', async (t) => {
  const ended = a.stop()
  const ms = await takesOver(b, 8000)
  t.equal((await ended).code, 0)
  t.comment(`${ms} ms`)
  t.match(await lease(cluster), { holderIdentity: /^b_/, leaseTransitions: 1 })
  await initialise('second')
  t.equal(nodes.of('first').length, 3, 'what was done is left alone')
  t.match(await vcsim.sessions(), { soap: 1, rest: 1 })
})

t.test(
  'frozen for longer than its Lease: the other leads, and the first one notices when it wakes',
  async (t) => {
    const c = await stage.controller({ identity: 'c', until: 'answering' })
    await until('c knows who leads', () => standsBy(c, 'b'))
    b.kill('SIGSTOP')
    const ms = await takesOver(c, 25_000)
    t.ok(ms < 20_000, `${ms} ms`)
    const member = await stage.member('third')
    await member.reportOnce()
    await nodes.until('third is initialised', () => isInitialized(nodes.last('third')))
    b.kill('SIGCONT')
    await until('b stands by', () => standsBy(b, 'c'))
    t.equal(nodes.of('third').length, 3, 'two writes, of one of them')
    t.match(await lease(cluster), { holderIdentity: /^c_/, leaseTransitions: 2 })

    await t.test('kill -9: the other takes over when the Lease has run out', async (t) => {
      c.kill('SIGKILL')
      await c.ended
      const ms = await takesOver(b, 25_000)
      t.ok(ms < 20_000, `${ms} ms`)
      await initialise('fourth')
      t.equal(nodes.of('fourth').length, 3)
      t.match(await lease(cluster), { holderIdentity: /^b_/, leaseTransitions: 3 })
    })
  },
)
