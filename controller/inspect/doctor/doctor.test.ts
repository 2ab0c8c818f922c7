import t from 'tap'
import { hasFailed, linesJSON, printLines, type Status } from '../../../agent/shared/diagnosis.ts'
import { type Condition, parseSpec } from '../../../agent/shared/node-report.ts'
import { failed, ok } from '../../../agent/shared/result.ts'
import { completeSpec } from '../../../manifests/testing/sample-report.ts'
import { node as nodeOf } from '../../../test/fixtures/facts.ts'
import { findManagers } from '../../cpi/interlock/find-cpi.ts'
import { type CPIObjectChanges, cpiObject } from '../../cpi/interlock/testing/cpi-object.ts'
import { parseWorkload } from '../../cpi/interlock/workloads.ts'
import type { NSXWarning } from '../../cpi/nsx.ts'
import { accountsIn } from '../../kubernetes/access-review.ts'
import type { Node, NodeReport } from '../../types/node.ts'
import { TAINT_UNINITIALIZED } from '../../types/well-known.ts'
import type { Looked } from './check.ts'
import { REPORT_FIELDS } from './cluster.ts'
import { type ClusterFacts, type DoctorFacts, judge } from './doctor.ts'
import { POLICIES } from './policies.ts'
import type { VCenterFacts } from './vcenter.ts'

const NOW = Date.parse('2026-11-23T12:00:00Z')
const DAY = 24 * 3_600_000
const seen = <T>(value: T) => ({ ok: true, value }) as const
const broken = (message: string): Looked<never> => ({ ok: false, message, denied: false })
const denied = (message: string): Looked<never> => ({ ok: false, message, denied: true })
const noPermission = (message: string): Looked<never> => ({
  ok: false,
  message,
  denied: false,
  noPermission: true,
})
const at = (minutesAgo: number) => new Date(NOW - minutesAgo * 60_000).toISOString()

const node = nodeOf({
  uid: completeSpec.nodeUID,
  creationTimestamp: at(60),
  taints: [],
  providerID: 'vsphere://420e3f74-ea84-f9a2-7736-6106bb5dbf6b',
  ready: { status: 'True', lastHeartbeatTime: at(0) },
})
const { refreshSeconds: _, ...usualSpec } = completeSpec
const report: NodeReport = {
  name: node.name,
  uid: 'r',
  resourceVersion: '1',
  generation: 1,
  reportedAt: at(2),
  spec: parseSpec(usualSpec),
  status: {},
}
const nodesSeen = (nodes: readonly Node[], reports: readonly NodeReport[]) =>
  seen({ nodes, reports: new Map(reports.map((each) => [each.name, each])), crd: true })

const vCenter: VCenterFacts = {
  name: 'main',
  server: 'vc.example.com:443',
  trust: 'ca',
  dns: seen(['192.0.2.1']),
  tcp: seen(undefined),
  tls: seen({ expiresAt: NOW + 200 * DAY }),
  credential: seen(undefined),
  login: seen({ alone: undefined, identity: { instanceUUID: '', server: '' } }),
  sessions: seen({ all: 12, own: 2 }),
  privileges: seen([{ state: 'proven' } as const]),
  datacenters: seen({ wanted: ['dc-1'], seen: [{ moref: 'datacenter-1', path: ['dc-1'] }] }),
  categories: seen({ wanted: ['k8s-zone'], found: new Map([['k8s-zone', 2]]) }),
  skew: seen(0),
}
const noCPI = {
  cpi: [],
  others: [],
  lease: undefined,
  loadBalancers: [],
  routedNodes: [],
  nsx: seen<readonly NSXWarning[]>([]),
}
type Seen = ClusterFacts['seen']
type SeenBy<Name extends keyof Seen> = Extract<Seen[Name], { ok: true }>['value']

