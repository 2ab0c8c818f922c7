import t from 'tap'
import { ANNOTATION_REPORTED_AT } from '../agent/shared/node-report.ts'
import { borrowCluster } from '../test/servers/pool/borrow.ts'
import { completeStatus, sampleReport } from './testing/sample-report.ts'
import {
  applyReport as apply,
  bindToEverything,
  boundToken,
  registerNode,
  type SendRequest,
  withToken,
} from './testing/writers.ts'

const collection = '/apis/rollcall.dev/v1alpha1/nodereports'
const policy = "ValidatingAdmissionPolicy 'own-report.rollcall.dev'"

const cluster = await borrowCluster()
t.teardown(() => cluster.stop())

const kubeletA = await cluster.as({ user: 'system:node:a', groups: ['system:nodes'] })
const kubeletB = await cluster.as({ user: 'system:node:b', groups: ['system:nodes'] })
const uidA = await registerNode(kubeletA.request, 'a')
const uidB = await registerNode(kubeletB.request, 'b')
const agentA = withToken(cluster, await boundToken(cluster, 'rollcall-agent', 'a'))

const merge = (send: SendRequest, path: string, body: unknown) =>
  send('PATCH', path, body, { contentType: 'application/merge-patch+json' })

/** Far more labels or annotations than anything has. */
const thousands = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`a${i}`, 'x']))

await t.test('the agent of a Pod writes its own report with no read right', async (t) => {
  t.match(await apply(agentA, sampleReport('a', uidA)), { status: 201 })
  t.match(await apply(agentA, sampleReport('a', uidA)), { status: 200 })
  t.match(await agentA('GET', `${collection}/a`), { status: 403 })
  t.match(await agentA('GET', '/api/v1/nodes/a'), { status: 403 })
})

await t.test("the kubelet's credential writes its own report", async (t) => {
  t.match(await apply(kubeletB.request, sampleReport('b', uidB)), { status: 201 })
  t.match(await apply(kubeletB.request, sampleReport('b', uidB)), { status: 200 })
})

await t.test('a Node that was registered anew gets its report over', async (t) => {
  const kubelet = await cluster.as({ user: 'system:node:again', groups: ['system:nodes'] })
  const first = await registerNode(kubelet.request, 'again')
  t.match(await apply(kubelet.request, sampleReport('again', first)), { status: 201 })
  t.match(await cluster.request('DELETE', '/api/v1/nodes/again'), { status: 200 })
  const second = await registerNode(kubelet.request, 'again')
  t.match(await apply(kubelet.request, sampleReport('again', second)), { status: 200 })
  const { body } = await cluster.request<{ metadata: object }>('GET', `${collection}/again`)
  t.match(body.metadata, { ownerReferences: [{ uid: second }] })
})

// That exists already, and by a kubelet: test/attacks/other-reports.test.ts.
await t.test('a report that is not one’s own is refused, one that does not exist too', async (t) => {
  t.match(await apply(agentA, sampleReport('c', uidA)), {
    status: 403,
    message:
      /own-report.*"system:serviceaccount:kube-system:rollcall-agent" may not create NodeReport "c": it speaks for Node "a"/,
  })
})

await t.test('a report that is not of this very Node is refused', async (t) => {
  t.match(await apply(agentA, sampleReport('a', uidB)), {
    status: 403,
    message: new RegExp(`spec.nodeUID is not ${uidA}`),
  })
  const good = sampleReport('a', uidA)
  const [owner] = good.metadata.ownerReferences
  const cases: Record<string, unknown> = {
    'no owner': [],
    'two owners': [owner, { ...owner, uid: uidB }],
    'another Node of that name': [{ ...owner, uid: uidB }],
    'a Node of another name': [{ ...owner, name: 'b' }],
    'a Pod': [{ ...owner, kind: 'Pod' }],
    'a Node of another API': [{ ...owner, apiVersion: 'example.com/v1' }],
  }
  for (const [what, ownerReferences] of Object.entries(cases)) {
    const report = { ...good, metadata: { ...good.metadata, ownerReferences } }
    const expected = { status: 403, message: /ownerReferences must be exactly one, the Node "a"/ }
    t.match(await apply(agentA, report), expected, what)
    t.match(await apply(kubeletA.request, report), expected, `${what}, by a kubelet`)
  }
})

await t.test('a report carries nothing that would keep it from being collected', async (t) => {
  const good = sampleReport('a', uidA)
  for (const extra of [
    { finalizers: ['example.com/x'] },
    { labels: { a: 'b' } },
    { labels: thousands },
    { annotations: { a: 'x'.repeat(200 * 1024) } },
  ]) {
    const report = { ...good, metadata: { ...good.metadata, ...extra } }
    for (const send of [agentA, kubeletA.request])
      t.match(await apply(send, report), { status: 403, message: /finalizers, labels or annotations/ })
  }
})

