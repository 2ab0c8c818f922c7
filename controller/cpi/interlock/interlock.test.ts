import t from 'tap'
import { ApiError } from '../../../agent/shared/api-error.ts'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import { microTime } from '../../kubernetes/lease.ts'
import { createLogLines } from '../../kubernetes/testing/log-lines.ts'
import type { InterlockState } from '../../types/cluster-state.ts'
import { createInterlock } from './interlock.ts'
import { cpiObject } from './testing/cpi-object.ts'

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'
const WORKLOADS = '/apis/apps/v1/namespaces/kube-system/'
const CPI_LEASE = `${LEASES}/cloud-controller-manager`

/** The part of a tap test that ends what was begun. */
interface Teardown {
  teardown(fn: () => Promise<unknown>): void
}

/** A cluster as far as the interlock sees it, with a clock that stands still. */
function setUp(t: Teardown, lease = 'rollcall-controller') {
  const clock = createHandClock()
  const log = createLogLines()
  const objects = new Map<string, object>()
  const requests: string[] = []
  const answers: { daemonSets: object[]; fail: Map<string, number> } = { daemonSets: [], fail: new Map() }
  const states: InterlockState['state'][] = []
  const client: KubeClient = {
    async request({ path }) {
      requests.push(path)
      for (const [part, status] of answers.fail)
        if (path.includes(part)) throw new ApiError(`${status}`, { status, reason: '' })
      if (path.startsWith(WORKLOADS)) {
        const items = path.endsWith('daemonsets') ? answers.daemonSets : []
        return { metadata: { resourceVersion: '1' }, items }
      }
      const object = objects.get(path)
      if (object === undefined) throw new ApiError('none', { status: 404, reason: 'NotFound' })
      return object
    },
    stream: () => Promise.reject(new Error('nothing is watched')),
    close: () => Promise.resolve(),
  }
  const interlock = createInterlock({
    client,
    own: { lease: { namespace: 'kube-system', name: lease }, controllers: { node: true, lifecycle: true } },
    clock,
    random: () => 1,
    logger: log.logger,
    onChange: () => states.push(interlock.state().state),
  })
  const stop = new AbortController()
  const ended = interlock.run(stop.signal)
  t.teardown(async () => {
    stop.abort()
    await ended
  })
  return {
    clock,
    log,
    requests,
    answers,
    states,
    interlock,
    state: () => interlock.state().state,
    lists: () => requests.filter((path) => path.startsWith(WORKLOADS)).length,
    /** Somebody renews a Lease, `ago` milliseconds before now. */
    renew({ path = CPI_LEASE, holder = 'node-1_a', ago = 0, seconds = 15, annotations = {} } = {}) {
      const spec = {
        holderIdentity: holder,
        leaseDurationSeconds: seconds,
        renewTime: microTime(clock.now() - ago),
        leaseTransitions: 1,
      }
      objects.set(path, { metadata: { resourceVersion: '1', annotations }, spec })
    },
  }
}

t.test('without a CPI it opens at the first look, and stays so', async (t) => {
  const { clock, interlock, state, requests, lists, states } = setUp(t)
  t.match(interlock.state(), { state: 'held', message: /not known yet/ })
  await clock.turn(0)
  await interlock.known
  t.equal(state(), 'open')
  requests.length = 0
  await clock.turn(299_000)
  t.equal(lists(), 0)
  t.ok(requests.length <= 60, `one request in five seconds: ${requests.length}`)
  await clock.turn(10_000)
  t.equal(lists(), 2, 'both kinds, every five minutes')
  t.same(states, ['open'])
})

t.test('it holds while the CPI renews its Lease, and opens when that has run out', async (t) => {
  const { clock, answers, renew, state, states, log } = setUp(t)
  answers.daemonSets = [cpiObject([])]
  renew()
  await clock.turn(0)
  t.equal(state(), 'held')
  for (let i = 0; i < 20; i++) {
    renew()
    await clock.turn(3_000)
  }
  t.equal(state(), 'held')
  await clock.turn(14_000)
  t.equal(state(), 'held', 'not a moment before its duration is over')
  await clock.turn(11_000)
  t.equal(state(), 'open', 'duration, margin, and a look')
  renew()
  await clock.turn(5_000)
  t.equal(state(), 'held', 'it is back')
  renew({ holder: '' })
  await clock.turn(5_000)
  t.equal(state(), 'open', 'it gave the Lease back')
  t.same(states, ['held', 'open', 'held', 'open'])
  t.equal(log.lines.filter(({ msg }) => msg === 'Nodes are left to the CPI').length, 2, 'said once each time')
})

