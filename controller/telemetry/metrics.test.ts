import t from 'tap'
import { ApiError } from '../../agent/shared/api-error.ts'
import type { Clock } from '../../agent/shared/clock.ts'
import type { Condition } from '../../agent/shared/node-report.ts'
import { node as nodeOf } from '../../test/fixtures/facts.ts'
import type { KubeClient } from '../kubernetes/client.ts'
import type { Decision } from '../loops/node/decide/decision.ts'
import type { Node } from '../types/node.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import type { VCenterState } from './vcenter-metrics.ts'

const CREATED = Date.parse('2026-11-01T10:00:00Z')

function create(seconds = 0): Metrics {
  const clock: Clock = {
    now: () => CREATED + seconds * 1000,
    monotonic: () => 0,
    sleep: () => Promise.resolve(),
  }
  return createMetrics({ version: '1.2.3', lease: 'rollcall', clock })
}

/** The samples of the series whose names begin so. */
async function samples(metrics: Metrics, prefix: string): Promise<string[]> {
  return (await metrics.text()).split('\n').filter((line) => line.startsWith(prefix))
}

/** One that answers, and where all absences could be proven. */
function vCenter(name: string, state: Partial<VCenterState> = {}): VCenterState {
  return {
    vCenter: name,
    connected: () => true,
    unsteady: () => undefined,
    provableEverywhere: () => ({ state: 'proven' }),
    certificateExpiry: () => undefined,
    ...state,
  }
}

function node(name: string, uid = `uid-${name}`): Node {
  return nodeOf({ name, uid, creationTimestamp: '2026-11-01T10:00:00Z' })
}

function decision(state: Decision['state'], more: Partial<Decision> = {}): Decision {
  return { state, events: [], requeue: false, ...more }
}

const NO_REPORT = { condition: 'Initialized', reason: 'NoReport' } as const
const MACS = { condition: 'IdentityVerified', reason: 'MACsContradict' } as const