await t.test('a report carries its sign of life, and of annotations nothing else', async (t) => {
  const { metadata, ...rest } = sampleReport('a', uidA)
  const withAnnotations = (annotations: object | undefined) => ({
    ...rest,
    metadata: { ...metadata, ...(annotations && { annotations }) },
  })
  const time = '2026-11-21T09:30:00Z'
  const last = { 'kubectl.kubernetes.io/last-applied-configuration': '{}' }
  const say = (reportedAt: string, others = {}) =>
    withAnnotations({ [ANNOTATION_REPORTED_AT]: reportedAt, ...others })
  const stored = async () => {
    const { body } = await cluster.request<{ metadata: object }>('GET', `${collection}/a`)
    return body.metadata
  }
  for (const [who, send] of [
    ['the agent of a Pod', agentA],
    ['a kubelet', kubeletA.request],
  ] as const) {
    t.match(await apply(send, say(time)), { status: 200 }, who)
    t.match(await stored(), { annotations: { [ANNOTATION_REPORTED_AT]: time } })
    for (const [what, report, message] of [
      ['no time', say('soon'), /reported-at that is no time such as/],
      ['nothing', say(''), /reported-at that is no time/],
      ['more than a time', say(`${time}x`), /reported-at that is no time/],
      ['a line more', say(`${time}\n`), /reported-at that is no time/],
      ['another zone', say('2026-11-21T09:30:00+01:00'), /reported-at that is no time/],
      ['200 KiB', say('2'.repeat(200 * 1024)), /reported-at that is no time/],
      ['another one besides', say(time, { a: 'b' }), /finalizers, labels or annotations/],
      ['what kubectl writes', say(time, last), /finalizers, labels or annotations/],
      [
        'a wish for the Node',
        say(time, { 'rollcall.dev/deletion': 'hold' }),
        /finalizers, labels or annotations/,
      ],
      ['10,000 others', withAnnotations(thousands), /finalizers, labels or annotations/],
    ] as const) {
      t.match(await apply(send, report), { status: 403, message }, `${what}: ${who}`)
    }
    t.match(await apply(send, withAnnotations(undefined)), { status: 200 }, 'an agent that writes no time')
    t.match(await stored(), { annotations: undefined })
  }
})

// Tokens that are bound to no node or to other accounts: test/attacks/credentials.test.ts.

await t.test('with every right of RBAC', async (t) => {
  await bindToEverything(cluster, [
    { kind: 'ServiceAccount', name: 'rollcall-agent', namespace: 'kube-system' },
    { kind: 'ServiceAccount', name: 'default', namespace: 'kube-system' },
    { kind: 'ServiceAccount', name: 'rollcall-controller', namespace: 'kube-system' },
    { kind: 'Group', name: 'system:nodes' },
    { kind: 'User', name: 'system:node:a' },
    { kind: 'User', name: 'person' },
    { kind: 'User', name: 'system:kube-controller-manager' },
  ])
  const person = await cluster.as({ user: 'person' })
  const asOther = withToken(cluster, await boundToken(cluster, 'default', 'a'))

  await t.test('an agent still writes no status', async (t) => {
    const report = { ...sampleReport('a', uidA), status: completeStatus }
    const expected = {
      status: 403,
      message: /may not update the status of NodeReport "a": only the controller may/,
    }
    t.match(await apply(agentA, report, '/status'), expected)
    t.match(await apply(kubeletA.request, report, '/status'), expected, 'a kubelet')
  })

  await t.test('neither agents nor kubelets nor other service accounts delete', async (t) => {
    for (const send of [agentA, kubeletA.request, asOther]) {
      for (const path of [`${collection}/a`, collection]) {
        const { status, body } = await send('DELETE', path)
        t.match(
          { status, body },
          { status: 403, body: { message: /only people and the garbage collector may/ } },
        )
      }
    }
  })

  await t.test('another account and a user who only calls himself a node are refused', async (t) => {
    const pretender = await cluster.as({ user: 'system:node:a' })
    const memberOnly = await cluster.as({ user: 'a', groups: ['system:nodes'] })
    for (const send of [asOther, pretender.request, memberOnly.request]) {
      const expected = { status: 403, message: /only the agent of that node may/ }
      t.match(await apply(send, sampleReport('a', uidA)), expected)
    }
  })

  await t.test('people, administrators among them, may delete a report and not write one', async (t) => {
    for (const send of [person.request, cluster.request]) {
      t.match(await apply(send, sampleReport('b', uidB)), {
        status: 403,
        message: /only the agent of that node may/,
      })
      for (const path of [`${collection}/b`, `${collection}/b/status`]) {
        const { status, body } = await merge(send, path, { metadata: { labels: { a: 'b' } } })
        t.match({ status, body }, { status: 403, body: { message: /only the agent of that node may/ } })
      }
    }
    t.match(await person.request('DELETE', `${collection}/b`), { status: 200 })
    t.match(
      await apply(kubeletB.request, sampleReport('b', uidB)),
      { status: 201 },
      'its agent writes it again',
    )
    t.match(await cluster.request('DELETE', `${collection}/b`), { status: 200 })
  })
})