/** What may be changed of a cluster. */
interface ClusterChanges extends Pick<ClusterFacts, 'user' | 'accounts' | 'skew'> {
  readonly version: Looked<string>
  readonly reportFields: NonNullable<Seen['reportFields']>
  readonly ownReportPolicy: SeenBy<'policies'>['tried']
  readonly policies: SeenBy<'policies'>['policies']
  readonly controllerRights: NonNullable<Seen['controllerRights']>
  readonly agentRights: NonNullable<Seen['agentRights']>
  readonly lease: Partial<Pick<SeenBy<'lease'>, 'alive' | 'skew' | 'troubles' | 'rivals'>> & {
    readonly name: string
    readonly record: Looked<SeenBy<'lease'>['record']>
  }
  readonly nodes: NonNullable<Seen['nodes']>
  /** Whether certificates are approved. */
  readonly approves?: boolean
  readonly interlock: SeenBy<'cpi'>['interlock']
  readonly interlockRemarks: readonly string[]
  readonly cpi: NonNullable<Seen['routes']>
}

const cluster: ClusterChanges = {
  user: 'admin',
  accounts: accountsIn('kube-system'),
  skew: 400,
  version: seen('v1.36.1'),
  reportFields: seen(REPORT_FIELDS),
  ownReportPolicy: { state: 'in-force' },
  policies: POLICIES.map(({ name, since }) => ({
    name,
    ...(since === undefined ? {} : { since }),
    state: seen({ is: 'bound' as const }),
  })),
  controllerRights: seen({ account: 'kube-system/rollcall-controller', missing: [] }),
  agentRights: seen({ account: 'kube-system/rollcall-agent', missing: [] }),
  lease: {
    name: 'kube-system/rollcall-controller',
    record: seen({ holder: 'a', durationSeconds: 15, acquireTime: '', renewTime: at(0), transitions: 0 }),
  },
  nodes: nodesSeen([node], [report]),
  interlock: { state: 'open' },
  interlockRemarks: [],
  cpi: seen(noCPI),
}
/** What is seen of it, by the checks. */
function clusterOf(changes: ClusterChanges): ClusterFacts {
  const { user, accounts, skew, version, policies, ownReportPolicy: tried, lease, cpi, ...others } = changes
  const { interlock, interlockRemarks: remarks, approves = false, ...more } = others
  const { name, record, ...sight } = lease
  return {
    user,
    accounts,
    skew,
    seen: {
      ...more,
      skew: seen(undefined),
      version,
      policies: seen({ tried, policies, version: version.ok ? version.value : '' }),
      writes: more.nodes,
      certificates: more.nodes.ok ? seen({ isOn: approves, ...more.nodes.value }) : more.nodes,
      lease: record.ok
        ? seen({ name, alive: true, troubles: [], rivals: [], ...sight, record: record.value })
        : record,
      cpi: seen({
        interlock,
        remarks,
        cpi: cpi.ok ? cpi.value : undefined,
        denied: !cpi.ok && cpi.denied,
      }),
      loadBalancers: cpi,
      routes: cpi,
    },
  }
}
const good: DoctorFacts = {
  now: NOW,
  configuration: seen({
    path: 'vsphere.conf',
    vCenters: ['main'],
    warnings: [],
    identity: { require: 'reported', exempt: undefined, requireAllVCenters: true },
    requireGiven: true,
  }),
  cluster: seen(clusterOf(cluster)),
  vCenters: [vCenter],
}

/** The lines that are not ok. */
const wrong = (facts: DoctorFacts) => judge(facts).filter(({ status }) => status !== 'ok')

function cpi(args: readonly string[], changes: CPIObjectChanges = {}) {
  const status = { currentNumberScheduled: 1, updatedNumberScheduled: 1 }
  const workload = parseWorkload('DaemonSet', cpiObject(args, { status, ...changes }))
  return findManagers(workload === undefined ? [] : [workload])
}

t.test('where all is well, every line is ok', async (t) => {
  t.same(wrong(good), [])
  t.notOk(hasFailed(judge(good)))
})

t.test('a datacenter with a slash in its name, as vCenter shows it', async (t) => {
  const there = [{ moref: 'd-1', path: ['eu/west', 'DC/East'] }]
  const line = (wanted: readonly string[]) =>
    wrong({ ...good, vCenters: [{ ...vCenter, datacenters: seen({ wanted, seen: there }) }] })
  t.same(line(['DC%2fEast', '/eu%2fwest/DC%2FEast']), [])
  t.match(line(['DC%5cEast']), [
    { check: 'vCenter main: datacenters', status: 'fail', message: /\(\/eu%2fwest\/DC%2fEast\)/ },
  ])
})