await t.test('nodes by state, reason and level', async (t) => {
  const metrics = create(7)
  metrics.decided('a', decision('initialized', { level: 'proven' }), node('a'))
  metrics.decided('b', decision('initialized', { level: 'reported' }), node('b'))
  metrics.decided('c', decision('waiting', { refusal: NO_REPORT }), node('c'))
  metrics.decided('d', decision('refused', { refusal: MACS }), node('d'))
  metrics.decided('e', decision('unmanaged'), node('e'))
  t.same(await samples(metrics, 'rollcall_nodes'), [
    'rollcall_nodes{state="unmanaged"} 1',
    'rollcall_nodes{state="waiting"} 1',
    'rollcall_nodes{state="refused"} 1',
    'rollcall_nodes{state="initializing"} 0',
    'rollcall_nodes{state="initialized"} 2',
    'rollcall_nodes_held_up{condition="Initialized",reason="NoReport"} 1',
    'rollcall_nodes_held_up{condition="IdentityVerified",reason="MACsContradict"} 1',
    'rollcall_nodes_verified{level="asserted"} 0',
    'rollcall_nodes_verified{level="reported"} 1',
    'rollcall_nodes_verified{level="proven"} 1',
    'rollcall_nodes_in_slow_lane{why="slow"} 0',
    'rollcall_nodes_in_slow_lane{why="huge"} 0',
  ])
  metrics.slowNodes(() => ({ slow: 2, huge: 1 }))
  t.same(await samples(metrics, 'rollcall_nodes_in_slow_lane'), [
    'rollcall_nodes_in_slow_lane{why="slow"} 2',
    'rollcall_nodes_in_slow_lane{why="huge"} 1',
  ])
  metrics.decided('c', decision('initialized', { level: 'proven' }), node('c'))
  metrics.decided('d', undefined, undefined)
  t.same(await samples(metrics, 'rollcall_nodes_held_up'), [], 'a reason that is over is no longer shown')
  t.match(await samples(metrics, 'rollcall_nodes{state="initialized"}'), [/ 3$/])
  t.same(await samples(metrics, 'rollcall_node_initialization_seconds_count'), [
    'rollcall_node_initialization_seconds_count 0',
  ])

  metrics.leading(true)
  t.same(await samples(metrics, 'rollcall_leader'), ['rollcall_leader 1'])
  metrics.vCentersUp(() => [
    vCenter('vc1', { certificateExpiry: () => 1_800_000_000_500 }),
    vCenter('vc2', {
      unsteady: () => ({ vCenter: 'vc2', reason: 'Unreachable', message: '' }),
      provableEverywhere: () => ({
        state: 'unproven',
        failure: { vCenter: 'vc2', reason: 'Unreachable', message: '' },
      }),
    }),
    vCenter('vc3', { connected: () => false, provableEverywhere: () => undefined }),
  ])
  metrics.queueDepth(() => 5)
  t.same(await samples(metrics, 'rollcall_vcenter_up'), [
    'rollcall_vcenter_up{vcenter="vc1"} 1',
    'rollcall_vcenter_up{vcenter="vc2"} 1',
    'rollcall_vcenter_up{vcenter="vc3"} 0',
  ])
  t.same(await samples(metrics, 'rollcall_vcenter_unsteady'), [
    'rollcall_vcenter_unsteady{vcenter="vc1"} 0',
    'rollcall_vcenter_unsteady{vcenter="vc2"} 1',
    'rollcall_vcenter_unsteady{vcenter="vc3"} 0',
  ])
  t.same(await samples(metrics, 'rollcall_vcenter_absence_provable'), [
    'rollcall_vcenter_absence_provable{vcenter="vc1"} 1',
    'rollcall_vcenter_absence_provable{vcenter="vc2"} 0',
  ])
  t.same(await samples(metrics, 'rollcall_vcenter_certificate_expiry_timestamp_seconds'), [
    'rollcall_vcenter_certificate_expiry_timestamp_seconds{vcenter="vc1"} 1800000000.5',
  ])
  t.same(await samples(metrics, 'rollcall_queue_depth'), ['rollcall_queue_depth 5'])
  metrics.leading(false)
  t.match(await samples(metrics, 'rollcall_nodes{'), [/ 0$/, / 0$/, / 0$/, / 0$/, / 0$/])
  t.same(await samples(metrics, 'rollcall_vcenter_up'), [])
  t.same(await samples(metrics, 'rollcall_vcenter_unsteady'), [])
  t.same(await samples(metrics, 'rollcall_queue_depth'), ['rollcall_queue_depth 0'])
})

await t.test('what an inventory has said goes with its vCenter', async (t) => {
  const metrics = create()
  const all = async () => [
    ...(await samples(metrics, 'rollcall_vcenter_unwatched_vms')),
    ...(await samples(metrics, 'rollcall_vcenter_last_resync')),
  ]
  const up = (...names: string[]) => metrics.vCentersUp(() => names.map((name) => vCenter(name)))
  for (const name of ['vc1', 'vc2']) {
    const vCenter = metrics.vCenter(name)
    vCenter.unwatched(3)
    vCenter.resynced(0, 1_800_000_000)
  }
  up('vc1')
  t.same(await all(), [
    'rollcall_vcenter_unwatched_vms{vcenter="vc1"} 3',
    'rollcall_vcenter_last_resync_timestamp_seconds{vcenter="vc1"} 1800000000',
  ])
  metrics.vCenter('vc1')
  t.same(await all(), [], 'another inventory has said nothing yet')
  metrics.vCenter('vc1').unwatched(0)
  t.same(await all(), ['rollcall_vcenter_unwatched_vms{vcenter="vc1"} 0'])
  metrics.leading(false)
  t.same(await all(), [], 'another replica leads')
})

