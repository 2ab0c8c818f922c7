import t from 'tap'
import { borrowCluster } from '../test/servers/pool/borrow.ts'
import { heartbeat, initialize, kubeletOf, patchNode, type Requester } from './testing/node-writers.ts'
import { bindToEverything, registerNode, token, withToken } from './testing/writers.ts'

const cluster = await borrowCluster()
t.teardown(() => cluster.stop())
const controller: Requester = { request: withToken(cluster, await token(cluster, 'rollcall-controller')) }
const merge = 'application/merge-patch+json'
const policy = "ValidatingAdmissionPolicy 'update-node.rollcall.dev'"

const UNINITIALIZED = {
  key: 'node.cloudprovider.kubernetes.io/uninitialized',
  value: 'true',
  effect: 'NoSchedule',
}
const SHUTDOWN = { key: 'node.cloudprovider.kubernetes.io/shutdown', effect: 'NoSchedule' }
const OUT_OF_SERVICE = { key: 'node.kubernetes.io/out-of-service', value: 'rollcall', effect: 'NoExecute' }
const OTHERS = { key: 'example.com/other', effect: 'NoExecute', timeAdded: '2026-11-22T03:00:00Z' }
const VSPHERE = 'vsphere://420e3f74-ea84-f9a2-7736-6106bb5dbf6b'

interface Node {
  metadata: {
    resourceVersion: string
    annotations?: object
    managedFields: readonly { manager: string; fieldsV1: Record<string, object> }[]
  }
  spec: { providerID?: string; taints?: object[] }
  status: { conditions: readonly object[] }
}

const read = async (name: string) => (await cluster.request<Node>('GET', `/api/v1/nodes/${name}`)).body

let nodes = 0

interface Told {
  readonly ready?: 'True' | 'Unknown'
  readonly providerID?: string
  readonly taints?: readonly object[]
  readonly wish?: string
  /** Of its owner. */
  readonly labels?: Readonly<Record<string, string>>
  /** Which labels rules have given it. */
  readonly record?: string
  readonly cordoned?: true
}

/** A Node in this state, as its kubelet and administrators left it; its name. */
async function nodeThat({
  ready = 'True',
  providerID,
  taints = [],
  wish,
  labels,
  record,
  cordoned,
}: Told = {}): Promise<string> {
  const name = `node-${nodes++}`
  const kubelet = await kubeletOf(cluster, name)
  await registerNode(kubelet.request, name)
  const spec = {
    taints,
    ...(cordoned ? { unschedulable: true } : {}),
    ...(providerID === undefined ? {} : { providerID }),
  }
  const annotations = {
    'example.com/note': 'x',
    ...(wish === undefined ? {} : { 'rollcall.dev/deletion': wish }),
    ...(record === undefined ? {} : { 'rollcall.dev/labels': record }),
  }
  const conditions = [{ type: 'Ready', status: ready, reason: 'Told', lastHeartbeatTime: new Date() }]
  for (const answer of [
    await patchNode(cluster, name, { metadata: { annotations, ...(labels ? { labels } : {}) }, spec }, merge),
    await patchNode(cluster, `${name}/status`, { status: { conditions } }, merge),
  ]) {
    if (answer.status !== 200) throw new Error(answer.message)
  }
  return name
}

const OWN = { 'example.com/own': 'b' }
const ours: Told = { providerID: VSPHERE }
const waiting: Told = { taints: [UNINITIALIZED] }
const label = (key: string, value: string | null = 'a') => ({ metadata: { labels: { [key]: value } } })
const annotation = (key: string, value: string | null) => ({ metadata: { annotations: { [key]: value } } })
const taints = (...list: object[]) => ({ spec: { taints: list } })
/** What a label rule writes. */
const ruled = (record: string | null, labels: object) => ({
  metadata: { annotations: { 'rollcall.dev/labels': record }, labels },
})
const RULED = 'rollcall.node-restriction.kubernetes.io/rack'
/** By it people say where the controller runs. */
const CONTROLLER = 'rollcall.node-restriction.kubernetes.io/controller'