t.test(
  'two servers that say they are one vCenter are told, and several accounts of one are not',
  async (t) => {
    const instanceUUID = '5c9a0000-0000-4000-8000-00000000000e'
    const login = (identity: { readonly instanceUUID: string; readonly server: string }) => ({
      login: seen({ alone: undefined, identity }),
    })
    const [own, clone] = ['vc.example.com 443', 'clone.example.com 443'] as const
    const one = { ...vCenter, ...login({ instanceUUID, server: own }) }
    const twin = {
      ...one,
      name: 'twin',
      server: 'clone.example.com:443',
      ...login({ instanceUUID, server: clone }),
    }
    t.match(wrong({ ...good, vCenters: [one, twin] }), [
      {
        check: 'vCenters main, twin: identity',
        status: 'warn',
        message:
          /main \(vc\.example\.com:443\), twin \(clone\.example\.com:443\) report the same instance UUID/,
      },
    ])
    for (const identity of [
      { instanceUUID, server: own },
      { instanceUUID: 'another', server: clone },
    ])
      t.same(wrong({ ...good, vCenters: [one, { ...twin, ...login(identity) }] }), [])
  },
)

type Row = readonly [check: string, status: Status, says: RegExp]

const ofVCenter: readonly (readonly [Partial<VCenterFacts>, ...Row])[] = [
  [{ tls: seen({ expiresAt: NOW + 12 * DAY }) }, 'TLS', 'warn', /expires in 12 days; renew it/],
  [{ trust: 'thumbprint', tls: seen({ expiresAt: NOW - 2 * DAY }) }, 'TLS', 'warn', /expired 2 days ago/],
  [{ trust: 'insecure' }, 'TLS', 'warn', /not checked.*configure caFile or thumbprint/],
  [{ credential: seen('the Secret a/b has a password ...') }, 'credential', 'warn', /^the Secret a\/b has/],
  [{ login: broken('refused') }, 'login', 'fail', /refused/],
  [{ sessions: noPermission('no') }, 'sessions', 'skip', /^the vCenter account .*does not need to/],
  [{ sessions: seen({ all: 500, own: 450 }) }, 'sessions', 'warn', /450 of this account.*of its own/],
  [{ sessions: seen({ all: 2500, own: 1 }) }, 'sessions', 'warn', /2500 are open/],
  [
    {
      privileges: seen([
        { state: 'proven' },
        { state: 'unproven', failure: { vCenter: '', reason: 'PrivilegeMissing', message: 'lacks this' } },
        { state: 'unproven', failure: { vCenter: '', reason: 'PrivilegeMissing', message: 'and that' } },
      ] as const),
    },
    'privileges',
    'fail',
    /^lacks this; the same for 1 more/,
  ],
  [{ datacenters: noPermission('NoPermission') }, 'datacenters', 'warn', /cannot be read/],
  [{ datacenters: seen({ wanted: [], seen: [] }) }, 'datacenters', 'fail', /sees no datacenter/],
  [
    {
      datacenters: seen({
        wanted: ['dc'],
        seen: [
          { moref: 'd-1', path: ['a', 'dc'] },
          { moref: 'd-2', path: ['b', 'dc'] },
        ],
      }),
    },
    'datacenters',
    'warn',
    /ambiguous: \/a\/dc, \/b\/dc; write the path/,
  ],
  [
    { categories: seen({ wanted: ['k8s-zone'], found: new Map() }) },
    'tag categories',
    'fail',
    /no tag category k8s-zone; create it, .*global permission/,
  ],
  [
    { attributes: seen({ wanted: ['Owner', 'Rack'], found: ok(new Map([[7, 'Rack']])) }) },
    'custom attributes',
    'fail',
    /no custom attribute Owner for VMs; create it .*or correct the label rule/,
  ],
  [
    { attributes: seen({ wanted: ['Rack'], found: failed('the names cannot be read') }) },
    'custom attributes',
    'fail',
    /the names cannot be read/,
  ],
  [
    { categories: seen({ wanted: ['k8s-zone'], found: new Map([['k8s-zone', 0]]) }) },
    'tag categories',
    'warn',
    /no tags in the category/,
  ],
  [
    {
      categories: seen({
        wanted: ['k8s-zone'],
        found: new Map(),
        lacking: new Map([['k8s-zone', 'categories']]),
      }),
    },
    'tag categories',
    'fail',
    /no tag category at all; give it Read-only as a global permission, or create k8s-zone/,
  ],
  [
    { categories: noPermission('vc answers to tagging/category with HTTP status 403') },
    'tag categories',
    'fail',
    /^the vCenter account is not allowed to read tags.*status 403; give it Read-only as a global permission/,
  ],
  [{ skew: seen(-30_000) }, 'clock', 'warn', /30 s behind/],
  [{ skew: seen(90_000) }, 'clock', 'fail', /90 s ahead of/],
]
for (const [change, check, status, message] of ofVCenter)
  t.test(`vCenter: ${check} ${message.source}`, async (t) => {
    const lines = wrong({ ...good, vCenters: [{ ...vCenter, ...change }] })
    t.match(lines, [{ check: `vCenter main: ${check}`, status, message }])
    t.equal(lines.length, 1)
  })