await t.test('conditions that are not True', async (t) => {
  const metrics = create()
  const condition = (type: Condition['type'], status: Condition['status'], reason: string): Condition => ({
    type,
    status,
    reason,
    message: '',
    lastTransitionTime: '2026-11-01T10:00:00Z',
  })
  const decided = (name: string, ...conditions: Condition[]) =>
    metrics.decided(name, decision('initialized', { status: { conditions } }), node(name))
  const noZone = condition('TopologyResolved', 'False', 'TagMissing')
  decided('a', condition('VMFound', 'True', 'Found'), noZone)
  decided('b', condition('VMFound', 'Unknown', 'Unreachable'), noZone)
  t.same(await samples(metrics, 'rollcall_node_conditions'), [
    'rollcall_node_conditions{condition="TopologyResolved",status="False",reason="TagMissing"} 2',
    'rollcall_node_conditions{condition="VMFound",status="Unknown",reason="Unreachable"} 1',
  ])
  decided('a', condition('TopologyResolved', 'True', 'Resolved'))
  metrics.decided('b', undefined, undefined)
  t.same(await samples(metrics, 'rollcall_node_conditions'), [])
  for (const reason of ['lower', 'Two Words', 'Line\nBreak', 'X'.repeat(65), 'Digit1', '']) {
    decided('a', condition('VMFound', 'False', reason))
    t.same(
      await samples(metrics, 'rollcall_node_conditions'),
      ['rollcall_node_conditions{condition="VMFound",status="False",reason="other"} 1'],
      reason,
    )
  }
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
  const made = letters.flatMap((a) =>
    letters.map((b) => condition('VMFound', 'False', `${a}${b.toLowerCase()}`)),
  )
  decided('a', ...made)
  const { length } = await samples(metrics, 'rollcall_node_conditions')
  t.ok(length < 70, `${length} series of ${made.length} reasons`)
})

await t.test('deletions: done, pending, held by the brake', async (t) => {
  const metrics = create()
  const decided = (name: string, status: Condition['status'], reason: string) => {
    const condition = {
      type: 'DeletionPending',
      status,
      reason,
      message: '',
      lastTransitionTime: '',
    } as const
    metrics.decided(name, decision('initialized', { status: { conditions: [condition] } }), node(name))
  }
  metrics.decided('well', decision('initialized', { status: { conditions: [] } }), node('well'))
  decided('back', 'False', 'VMExists')
  decided('a', 'Unknown', 'NotConfirmed')
  decided('b', 'True', 'BrakeEngaged')
  decided('c', 'True', 'BrakeEngaged')
  decided('d', 'True', 'not a reason')
  t.same(await samples(metrics, 'rollcall_node_deletions_pending'), [
    'rollcall_node_deletions_pending{status="Unknown",reason="NotConfirmed"} 1',
    'rollcall_node_deletions_pending{status="True",reason="BrakeEngaged"} 2',
    'rollcall_node_deletions_pending{status="True",reason="other"} 1',
  ])
  t.same(await samples(metrics, 'rollcall_node_conditions'), [], 'to be kept is no problem')
  metrics.decided('b', undefined, undefined)
  t.match(await samples(metrics, 'rollcall_node_deletions_pending{status="True",reason="BrakeEngaged"'), [
    / 1$/,
  ])

  metrics.lifecycle(() => [
    { vCenter: 'vc1', missing: 7, brakeEngaged: true },
    { vCenter: 'vc2', missing: 0, brakeEngaged: false },
  ])
  t.same(await samples(metrics, 'rollcall_vms_missing'), [
    'rollcall_vms_missing{vcenter="vc1"} 7',
    'rollcall_vms_missing{vcenter="vc2"} 0',
  ])
  t.same(await samples(metrics, 'rollcall_deletion_brake_engaged'), [
    'rollcall_deletion_brake_engaged{vcenter="vc1"} 1',
    'rollcall_deletion_brake_engaged{vcenter="vc2"} 0',
  ])
  metrics.nodeDeleted('vc1')
  const counts = [
    'rollcall_nodes_deleted_total{vcenter="vc1"} 1',
    'rollcall_nodes_deleted_total{vcenter="vc2"} 0',
  ]
  t.same(await samples(metrics, 'rollcall_nodes_deleted_total'), counts)
  metrics.leading(false)
  t.same(await samples(metrics, 'rollcall_vms_missing'), [])
  t.same(await samples(metrics, 'rollcall_deletion_brake_engaged'), [])
  t.same(await samples(metrics, 'rollcall_node_deletions_pending'), [])
  t.same(await samples(metrics, 'rollcall_nodes_deleted_total'), counts, 'what was done stays done')
})