const done: [string, Told, object, string?][] = [
  [
    'initializes a Node',
    waiting,
    { spec: { providerID: VSPHERE, taints: [] }, ...label('topology.kubernetes.io/zone') },
  ],
  ['initializes one that was registered with its provider ID', { ...waiting, ...ours }, taints()],
  [
    'initializes one that others tainted',
    { taints: [OTHERS, UNINITIALIZED] },
    { spec: { providerID: VSPHERE, taints: [OTHERS] } },
  ],
  ['gives one that waits more labels', waiting, { ...label('example.com/pool'), spec: { taints: [] } }],
  ['initializes one whose VM is off by then', waiting, { spec: { providerID: VSPHERE, taints: [SHUTDOWN] } }],
  [
    'writes addresses',
    ours,
    { status: { addresses: [{ type: 'InternalIP', address: '10.0.0.9' }] } },
    '/status',
  ],
  [
    'writes addresses of one that waits',
    waiting,
    { status: { addresses: [{ type: 'InternalIP', address: '10.0.0.9' }] } },
    '/status',
  ],
  ...[
    'topology.kubernetes.io/zone',
    'failure-domain.beta.kubernetes.io/zone',
    'topology.kubernetes.io/region',
    'failure-domain.beta.kubernetes.io/region',
    'node.kubernetes.io/instance-type',
    'beta.kubernetes.io/instance-type',
    'rollcall.node-restriction.kubernetes.io/identity-level',
  ].map((key): [string, Told, object] => [`writes the label ${key}`, ours, label(key)]),
  ['shuts a Node down', { ...ours, taints: [OTHERS] }, taints(OTHERS, SHUTDOWN)],
  ['takes that back', { ...ours, taints: [SHUTDOWN, OTHERS] }, taints(OTHERS)],
  [
    'puts a Node out of service',
    { ...ours, ready: 'Unknown', taints: [SHUTDOWN] },
    taints(SHUTDOWN, OUT_OF_SERVICE),
  ],
  ['takes that back, though it is ready', { ...ours, taints: [OUT_OF_SERVICE, SHUTDOWN] }, taints()],
  [
    'writes to one that is ready and out of service',
    { ...ours, taints: [OUT_OF_SERVICE] },
    taints(OUT_OF_SERVICE, SHUTDOWN),
  ],
  ['takes leave to delete back', { ...ours, wish: 'proceed' }, annotation('rollcall.dev/deletion', null)],
  ['gives a label by rule', ours, ruled(`${RULED}=a`, { [RULED]: 'a' })],
  [
    'changes one',
    { ...ours, labels: { [RULED]: 'a' }, record: `${RULED}=a` },
    ruled(`${RULED}=b`, { [RULED]: 'b' }),
  ],
  [
    'removes the last one',
    { ...ours, labels: { [RULED]: 'a' }, record: `${RULED}=a` },
    ruled(null, { [RULED]: null }),
  ],
  [
    'gives one that waits a label by rule beyond its prefix',
    waiting,
    { ...ruled('example.com/rack=a,example.com/row=', { 'example.com/rack': 'a' }), spec: { taints: [] } },
  ],
  [
    'changes a label that is recorded',
    { ...ours, labels: { 'example.com/rack': 'a' }, record: 'example.com/rack=a' },
    ruled('example.com/rack=b', { 'example.com/rack': 'b' }),
  ],
  [
    'gives one that is recorded without a value',
    { ...ours, record: 'example.com/rack=' },
    ruled('example.com/rack=b', { 'example.com/rack': 'b' }),
  ],
  [
    'removes one that is recorded',
    { ...ours, labels: { 'example.com/rack': 'a' }, record: 'example.com/rack=a' },
    ruled('example.com/rack=', { 'example.com/rack': null }),
  ],
  [
    'begins the record of one that waits anew',
    { ...waiting, record: 'x'.repeat(20_000) },
    ruled(`${RULED}=a`, { [RULED]: 'a' }),
  ],
]
for (const [what, told, body, subresource = ''] of done) {
  t.test(`the controller ${what}`, async (t) => {
    const name = await nodeThat(told)
    const { resourceVersion } = (await read(name)).metadata
    t.match(await patchNode(controller, `${name}${subresource}`, body, merge), { status: 200 })
    t.not((await read(name)).metadata.resourceVersion, resourceVersion, 'it is written')
  })
}