const { lease: leased } = cluster
const foreign = nodeOf({ name: 'other', uid: 'u', taints: [], providerID: 'aws:///i-1' })
const reportWith = (told: Pick<Condition, 'type' | 'reason' | 'message'>): NodeReport => {
  const conditions = [{ ...told, status: 'False', lastTransitionTime: at(1), observedGeneration: 1 } as const]
  return { ...report, status: { nodeUID: node.uid, conditions } }
}
const unwritten = reportWith({
  type: 'Initialized',
  reason: 'NodePatchRefused',
  message: 'failed calling webhook',
})
const ofCluster: readonly (readonly [Partial<ClusterChanges>, ...Row])[] = [
  [{ reportFields: seen(undefined) }, 'CRD', 'fail', /apply crd\.yaml/],
  [{ reportFields: seen(REPORT_FIELDS.slice(1)) }, 'CRD', 'fail', /lacks spec\.nodeUID/],
  [{ reportFields: seen([...REPORT_FIELDS, 'spec.new']) }, 'CRD', 'warn', /newer/],
  [{ version: seen('v1.30.4') }, 'Kubernetes version', 'fail', /1\.31 is needed/],
  [{ version: seen('main') }, 'Kubernetes version', 'warn', /"main"/],
  [
    { ownReportPolicy: { state: 'not-in-force', message: 'reports may be forged' } },
    'admission policies',
    'fail',
    /forged/,
  ],
  [
    {
      controllerRights: seen({
        account: 'kube-system/rollcall-controller',
        missing: [{ verb: 'list', on: 'secrets', namespace: 'kube-system', name: 'vsphere' }],
      }),
    },
    'RBAC of the controller',
    'fail',
    /may not list secrets vsphere in kube-system; .*credentials\.example\.yaml/,
  ],
  [
    { agentRights: denied('POST /x was answered with 403 Forbidden: a long story') },
    'RBAC of the agents',
    'skip',
    /^this account may not look \(POST \/x\); use/,
  ],
  [{ lease: { name: 'ns/l', record: seen(undefined) } }, 'Lease', 'fail', /no replica holds the Lease ns\/l/],
  [{ lease: { name: 'ns/l', record: broken('cut off') } }, 'Lease', 'fail', /cut off/],
  [
    { lease: { ...leased, alive: false } },
    'Lease',
    'fail',
    /^a held the Lease .*, but last renewed it 0 s ago/,
  ],
  [
    { lease: { ...leased, skew: -600_000 } },
    'Lease',
    'warn',
    /^a leads, .* clock is 600 s behind that of the API/,
  ],
  [
    { lease: { ...leased, rivals: ['b leads by the Lease kube-system/other'] } },
    'Lease',
    'fail',
    /^a leads by the Lease kube-system\/rollcall-controller, but b leads by .*other: each writes the same Nodes/,
  ],
  [
    { lease: { ...leased, alive: false, rivals: ['b leads by the Lease kube-system/other'] } },
    'Lease',
    'fail',
    /^no replica holds the Lease .*, but b leads by .*other: name that one with --lease-name$/,
  ],
  [
    { lease: { ...leased, troubles: ['vCenter main: Unreachable', 'the configuration is refused'] } },
    'Lease',
    'warn',
    /^a leads, and says: vCenter main: Unreachable; the configuration is refused$/,
  ],
  [
    {
      nodes: nodesSeen(
        [node],
        [reportWith({ type: 'AgentReports', reason: 'AgentSilent', message: 'silent' })],
      ),
    },
    'agents',
    'warn',
    /^1 of 1 Nodes whose agents are silent, as the leader says \(worker-1\); look/,
  ],
  [
    { nodes: nodesSeen([node, foreign], [unwritten]) },
    'writes of Nodes',
    'fail',
    /^1 of 2 Nodes cannot be written \(worker-1\): NodePatchRefused: failed calling webhook$/,
  ],
  [{ skew: -61_000 }, "API server's clock", 'fail', /61 s behind/],
  [
    { nodes: nodesSeen([node], []) },
    'agents',
    'fail',
    /^1 of 1 Nodes without a report from an agent \(worker-1\); look at .*; where there is none, run rollcall-agent there/,
  ],
  [
    { nodes: nodesSeen([{ ...node, labels: { 'kubernetes.io/os': 'windows' } }], []) },
    'agents',
    'fail',
    /\(worker-1\), of which 1 with Windows: there is no agent for Windows, so exempt the Node/,
  ],
  [
    { nodes: nodesSeen([node], [{ ...report, reportedAt: at(20) }]) },
    'agents',
    'warn',
    /that are Ready but have missed three reports by their own clocks/,
  ],
  [
    { nodes: nodesSeen([{ ...node, uid: 'new' }], [report]) },
    'agents',
    'fail',
    /former Nodes .*; restart the agents/,
  ],
  [{ interlock: { state: 'held', message: 'left to the CPI' } }, 'vSphere CPI', 'fail', /left to the CPI/],
  [{ interlock: undefined }, 'vSphere CPI', 'warn', /took too long/],
  [{ interlockRemarks: ['cannot tell'] }, 'vSphere CPI', 'warn', /cannot tell/],
  [
    { cpi: seen({ ...noCPI, ...cpi(['--cloud-provider=vsphere-paravirtual']) }) },
    'vSphere CPI',
    'fail',
    /DaemonSet kube-system\/cpi .*Supervisor/,
  ],
  [
    { cpi: seen({ ...noCPI, ...cpi([], { env: [{ name: 'SKIP_NODE_DELETION', value: '' }] }) }) },
    'vSphere CPI',
    'warn',
    /SKIP_NODE_DELETION.*"deletion: off"/,
  ],
  [
    {
      interlock: { state: 'held', message: 'left to the CPI' },
      cpi: seen({ ...noCPI, ...cpi([], { env: [{ name: 'SKIP_NODE_DELETION', value: '' }] }) }),
    },
    'vSphere CPI',
    'fail',
    /left to the CPI; .* has SKIP_NODE_DELETION.*"deletion: off"/,
  ],
  [
    { cpi: seen({ ...noCPI, ...cpi([], { envFrom: [{ configMapRef: { name: 'own' } }] }) }) },
    'vSphere CPI',
    'warn',
    /from ConfigMap own: look there for SKIP_NODE_DELETION; .*"deletion: off"/,
  ],
  [
    {
      cpi: seen({
        ...noCPI,
        ...cpi(['--leader-elect=false'], { namespace: 'cloud', status: { currentNumberScheduled: 1 } }),
      }),
    },
    'vSphere CPI',
    'fail',
    /DaemonSet cloud\/cpi handles Nodes as well, but the controller does not see it/,
  ],
  [
    { cpi: seen({ ...noCPI, loadBalancers: ['default/web'] }) },
    'LoadBalancer Services',
    'warn',
    /default\/web: nothing serves/,
  ],
  [{ cpi: seen({ ...noCPI, routedNodes: ['worker-1'] }) }, 'routes', 'warn', /nothing maintains them/],
]
for (const [change, check, status, message] of ofCluster)
  t.test(`cluster: ${check} ${message.source}`, async (t) => {
    const lines = wrong({ ...good, cluster: seen(clusterOf({ ...cluster, ...change })) })
    t.match(lines, [{ check, status, message }])
    t.equal(lines.length, 1)
  })