t.test('a Lease that was left behind long ago is not waited for, unless somebody renews it', async (t) => {
  const { clock, renew, state } = setUp(t)
  renew({ ago: 100_000 })
  await clock.turn(0)
  t.equal(state(), 'open')
  renew({ ago: 90_000 })
  await clock.turn(5_000)
  t.equal(state(), 'held', 'its clock is slow')
})

t.test('no Lease is believed for longer than five minutes without a renewal', async (t) => {
  const { clock, renew, state } = setUp(t)
  renew({ seconds: 2_147_483 })
  await clock.turn(0)
  t.equal(state(), 'held')
  await clock.turn(300_000)
  t.equal(state(), 'held')
  await clock.turn(15_000)
  t.equal(state(), 'open', 'and whoever renews it meanwhile')
  renew({ seconds: 2_147_483 })
  await clock.turn(5_000)
  t.equal(state(), 'held')
})

t.test('managers are listed when another one leads', async (t) => {
  const { clock, answers, renew, state, lists } = setUp(t)
  await clock.turn(0)
  const before = lists()
  answers.daemonSets = [cpiObject(['--controllers=service,route'])]
  renew()
  await clock.turn(5_000)
  t.equal(state(), 'open', 'a neighbor')
  t.equal(lists(), before + 2)
  answers.daemonSets = [cpiObject([])]
  renew({ holder: 'node-2_b' })
  await clock.turn(5_000)
  t.equal(state(), 'held')
})

t.test('while it holds they are listed each minute', async (t) => {
  const { clock, answers, renew, state } = setUp(t)
  renew()
  await clock.turn(0)
  t.equal(state(), 'held', 'by somebody unknown')
  answers.daemonSets = [cpiObject(['--controllers=service,route'])]
  for (let i = 0; i < 13; i++) {
    renew()
    await clock.turn(5_000)
  }
  t.equal(state(), 'open')
})

t.test('a Lease under another name is found, and read', async (t) => {
  const { clock, answers, renew, state } = setUp(t)
  answers.daemonSets = [cpiObject(['--leader-elect-resource-name=own'])]
  renew({ path: `${LEASES}/own` })
  await clock.turn(0)
  t.equal(state(), 'held')
})

t.test('its own Lease is nobody else’s', async (t) => {
  const { clock, answers, renew, state } = setUp(t, 'cloud-controller-manager')
  answers.daemonSets = [cpiObject([])]
  renew()
  await clock.turn(0)
  t.equal(state(), 'open')
})

t.test('a person may say that whoever leads leaves Nodes alone', async (t) => {
  const { clock, renew, state } = setUp(t)
  renew({ annotations: { 'rollcall.dev/handles-nodes': 'false' } })
  await clock.turn(0)
  t.equal(state(), 'open')
})

t.test('what fails changes nothing', async (t) => {
  const { clock, answers, renew, state, states, log } = setUp(t)
  answers.fail.set('/', 503)
  await clock.turn(60_000)
  t.equal(state(), 'held', 'nothing is known yet')
  answers.fail.clear()
  renew()
  await clock.turn(10_000)
  t.equal(state(), 'held')
  t.equal(log.lines.filter(({ msg }) => msg === 'looking for the CPI failed').length, 1)
  answers.fail.set('/', 500)
  await clock.turn(120_000)
  t.equal(state(), 'held', 'nobody saw that it was not renewed')
  answers.fail.clear()
  await clock.turn(30_000)
  t.equal(state(), 'open')
  t.same(states, ['held', 'open'])
})

t.test('a missing right holds nothing up, but is told; one refusal is not enough', async (t) => {
  const { clock, answers, state, interlock, log } = setUp(t)
  answers.fail.set('/leases', 403).set('/daemonsets', 403)
  await clock.turn(0)
  t.equal(state(), 'held')
  await clock.turn(60_000)
  t.equal(state(), 'open')
  t.match(interlock.remarks(), [/is not allowed to list .* or to read the Lease .*; apply rbac.yaml/])
  t.equal(log.lines.filter(({ msg }) => msg === 'interlock with the CPI').length, 1)
  answers.fail.clear()
  await clock.turn(300_000)
  t.same(interlock.remarks(), [])
})