const notOfVSphere = /its provider ID does not begin with vsphere:\/\/, and it is not waiting for one/
const otherTaints = /with other taints than its own/
const otherAnnotation = /with annotations that are not its own/
const refused: [string, Told, object, RegExp, string?][] = [
  [
    'another provider’s Node',
    { providerID: 'other://1' },
    label('topology.kubernetes.io/zone'),
    notOfVSphere,
  ],
  [
    'another provider’s Node that waits',
    { providerID: 'other://1', taints: [UNINITIALIZED] },
    taints(),
    notOfVSphere,
  ],
  ['nobody’s Node to one of vSphere', {}, { spec: { providerID: VSPHERE } }, notOfVSphere],
  ['nobody’s Node to one that waits', {}, taints(UNINITIALIZED), notOfVSphere],
  [
    'nobody’s Node to both at once',
    {},
    { spec: { providerID: VSPHERE, taints: [UNINITIALIZED] } },
    notOfVSphere,
  ],
  ['nobody’s Node to one that is off', {}, taints(SHUTDOWN), notOfVSphere],
  ['addresses of nobody’s Node', {}, { status: { addresses: [] } }, notOfVSphere, '/status'],
  [
    'a Node that waits to one of another provider',
    waiting,
    { spec: { providerID: 'other://1' } },
    /is set once/,
  ],
  ['a Node to one that waits', ours, taints(UNINITIALIZED), /than its own, .*cloudprovider.*\/uninitialized/],
  [
    'a Node to one that waits in other words',
    { ...ours, ...waiting },
    taints({ ...UNINITIALIZED, effect: 'NoExecute' }),
    otherTaints,
  ],
  [
    'taints of others',
    ours,
    taints({ key: 'example.com/a', effect: 'NoExecute' }),
    /than its own, example.com\/a/,
  ],
  ['taints of others away', { ...ours, taints: [OTHERS] }, taints(), /than its own, example.com\/other/],
  [
    'when they were added',
    { ...ours, taints: [OTHERS] },
    taints({ ...OTHERS, timeAdded: '2020-01-01T00:00:00Z' }),
    otherTaints,
  ],
  [
    'a Node to one that is off, with another effect',
    ours,
    taints({ ...SHUTDOWN, effect: 'NoExecute' }),
    otherTaints,
  ],
  [
    'a Node out of service, with another effect',
    { ...ours, ready: 'Unknown' },
    taints({ ...OUT_OF_SERVICE, effect: 'NoSchedule' }),
    otherTaints,
  ],
  [
    'a person’s taint out-of-service away',
    { ...ours, taints: [{ ...OUT_OF_SERVICE, value: 'nodeshutdown' }] },
    taints(),
    otherTaints,
  ],
  [
    'a Node out of service in a person’s name',
    { ...ours, ready: 'Unknown' },
    taints({ ...OUT_OF_SERVICE, value: 'nodeshutdown' }),
    otherTaints,
  ],
  ['a Node out of service that is ready', ours, taints(OUT_OF_SERVICE), /to be out of service: it is Ready/],
  ['other labels', ours, label('example.com/pool'), /than its own, example.com\/pool/],
  ['labels that one that waits has', { ...waiting, labels: OWN }, label('example.com/own'), /than its own/],
  ['such labels away', { ...waiting, labels: OWN }, label('example.com/own', null), /than its own/],
  ...['node-role.kubernetes.io/worker', 'kubernetes.io/role', 'example.k8s.io/x'].map(
    (key): [string, Told, object, RegExp] => [
      `the label ${key} of one that waits`,
      waiting,
      label(key),
      /than its own/,
    ],
  ),
  [
    'a label that is not recorded',
    { ...ours, record: `${RULED}=a` },
    label('example.com/pool'),
    /than its own/,
  ],
  [
    'a label that is recorded from now on',
    ours,
    ruled('example.com/pool=a', { 'example.com/pool': 'a' }),
    /than its own, example.com\/pool/,
  ],
  [
    'a label that is recorded no longer',
    { ...ours, labels: { 'example.com/pool': 'a' }, record: 'example.com/pool=a' },
    ruled(null, { 'example.com/pool': 'b' }),
    /than its own, example.com\/pool/,
  ],
  [
    'a label whose name another’s ends with',
    { ...ours, record: 'x.example.com/pool=a' },
    label('example.com/pool'),
    /than its own/,
  ],
  [
    'what is recorded',
    ours,
    ruled('example.com/pool=', {}),
    /annotations that are not its own: rollcall.dev\/labels/,
  ],
  [
    'what is recorded of a label that one that waits has',
    { ...waiting, labels: OWN },
    ruled('example.com/own=b', {}),
    /annotations that are not its own: rollcall.dev\/labels/,
  ],
  [
    'what is recorded of Kubernetes’ labels',
    waiting,
    ruled('node-role.kubernetes.io/worker=', {}),
    /annotations that are not its own: rollcall.dev\/labels/,
  ],
  [
    'what is recorded, with more than a record has',
    ours,
    ruled(`${RULED}=${'a'.repeat(5_000)}`, {}),
    /annotations that are not its own: rollcall.dev\/labels/,
  ],
  ...[`${CONTROLLER}=`, `${CONTROLLER}=a`].map((record): [string, Told, object, RegExp] => [
    `where the controller may run, recorded as ${record}`,
    ours,
    ruled(record, { [CONTROLLER]: 'a' }),
    /than its own, rollcall.node-restriction.kubernetes.io\/controller/,
  ]),
  ['where the controller may run, of one that waits', waiting, label(CONTROLLER), /than its own/],
  [
    'that the controller may run there',
    { ...ours, labels: { [CONTROLLER]: '' } },
    label(CONTROLLER, null),
    /than its own/,
  ],
  [
    'what is recorded of where the controller may run',
    waiting,
    ruled(`${CONTROLLER}=`, {}),
    /annotations that are not its own: rollcall.dev\/labels/,
  ],
  [
    'a label of somebody else under node-restriction',
    ours,
    label('example.com.node-restriction.kubernetes.io/a'),
    /than its own/,
  ],
  ['other labels away', ours, label('kubernetes.io/os', null), /than its own, kubernetes.io\/os/],
  [
    'a worker to a control-plane Node',
    ours,
    label('node-role.kubernetes.io/control-plane', ''),
    /than its own/,
  ],
  ['other labels by the status', ours, label('example.com/pool'), /than its own/, '/status'],
  ['other annotations', ours, annotation('example.com/note', 'y'), otherAnnotation],
  ...['', '/status'].map((subresource): [string, Told, object, RegExp, string] => [
    `all annotations away, a hold among them, at "${subresource}"`,
    { ...ours, wish: 'hold' },
    { metadata: { annotations: null } },
    /with annotations that are not its own: .*rollcall.dev\/deletion/,
    subresource,
  ]),
  ...['', '/status'].flatMap((subresource) =>
    (['proceed', 'other', null] as const).map((wish): [string, Told, object, RegExp, string] => [
      `a person's hold to ${wish} at "${subresource}"`,
      { ...ours, wish: 'hold' },
      annotation('rollcall.dev/deletion', wish),
      /with annotations that are not its own: rollcall.dev\/deletion/,
      subresource,
    ]),
  ),
  [
    'leave to delete to a hold',
    { ...ours, wish: 'proceed' },
    annotation('rollcall.dev/deletion', 'hold'),
    otherAnnotation,
  ],
  ['leave to delete, which it gives', ours, annotation('rollcall.dev/deletion', 'proceed'), otherAnnotation],
  ['a hold, which it sets', ours, annotation('rollcall.dev/deletion', 'hold'), otherAnnotation],
  ...['', '/status'].map((subresource): [string, Told, object, RegExp, string] => [
    `which VM it is, at "${subresource}"`,
    ours,
    annotation('rollcall.dev/vm', 'vm-1'),
    /with annotations that are not its own: rollcall.dev\/vm/,
    subresource,
  ]),
  ...['', '/status'].map((subresource): [string, Told, object, RegExp, string] => [
    `the owners, so that it is collected, at "${subresource}"`,
    ours,
    {
      metadata: {
        ownerReferences: [
          { apiVersion: 'v1', kind: 'ConfigMap', name: 'none', uid: '0f7c7b39-5d4e-4b0c-9a52-5b1d8f2b6c11' },
        ],
      },
    },
    /metadata.ownerReferences/,
    subresource,
  ]),
  [
    'the finalizers, so that it stays',
    ours,
    { metadata: { finalizers: ['example.com/stay'] } },
    /metadata.finalizers/,
  ],
  ['whether Pods may come', ours, { spec: { unschedulable: true } }, /spec.unschedulable/],
  [
    'that Pods may not come',
    { ...ours, cordoned: true },
    { spec: { unschedulable: null } },
    /spec.unschedulable/,
  ],
  [
    'its Pods’ addresses',
    ours,
    { spec: { podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.0.0/24'] } },
    /spec.podCIDR/,
  ],
  // Whether it is ready, and that it ever was: test/attacks/lifecycle.test.ts.
  [
    'the port of its kubelet',
    ours,
    { status: { daemonEndpoints: { kubeletEndpoint: { Port: 1 } } } },
    /status.daemonEndpoints/,
    '/status',
  ],
  ['what it can hold', ours, { status: { capacity: { pods: '0' } } }, /status.capacity/, '/status'],
]
for (const [what, told, body, message, subresource = ''] of refused) {
  t.test(`the controller does not change ${what}`, async (t) => {
    const name = await nodeThat(told)
    const before = await read(name)
    const answer = await patchNode(controller, `${name}${subresource}`, body, merge)
    t.match(answer, { status: 403, message })
    t.match(answer.message, policy)
    t.match(
      answer.message,
      `"system:serviceaccount:kube-system:rollcall-controller" may not update Node "${name}"`,
    )
    t.strictSame(await read(name), before, 'it is as it was')
  })
}

t.test('who wrote which field', async (t) => {
  const name = await nodeThat({ ...waiting, labels: OWN })
  // Its only fields are some that the controller may take over.
  const query = `${name}?fieldManager=somebody`
  t.match(await patchNode(cluster, query, label('topology.kubernetes.io/zone', 'other'), merge), {
    status: 200,
  })
  const applied = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { labels: { 'example.com/applied': 'a', 'topology.kubernetes.io/region': 'other' } },
  }
  const apply = `${name}?fieldManager=gitops`
  t.match(await patchNode(cluster, apply, applied, 'application/apply-patch+yaml'), { status: 200 })
  const managers = async () => (await read(name)).metadata.managedFields
  const taken = {
    metadata: { labels: { 'topology.kubernetes.io/zone': 'a', 'topology.kubernetes.io/region': 'b' } },
    spec: { providerID: VSPHERE, taints: [] },
  }
  t.match(await patchNode(controller, `${name}?fieldManager=rollcall-controller`, taken, merge), {
    status: 200,
  })
  const before = await managers()
  t.notOk(
    before.some(({ manager }) => manager === 'somebody'),
    'the controller has taken its fields over',
  )

  const others = before.filter(({ manager }) => manager !== 'rollcall-controller')
  const gitops = others.filter(({ manager }) => manager === 'gitops')
  t.equal(gitops.length, 1)
  const forged: [string, readonly object[]][] = [
    ['empty', [{}]],
    ['without all others', before.filter(({ manager }) => manager === 'rollcall-controller')],
    ...others.map((one): [string, readonly object[]] => [
      `without ${one.manager}`,
      before.filter((entry) => entry !== one),
    ]),
    ...others.map((one): [string, readonly object[]] => [
      `with ${one.manager} under another name`,
      before.map((entry) => (entry === one ? { ...entry, manager: 'other' } : entry)),
    ]),
    ...others.map((one): [string, readonly object[]] => [
      `with ${one.manager} among the oldest of many, where there are few`,
      before.map((entry) => (entry === one ? { ...entry, manager: 'ancient-changes' } : entry)),
    ]),
    ...others.map((one): [string, readonly object[]] => [
      `with another field for ${one.manager}`,
      before.map((entry) =>
        entry === one ? { ...entry, fieldsV1: { 'f:spec': { 'f:taints': {} } } } : entry,
      ),
    ]),
    [
      "with somebody's annotation for the next apply to remove",
      before.map((entry) =>
        entry.manager === 'gitops'
          ? {
              ...entry,
              fieldsV1: {
                'f:metadata': {
                  ...entry.fieldsV1['f:metadata'],
                  'f:annotations': { 'f:example.com/note': {} },
                },
              },
            }
          : entry,
      ),
    ],
    [
      'with an apply by somebody else',
      [...before, ...gitops.map((entry) => ({ ...entry, manager: 'other' }))],
    ],
  ]
  for (const [what, managedFields] of forged) {
    const body = { metadata: { managedFields } }
    for (const path of [name, `${name}?fieldManager=other`]) {
      const answer = await patchNode(controller, path, body, merge)
      t.match(answer, { status: 403, message: /with another metadata.managedFields/ }, `${what}, at ${path}`)
    }
    t.match(await patchNode(controller, `${name}/status`, body, merge), { status: 200 }, 'by the status')
    t.strictSame(await managers(), before, `${what}: it is as it was`)
  }

  for (let i = 0; i < 12; i++) {
    const path = `${name}?fieldManager=manager-${i}`
    t.match(await patchNode(cluster, path, label(`example.com/${i}`), merge), { status: 200 })
  }
  t.ok((await managers()).some(({ manager }) => manager === 'ancient-changes'))
  t.match(
    await patchNode(controller, `${name}?fieldManager=newer`, taints(SHUTDOWN), merge),
    { status: 200 },
    'of many, too',
  )
})

t.test('of a Node with more labels and taints than anybody needs', async (t) => {
  const name = 'huge'
  const labels = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`example.com/label-${i}`, 'a']))
  const others = Array.from({ length: 1_000 }, (_, i) => ({ key: `example.com/${i}`, effect: 'NoSchedule' }))
  const created = await cluster.request('POST', '/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels },
    spec: { taints: [...others, UNINITIALIZED] },
  })
  t.equal(created.status, 201)
  const zone = { 'topology.kubernetes.io/zone': 'a' }
  const list = async () => (await read(name)).spec.taints ?? []
  const waits = await list()
  const own = waits.filter((taint) => !('key' in taint) || taint.key !== UNINITIALIZED.key)
  for (const [what, body, message] of [
    ['another label', label('example.com/label-7', 'b'), /than its own, example.com\/label-7$/],
    ['another label away', label('example.com/label-7', null), /than its own, example.com\/label-7$/],
    [
      'one label for another',
      { metadata: { labels: { 'example.com/label-7': null, 'node-role.kubernetes.io/other': '' } } },
      /than its own, example.com\/label-7, node-role.kubernetes.io\/other$/,
    ],
    ['taints of others', taints(...waits.slice(0, 500), ...waits.slice(501)), /may change no taints/],
    ['an annotation', annotation('example.com/note', 'x'), otherAnnotation],
  ] as const)
    t.match(await patchNode(controller, name, body, merge), { status: 403, message }, what)
  t.match(
    await patchNode(
      controller,
      name,
      {
        metadata: { labels: { ...zone, 'example.com/pool': 'a' } },
        spec: { providerID: VSPHERE, taints: own },
      },
      merge,
    ),
    { status: 200 },
    'it is initialized, with a label more',
  )
  t.match(await patchNode(controller, name, label('topology.kubernetes.io/zone', 'b'), merge), {
    status: 200,
  })
  t.match(await patchNode(controller, name, ruled(`${RULED}=a`, { [RULED]: 'a' }), merge), { status: 200 })
  t.match(await patchNode(controller, name, ruled(null, { [RULED]: null }), merge), { status: 200 })
  t.match(await patchNode(controller, name, taints(...own, SHUTDOWN), merge), { status: 200 })
  t.strictSame(await list(), [...own, SHUTDOWN])
})