await t.test('a refusal counts once for as long as it lasts', async (t) => {
  const metrics = create()
  const said = [NO_REPORT, NO_REPORT, MACS, undefined, MACS]
  for (const refusal of said) metrics.decided('a', decision('refused', refusal && { refusal }), node('a'))
  metrics.decided('a', decision('refused', { refusal: MACS }), node('a', 'another'))
  t.same(await samples(metrics, 'rollcall_node_refusals_total'), [
    'rollcall_node_refusals_total{condition="Initialized",reason="NoReport"} 1',
    'rollcall_node_refusals_total{condition="IdentityVerified",reason="MACsContradict"} 3',
  ])
})

await t.test('time to initialize: told once, of what was seen to begin', async (t) => {
  const cases: readonly [string, readonly Decision['state'][], number][] = [
    ['as it goes', ['waiting', 'initializing', 'initialized', 'initialized'], 1],
    ['held up in between', ['initializing', 'refused', 'initializing', 'initialized'], 1],
    ['found initialized at start', ['initialized', 'initialized'], 0],
    ['not yet', ['waiting', 'initializing'], 0],
  ]
  for (const [name, states, count] of cases) {
    const metrics = create(12)
    for (const state of states) metrics.decided('a', decision(state), node('a'))
    const sum = count * 12
    t.same(await samples(metrics, 'rollcall_node_initialization_seconds_sum'), [
      `rollcall_node_initialization_seconds_sum ${sum}`,
    ])
    t.match(
      await samples(metrics, 'rollcall_node_initialization_seconds_count'),
      [new RegExp(` ${count}$`)],
      name,
    )
  }
  const metrics = create(12)
  metrics.decided('a', decision('initializing'), node('a', 'old'))
  metrics.decided('a', decision('initialized'), node('a', 'new'))
  t.match(
    await samples(metrics, 'rollcall_node_initialization_seconds_count'),
    [/ 0$/],
    'another Node of that name',
  )
})

await t.test('calls to vCenter', async (t) => {
  const metrics = create()
  const vCenter = metrics.vCenter('vc1')
  vCenter.call('Login', 'ok', 0.02)
  vCenter.call('Login', 'InvalidLogin', 0.02)
  vCenter.call('WaitForUpdatesEx', 'ok', 300)
  vCenter.reconnect('Unreachable')
  t.same(await samples(metrics, 'rollcall_vcenter_calls_total'), [
    'rollcall_vcenter_calls_total{vcenter="vc1",operation="Login",outcome="ok"} 1',
    'rollcall_vcenter_calls_total{vcenter="vc1",operation="Login",outcome="InvalidLogin"} 1',
    'rollcall_vcenter_calls_total{vcenter="vc1",operation="WaitForUpdatesEx",outcome="ok"} 1',
  ])
  t.same(await samples(metrics, 'rollcall_vcenter_reconnects_total'), [
    'rollcall_vcenter_reconnects_total{vcenter="vc1",reason="Unreachable"} 1',
  ])
  t.same(await samples(metrics, 'rollcall_vcenter_call_duration_seconds_count'), [
    'rollcall_vcenter_call_duration_seconds_count{vcenter="vc1",operation="Login"} 2',
  ])
  // A server that makes faults up does not fill the memory.
  for (let i = 0; i < 1000; i++) vCenter.call('Login', `Fault${i}`, 0)
  vCenter.call('Login', 'a fault\nwith "text"', 0)
  const lines = await samples(metrics, 'rollcall_vcenter_calls_total')
  t.ok(lines.length < 80, `${lines.length} series`)
  t.ok(lines.some((line) => line.includes('outcome="other"')))
})