await t.test('the garbage collector deletes', async (t) => {
  t.match(await apply(kubeletB.request, sampleReport('b', uidB)), { status: 201 })
  const collector = await cluster.as({
    user: 'system:serviceaccount:kube-system:generic-garbage-collector',
    groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
  })
  t.match(await collector.request('DELETE', `${collection}/b`), { status: 200 })
})

await t.test('what stood in a report before the policy was there shuts no agent out', async (t) => {
  const collector = await cluster.as({
    user: 'system:serviceaccount:kube-system:generic-garbage-collector',
    groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
  })
  const good = sampleReport('b', uidB)
  const at = (time: string, others = {}) => ({
    ...good,
    metadata: { ...good.metadata, annotations: { [ANNOTATION_REPORTED_AT]: time, ...others } },
  })
  t.match(await apply(kubeletB.request, at('2026-11-21T09:30:00Z')), { status: 201 })
  // The one writer of metadata whom the policy lets pass stands for whoever wrote then.
  const annotations = { a: 'b', [ANNOTATION_REPORTED_AT]: 'nonsense' }
  const path = `${collection}/b`
  t.match(await merge(collector.request, path, { metadata: { annotations, labels: { a: 'b' } } }), {
    status: 200,
  })
  t.match(await apply(kubeletB.request, at('2026-11-21T09:35:00Z')), { status: 200 })
  const { body } = await cluster.request<{ metadata: object }>('GET', path)
  t.match(body.metadata, { annotations: { a: 'b', [ANNOTATION_REPORTED_AT]: '2026-11-21T09:35:00Z' } })
  t.match(
    await apply(kubeletB.request, at('2026-11-21T09:40:00Z', { a: 'c' })),
    { status: 403, message: /annotations: leave them out/ },
    'to change what is not its own',
  )
  t.match(
    await merge(kubeletB.request, path, { metadata: { annotations: { a: null } } }),
    { status: 403, body: { message: /annotations: leave them out/ } },
    'to take it away',
  )
  t.match(await cluster.request('DELETE', path), { status: 200 })
})

await t.test('the garbage collector takes owners and finalizers off, and leaves the spec', async (t) => {
  const groups = ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated']
  const account = 'system:serviceaccount:kube-system:generic-garbage-collector'
  for (const { request } of [
    await cluster.as({ user: account, groups }),
    await cluster.as({ user: 'system:kube-controller-manager' }),
  ]) {
    t.match(await apply(kubeletB.request, sampleReport('b', uidB)), { status: 201 })
    const path = `${collection}/b`
    // As the collector does for `kubectl delete node --cascade=orphan`.
    const orphan = await merge(request, path, { metadata: { ownerReferences: null } })
    t.match(orphan, { status: 200, body: { metadata: { ownerReferences: undefined } } })
    t.match(
      await merge(request, path, { metadata: { ownerReferences: [] }, spec: { hostname: 'other' } }),
      { status: 403, body: { message: /only the agent of that node may/ } },
      'a spec',
    )
    t.match(await merge(request, `${path}/status`, { status: completeStatus }), { status: 403 }, 'a status')
    t.match(
      await apply(kubeletB.request, sampleReport('b', uidB)),
      { status: 200 },
      'its agent owns it again',
    )

    t.match(await cluster.request('DELETE', `${path}?propagationPolicy=Foreground`), { status: 200 })
    t.match(await merge(request, path, { metadata: { finalizers: null } }), { status: 200 })
    t.match(await cluster.request('GET', path), { status: 404 }, 'a foreground deletion ends')
  }
})

await t.test('the controller', async (t) => {
  const controller = await cluster.as({ user: 'system:serviceaccount:kube-system:rollcall-controller' })

  t.match(await merge(controller.request, `${collection}/a/status`, { status: completeStatus }), {
    status: 200,
    body: { status: completeStatus },
  })

  // RBAC gives it no such right, and here, where it has every right, the policy is what refuses.
  const spec = { spec: { hostname: 'other' } }
  t.match(
    await merge(controller.request, `${collection}/a`, spec),
    { status: 403, body: { message: policy } },
    'writes no report',
  )
})
