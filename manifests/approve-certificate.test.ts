import t from 'tap'
import { subjectOf } from '../controller/loops/certificates/testing/make-request.ts'
import { borrowCluster } from '../test/servers/pool/borrow.ts'
import { allowApprovals, REQUESTS, requestObject } from '../test/world/certificates.ts'
import { bindToEverything, token, withToken } from './testing/writers.ts'

const cluster = await borrowCluster()
t.teardown(() => cluster.stop())
await allowApprovals(cluster)
const account = { kind: 'ServiceAccount', namespace: 'kube-system', name: 'rollcall-controller' } as const
// RBAC would refuse some of it first: what is tried here is the policy alone.
await bindToEverything(cluster, [account])
const controller = withToken(cluster, await token(cluster, account.name))
const kubelet = { user: 'system:node:worker-1', groups: ['system:nodes'] }
const APPROVED = { type: 'Approved', status: 'True', reason: 'R', message: 'm' }
const CLIENT = {
  signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
  usages: ['digital signature', 'client auth'],
}

interface Tried {
  readonly as?: { readonly user: string; readonly groups?: string[] }
  readonly spec?: object
  readonly conditions?: readonly object[]
  readonly metadata?: object
  /** Somebody has decided before. */
  readonly before?: readonly object[]
}

let made = 0
async function decide({ as = kubelet, spec, conditions = [APPROVED], metadata = {}, before }: Tried) {
  const name = `csr-${++made}`
  const client = await cluster.as(as)
  const parts = { subject: subjectOf('system:node:worker-1') }
  const created = await client.request('POST', REQUESTS, requestObject(name, parts, spec))
  if (created.status !== 201) throw new Error(JSON.stringify(created.body))
  const path = `${REQUESTS}/${name}/approval`
  const contentType = 'application/merge-patch+json'
  if (before) await cluster.request('PATCH', path, { status: { conditions: before } }, { contentType })
  const body = { metadata, status: { conditions: [...(before ?? []), ...conditions] } }
  const answer = await controller<{ message?: string }>('PATCH', path, body, { contentType })
  return { status: answer.status, message: String(answer.body.message) }
}

const taken: [string, Tried][] = [
  ['an approval', {}],
  [
    'an approval with key encipherment',
    { spec: { usages: ['digital signature', 'key encipherment', 'server auth'] } },
  ],
  ['a denial with a message', { conditions: [{ ...APPROVED, type: 'Denied' }] }],
]
for (const [what, tried] of taken)
  t.test(`the controller may write ${what}`, async (t) => {
    t.match(await decide(tried), { status: 200 })
  })

const other = { type: 'Noted', status: 'True', reason: 'R', message: 'm' }
const refused: [string, Tried, RegExp][] = [
  [
    'approve for another signer',
    { spec: CLIENT },
    /which is not for the signer kubernetes\.io\/kubelet-serving/,
  ],
  [
    'approve for a signer of its own',
    { spec: { signerName: 'example.com/kubelet-serving' } },
    /which is not for the signer/,
  ],
  [
    'approve what an administrator asks',
    { as: { user: 'admin', groups: ['system:masters'] } },
    /not made by a kubelet/,
  ],
  [
    'approve what a kubelet in other groups asks',
    { as: { ...kubelet, groups: ['system:nodes', 'system:masters'] } },
    /not made by a kubelet/,
  ],
  [
    'approve client auth',
    { spec: { usages: ['digital signature', 'client auth'] } },
    /usages are not those of a server/,
  ],
  [
    'approve client auth beside',
    { spec: { usages: ['server auth', 'client auth'] } },
    /usages are not those of a server/,
  ],
  [
    'approve no usage of a server',
    { spec: { usages: ['digital signature'] } },
    /usages are not those of a server/,
  ],
  ['write two conditions', { conditions: [APPROVED, other] }, /by one condition/],
  ['write another condition', { conditions: [other] }, /by one condition/],
  ['write a second condition', { before: [other] }, /by one condition/],
  [
    'deny without a message',
    { conditions: [{ type: 'Denied', status: 'True', reason: 'R' }] },
    /without a message/,
  ],
  ['set a label', { metadata: { labels: { a: 'b' } } }, /by changing its metadata/],
  ['set an annotation', { metadata: { annotations: { a: 'b' } } }, /by changing its metadata/],
  ['set a finalizer', { metadata: { finalizers: ['example.com/a'] } }, /by changing its metadata/],
]
for (const [what, tried, message] of refused)
  t.test(`the controller may not ${what}`, async (t) => {
    const answer = await decide(tried)
    t.match(answer, { status: 403, message })
    t.match(answer.message, "ValidatingAdmissionPolicy 'approve-certificate.rollcall.dev'")
  })

t.test('everybody else approves as before', async (t) => {
  const name = `csr-${++made}`
  await cluster.request('POST', REQUESTS, requestObject(name, {}, CLIENT))
  const options = { contentType: 'application/merge-patch+json' }
  const status = { conditions: [APPROVED] }
  t.match(await cluster.request('PATCH', `${REQUESTS}/${name}/approval`, { status }, options), {
    status: 200,
  })
})