await t.test('work, events, build, process', async (t) => {
  const metrics = create()
  metrics.reconciled(0.003, 'done')
  metrics.events(() => ({ written: 3, dropped: 1 }))
  t.same(await samples(metrics, 'rollcall_reconciles_total'), [
    'rollcall_reconciles_total{outcome="done"} 1',
    'rollcall_reconciles_total{outcome="retry"} 0',
    'rollcall_reconciles_total{outcome="error"} 0',
  ])
  for (const _ of [1, 2]) {
    t.same(await samples(metrics, 'rollcall_events'), [
      'rollcall_events_written_total 3',
      'rollcall_events_dropped_total 1',
    ])
  }
  t.same(await samples(metrics, 'rollcall_build_info'), [
    `rollcall_build_info{version="1.2.3",node="${process.version}"} 1`,
  ])
  for (const name of [
    'process_cpu_seconds_total',
    'process_resident_memory_bytes',
    'process_start_time_seconds',
  ]) {
    const [line = ''] = await samples(metrics, name)
    t.ok(Number(line.split(' ')[1]) > 0, line)
  }
  t.same(
    await samples(create(), 'rollcall_events_written_total'),
    ['rollcall_events_written_total 0'],
    'no shared state',
  )
})

await t.test('requests to the API server', async (t) => {
  const metrics = create()
  const answers: (() => Promise<AsyncIterable<Uint8Array>>)[] = []
  const answer = () => answers.shift()?.() ?? Promise.reject(new Error('no answer'))
  const inner: KubeClient = { request: answer, stream: answer, close: () => Promise.resolve() }
  const client = metrics.measured(inner)
  const { signal } = new AbortController()
  const empty = async function* () {}
  answers.push(() => Promise.resolve(empty()))
  await client.request({ method: 'GET', path: '/api/v1/nodes', signal })
  answers.push(() => Promise.resolve(empty()))
  await client.stream({ method: 'GET', path: '/api/v1/nodes', query: { watch: '1' }, signal }, 1)
  answers.push(() => Promise.reject(new ApiError('changed', { status: 409, reason: 'Conflict' })))
  const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/rollcall'
  await t.rejects(client.request({ method: 'PUT', path: lease, signal }), { message: /changed/ })
  await t.rejects(
    client.request({ method: 'PATCH', path: '/apis/rollcall.dev/v1alpha1/nodereports/a/status', signal }),
  )
  await t.rejects(client.request({ method: 'GET', path: '/version', signal: AbortSignal.abort() }))
  for (const status of [418, 504, 599]) {
    answers.push(() => Promise.reject(new ApiError('no', { status, reason: '' })))
    await t.rejects(client.request({ method: 'GET', path: '/api/v1/nodes', signal }), { message: 'no' })
  }
  t.same(await samples(metrics, 'rollcall_api_requests_total'), [
    'rollcall_api_requests_total{method="GET",resource="nodes",code="ok"} 1',
    'rollcall_api_requests_total{method="WATCH",resource="nodes",code="ok"} 1',
    'rollcall_api_requests_total{method="PUT",resource="leases",code="409"} 1',
    'rollcall_api_requests_total{method="PATCH",resource="nodereports",code="none"} 1',
    'rollcall_api_requests_total{method="GET",resource="nodes",code="other"} 2',
    'rollcall_api_requests_total{method="GET",resource="nodes",code="504"} 1',
  ])
})