t.test('policies: what is missing, and what an older API server cannot have', async (t) => {
  const without = (name: string, is: 'missing' | 'only warns') =>
    cluster.policies.map((each) => (each.name === name ? { ...each, state: seen({ is }) } : each))
  const judged = (change: Partial<ClusterChanges>) =>
    wrong({ ...good, cluster: seen(clusterOf({ ...cluster, ...change })) })
  t.match(judged({ policies: without('delete-node.rollcall.dev', 'missing') }), [
    { status: 'fail', message: /delete-node\.rollcall\.dev is missing; apply/ },
  ])
  t.match(judged({ policies: without('update-node.rollcall.dev', 'only warns') }), [
    { status: 'fail', message: /only warns or audits/ },
  ])
  const older = { policies: without('restore-labels.rollcall.dev', 'missing') }
  t.same(judged({ ...older, version: seen('v1.34.2') }), [])
  t.equal(judged(older).length, 1)
  const changed = cluster.policies.map((each) =>
    each.name === 'own-report.rollcall.dev'
      ? {
          ...each,
          state: seen({
            is: 'changed' as const,
            differs: ['failurePolicy', 'matchResources of its binding'],
          }),
        }
      : each,
  )
  t.match(judged({ policies: changed }), [
    {
      status: 'fail',
      message:
        'the policy own-report.rollcall.dev is not as this version ships it: failurePolicy, matchResources of its binding; "kubectl replace -f policy-own-report.yaml" of the manifests of this version puts back what "kubectl apply" leaves as it is',
    },
  ])
  const unseen = cluster.policies.map((each) => ({ ...each, state: denied('') }))
  t.same(judged({ policies: unseen }), [], 'the trial is enough')
  const cannotTry = {
    state: 'not-in-force',
    message: 'x is not allowed to impersonate y',
    mayNotTry: true,
  } as const
  t.match(judged({ policies: unseen, ownReportPolicy: cannotTry }), [{ status: 'skip' }])
})