t.test('annotations of others, however many', async (t) => {
  const name = await nodeThat({ ...ours, wish: 'proceed' })
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`a-${i}`, '']))
  t.match(await patchNode(cluster, name, { metadata: { annotations: many } }, merge), { status: 200 })
  for (const [what, key, value] of [
    ['changed', 'a-7', 'x'],
    ['taken away', 'a-7', null],
    ['added', 'b', ''],
  ] as const) {
    const message = new RegExp(`not its own: ${key}`)
    const both = { metadata: { annotations: { [key]: value, 'rollcall.dev/deletion': null } } }
    t.match(await patchNode(controller, name, both, merge), { status: 403, message }, what)
  }
  t.match(await patchNode(controller, name, annotation('rollcall.dev/deletion', null), merge), {
    status: 200,
  })
})

t.test('of the part that is not asked for, nothing is written', async (t) => {
  const name = await nodeThat(ours)
  const { status } = await read(name)
  const body = { status: { conditions: [{ type: 'Ready', status: 'False' }] } }
  t.match(await patchNode(controller, name, body, merge), { status: 200 })
  t.strictSame((await read(name)).status, status)
})

t.test('others change Nodes as they did', async (t) => {
  const name = await nodeThat()
  const kubelet = await kubeletOf(cluster, name)
  t.match(await heartbeat(kubelet, name), { status: 200 })
  t.match(await patchNode(cluster, name, { spec: { providerID: VSPHERE, unschedulable: true } }, merge), {
    status: 200,
  })
  t.match(await heartbeat(kubelet, name), { status: 200 })
})

t.test('whatever its rights are', async (t) => {
  const name = await nodeThat(waiting)
  await initialize(controller, name)
  await bindToEverything(cluster, [
    { kind: 'ServiceAccount', name: 'rollcall-controller', namespace: 'kube-system' },
    { kind: 'ServiceAccount', name: 'default', namespace: 'kube-system' },
  ])
  const node = await read(name)
  const body = { ...node, status: { ...node.status, conditions: [] } }
  t.match(
    await controller.request('PUT', `/api/v1/nodes/${name}/status`, body),
    { status: 403 },
    'as a whole',
  )
})