await t.test("the CPI's names", async (t) => {
  const metrics = create(10)
  t.same(await samples(metrics, 'leader_election'), [
    'leader_election_master_status{name="rollcall"} 0',
    'leader_election_slowpath_total{name="rollcall"} 0',
  ])
  const running = (node: number, lifecycle: number) => [
    `running_managed_controllers{name="cloud-node",manager="cloud-controller-manager"} ${node}`,
    `running_managed_controllers{name="cloud-node-lifecycle",manager="cloud-controller-manager"} ${lifecycle}`,
  ]
  t.same(await samples(metrics, 'running_managed'), running(0, 0))
  metrics.leading(true)
  metrics.controllersRun({ node: true, lifecycle: false })
  metrics.leaseReadAgain()
  t.same(await samples(metrics, 'running_managed'), running(1, 0))
  t.same(await samples(metrics, 'leader_election'), [
    'leader_election_master_status{name="rollcall"} 1',
    'leader_election_slowpath_total{name="rollcall"} 1',
  ])

  metrics.queueDepth(() => 3)
  metrics.queueActive(() => [-2_000, -500])
  metrics.workQueue.added()
  metrics.workQueue.started(20)
  metrics.workQueue.ended(2_000)
  metrics.workQueue.retried()
  const queue = (await samples(metrics, 'workqueue')).filter((line) => !line.includes('_bucket'))
  t.same(queue.sort(), [
    'workqueue_adds_total{name="Nodes"} 1',
    'workqueue_depth{name="Nodes"} 3',
    'workqueue_longest_running_processor_seconds{name="Nodes"} 2',
    'workqueue_queue_duration_seconds_count{name="Nodes"} 1',
    'workqueue_queue_duration_seconds_sum{name="Nodes"} 0.02',
    'workqueue_retries_total{name="Nodes"} 1',
    'workqueue_unfinished_work_seconds{name="Nodes"} 2.5',
    'workqueue_work_duration_seconds_count{name="Nodes"} 1',
    'workqueue_work_duration_seconds_sum{name="Nodes"} 2',
  ])
  const rest = { events: [], requeue: false }
  metrics.decided('a', { state: 'initializing', ...rest }, node('a'))
  metrics.decided('a', { state: 'initialized', ...rest }, node('a'))
  for (const name of ['cloud_provider_taint_removal_delay', 'initial_node_sync_delay'])
    t.same(await samples(metrics, `node_controller_${name}_seconds`), [
      ...['1', '4'].map((le) => `node_controller_${name}_seconds_bucket{le="${le}"} 0`),
      ...['16', '64', '256', '1024', '+Inf'].map(
        (le) => `node_controller_${name}_seconds_bucket{le="${le}"} 1`,
      ),
      `node_controller_${name}_seconds_sum 10`,
      `node_controller_${name}_seconds_count 1`,
    ])

  metrics.leading(false)
  t.same(await samples(metrics, 'running_managed'), running(0, 0))
  t.same(await samples(metrics, 'workqueue_depth'), ['workqueue_depth{name="Nodes"} 0'])
  t.same(await samples(metrics, 'workqueue_unf'), ['workqueue_unfinished_work_seconds{name="Nodes"} 0'])
})

await t.test('agents by version, of which a node may make up any number', async (t) => {
  const metrics = create()
  metrics.agentVersions(() => ['0.1.0', '0.2.0', '0.1.0', 'evil"version', '0.1.0-rc.1'])
  t.same((await samples(metrics, 'rollcall_agents')).sort(), [
    'rollcall_agents{version="0.1.0"} 2',
    'rollcall_agents{version="0.1.0-rc.1"} 1',
    'rollcall_agents{version="0.2.0"} 1',
    'rollcall_agents{version="other"} 1',
  ])
  const made = Array.from({ length: 1_000 }, (_, index) => `${index}.0.0`)
  metrics.agentVersions(() => [...made, '1.0.0'])
  const all = await samples(metrics, 'rollcall_agents')
  t.equal(all.length, 11)
  t.ok(all.includes('rollcall_agents{version="1.0.0"} 2'))
  metrics.leading(false)
  t.same(await samples(metrics, 'rollcall_agents'), [])
})