t.test('without the CRD it is not said that agents do not report', async (t) => {
  const none = { ...cluster, nodes: seen({ nodes: [node], reports: new Map(), crd: false }) }
  const [line] = judge({ ...good, cluster: seen(clusterOf(none)) }).filter(({ check }) => check === 'agents')
  t.match(line, { status: 'skip', message: 'not checked, because of "CRD"' })
})

t.test('a machine whose clock is wrong does not make the cluster look silent', async (t) => {
  for (const minutes of [-30, 30]) {
    const skew = minutes * 60_000
    const lines = wrong({
      ...good,
      now: NOW - skew,
      vCenters: [],
      cluster: seen(clusterOf({ ...cluster, skew })),
    })
    t.match(lines, [{ check: "API server's clock", status: 'fail' }])
    t.equal(lines.length, 1)
  }
  const checks = judge(good).map(({ check }) => check)
  t.ok(checks.indexOf("API server's clock") < checks.indexOf('Lease'), 'what is to be mended comes first')
  const { lease } = cluster
  const silent = seen(clusterOf({ ...cluster, skew: 30 * 60_000, lease: { ...lease, alive: false } }))
  t.match(wrong({ ...good, vCenters: [], cluster: silent }), [{}, { check: 'Lease' }, { check: 'agents' }])
})

t.test('an agent that reports less often is not silent as soon', async (t) => {
  const seldom = { ...report, spec: parseSpec({ ...usualSpec, refreshSeconds: 1_800 }) }
  const after = (minutes: number) => {
    const nodes = nodesSeen([node], [{ ...seldom, reportedAt: at(minutes) }])
    return wrong({ ...good, cluster: seen(clusterOf({ ...cluster, nodes })) })
  }
  t.same(after(100), [])
  t.match(after(106), [{ check: 'agents', status: 'warn' }])
})

t.test(
  'how much a Node must prove depends on how the controller is started, unless the file says it',
  async (t) => {
    const identity = { require: 'reported', exempt: undefined, requireAllVCenters: true } as const
    const configuration = seen({ path: '', vCenters: [], warnings: [], identity, requireGiven: false })
    t.match(wrong({ ...good, configuration }), [
      {
        check: 'agents',
        status: 'warn',
        message: /^1 of 1 Nodes with an agent that reports; every Node needs one unless/,
      },
    ])
    const silent = seen(clusterOf({ ...cluster, nodes: nodesSeen([node], []) }))
    t.match(wrong({ ...good, cluster: silent, configuration }), [
      {
        check: 'agents',
        status: 'warn',
        message: /unless .*the CPI's arguments.* under "identity"; then look at/,
      },
    ])
  },
)

t.test('Nodes that need no agent', async (t) => {
  const configured = (require: 'asserted' | 'reported') =>
    seen({
      path: '',
      vCenters: [],
      warnings: [],
      identity: { require, exempt: undefined, requireAllVCenters: true },
      requireGiven: true,
    })
  const silent = seen(clusterOf({ ...cluster, nodes: nodesSeen([node], []) }))
  t.same(wrong({ ...good, cluster: silent, configuration: configured('asserted') }), [])
  for (const other of [
    { ...node, providerID: 'aws://i-1' },
    { ...node, providerID: undefined },
    { ...node, deleting: true },
  ])
    t.same(wrong({ ...good, cluster: seen(clusterOf({ ...cluster, nodes: nodesSeen([other], []) })) }), [])
  const waiting = {
    ...node,
    providerID: undefined,
    taints: [{ key: TAINT_UNINITIALIZED, effect: 'NoSchedule' }],
  }
  t.match(wrong({ ...good, cluster: seen(clusterOf({ ...cluster, nodes: nodesSeen([waiting], []) })) }), [
    { check: 'agents', status: 'fail' },
  ])
})

t.test('a CPI that serves Services is no stray', async (t) => {
  const beside = {
    ...noCPI,
    ...cpi(['--controllers=service,route']),
    loadBalancers: ['a/b'],
    routedNodes: ['n'],
  }
  t.same(wrong({ ...good, cluster: seen(clusterOf({ ...cluster, cpi: seen(beside) })) }), [])
  const idle = { ...beside, ...cpi(['--controllers=-cloud-node,-cloud-node-lifecycle']) }
  t.match(wrong({ ...good, cluster: seen(clusterOf({ ...cluster, cpi: seen(idle) })) }), [
    { check: 'LoadBalancer Services', status: 'warn', message: /nothing serves/ },
    { check: 'routes', status: 'warn', message: /nothing maintains/ },
  ])
  const fromElsewhere = cpi(['--controllers=service,route'], { envFrom: [{ configMapRef: { name: 'own' } }] })
  t.same(
    wrong({ ...good, cluster: seen(clusterOf({ ...cluster, cpi: seen({ ...noCPI, ...fromElsewhere }) })) }),
    [],
  )
})

t.test('what a CPI meets in NSX while it serves Services and routes', async (t) => {
  const of = (nsx: SeenBy<'routes'>['nsx']) => {
    const found = { ...noCPI, ...cpi(['--controllers=service,route']), nsx }
    return judge({ ...good, cluster: seen(clusterOf({ ...cluster, cpi: seen(found) })) }).filter(
      ({ check }) => ['LoadBalancer Services', 'routes'].includes(check),
    )
  }
  const warnings = [
    { of: 'services', message: 'a' },
    { of: 'routes', message: 'b' },
    { of: 'services', message: 'c' },
  ] as const
  t.match(of(seen(warnings)), [
    { status: 'warn', message: /finalizer of a cloud provider; a; c$/ },
    { status: 'warn', message: /has made any; b$/ },
  ])
  t.match(of({ ok: false, message: 'no right' }), [
    { status: 'ok', message: /what that meets in NSX is not known: no right$/ },
    { status: 'ok' },
  ])
})

t.test('what depends on a line that fails is skipped because of it', async (t) => {
  const { name, server, trust } = vCenter
  const away = { name, server, trust, dns: broken('no such name') }
  const lines = wrong({ ...good, vCenters: [away] })
  t.equal(lines.filter(({ status }) => status === 'fail').length, 1)
  t.equal(lines.filter(({ message }) => message.includes('because of "vCenter main: DNS"')).length, 9)
  const noAPI = judge({ ...good, cluster: broken('refused') })
  t.equal(noAPI.filter(({ message }) => message.includes('because of "API server"')).length, 13)
  const noFile = judge({ ...good, vCenters: [], configuration: { ok: false, problems: ['a', 'b'] } })
  t.match(noFile.slice(0, 2), [
    { check: 'configuration', message: 'a' },
    { check: 'configuration', message: 'b' },
  ])
  t.match(
    noFile.find(({ check }) => check === 'vCenters'),
    { status: 'skip', message: /because of "configuration"/ },
  )
})

t.test('what this account may not do is skipped, and not held against the cluster', async (t) => {
  const { login: _, ...unknown } = vCenter
  const lines = judge({
    ...good,
    configuration: { ok: false, problems: ['this account may not get it'], denied: true },
    vCenters: [{ ...unknown, credential: denied('the Secret a/b may not be read') }],
  })
  t.notOk(hasFailed(lines))
  t.match(lines[0], { check: 'configuration', status: 'skip', message: 'this account may not get it' })
  const of = (check: string) => lines.find((line) => line.check === check)
  t.match(of('vCenter main: credential'), { status: 'skip', message: /the Secret a\/b may not be read/ })
  const leases = { cpi: denied(''), interlock: { state: 'held', message: 'not known by what' } as const }
  const blind = judge({ ...good, cluster: seen(clusterOf({ ...cluster, ...leases })) })
  t.match(
    blind.find(({ check }) => check === 'vSphere CPI'),
    { status: 'skip', message: /^this account is not allowed to see whether a vSphere CPI/ },
  )
  const unasked = judge({ ...good, cluster: denied('it answers, but this account may not ask who it is') })
  t.notOk(hasFailed(unasked))
  t.match(
    unasked.find(({ check }) => check === 'Lease'),
    { status: 'skip', message: /because of "API server"/ },
  )
  t.match(of('vCenter main: login'), { status: 'skip', message: /because of "vCenter main: credential"/ })
})

t.test('the two forms', async (t) => {
  const lines = [
    { check: 'a', status: 'ok', message: 'fine' },
    { check: 'longer', status: 'fail', message: 'bad\u001b[31m' },
  ] as const
  t.equal(
    printLines(lines),
    'ok    a       fine\nfail  longer  bad\u{fffd}[31m\n\n1 ok, 0 warn, 1 fail, 0 skip\n',
  )
  t.same(JSON.parse(linesJSON(lines)), { ok: false, checks: lines })
})

t.test('where certificates are approved, the Nodes that wait for one are named', async (t) => {
  const line = (status: Condition['status'] | undefined) => {
    const lastTransitionTime = at(5)
    const conditions: Condition[] =
      status === undefined
        ? []
        : [
            {
              type: 'ServingCertificate',
              status,
              reason: 'NameNotVerified',
              message: 'm',
              lastTransitionTime,
            },
          ]
    const told = { ...report, status: { nodeUID: node.uid, conditions } }
    const facts = clusterOf({ ...cluster, approves: true, nodes: nodesSeen([node], [told]) })
    return judge({ ...good, cluster: seen(facts) }).find(({ check }) => check === 'serving certificates')
  }
  t.match(line(undefined), { status: 'ok', message: 'no request of a kubelet waits' })
  t.match(line('True'), { status: 'ok' })
  t.match(line('False'), {
    status: 'warn',
    message: `1 of 1 Nodes wait for one (${node.name}: NameNotVerified); "explain NODE" says why`,
  })
})
