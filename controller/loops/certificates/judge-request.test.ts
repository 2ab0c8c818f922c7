import t from 'tap'
import { judgeRequest, type RequestFacts, verifiedNode } from './judge-request.ts'
import { parseRequest } from './loop.ts'
import {
  commonName,
  dns,
  email,
  ip,
  makeRequest,
  organization,
  type RequestParts,
  subjectOf,
} from './testing/make-request.ts'

const UID = '11111111-1111-1111-1111-111111111111'
const NOW = Date.parse('2026-01-01T12:00:00Z')

interface Changes {
  readonly parts?: RequestParts
  readonly spec?: object
  readonly createdAt?: string
  readonly node?: Partial<NonNullable<RequestFacts['node']>> | 'none'
  readonly status?: object
  readonly policy?: RequestFacts['policy']
  readonly settings?: Partial<RequestFacts['settings']>
}

/** The facts of worker-1, whose kubelet asks for what is its own, with these changes. */
function factsOf({
  parts,
  spec,
  createdAt = '2026-01-01T11:59:00Z',
  node,
  status,
  policy = { state: 'in-force' },
  settings,
}: Changes): RequestFacts {
  const request = parseRequest({
    metadata: { name: 'csr-1', resourceVersion: '1', creationTimestamp: createdAt },
    spec: {
      request: makeRequest(parts),
      signerName: 'kubernetes.io/kubelet-serving',
      username: 'system:node:worker-1',
      groups: ['system:nodes', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${'0'.repeat(64)}`] },
      usages: ['digital signature', 'server auth'],
      ...spec,
    },
    status: {},
  })
  if (request === undefined) throw new Error('not a request of a kubelet')
  const holders: Record<string, string> = {
    '10.0.0.6': 'worker-2',
    'worker-2': 'worker-2',
    'fd00::6': 'worker-2',
  }
  return {
    request,
    node:
      node === 'none'
        ? undefined
        : { name: 'worker-1', uid: UID, creationTimestamp: '2026-01-01T11:00:00Z', deleting: false, ...node },
    verified: verifiedNode({
      nodeUID: UID,
      identityLevel: 'proven',
      addresses: [
        { type: 'Hostname', address: 'forged-name' },
        { type: 'InternalIP', address: '10.0.0.5' },
        { type: 'ExternalIP', address: '10.0.1.5' },
        { type: 'InternalIP', address: 'FD00:0::5' },
        // Never written by Rollcall; were they, they would still be in no certificate.
        ...[
          '127.0.0.1',
          '0.0.0.0',
          '169.254.1.1',
          '224.0.0.1',
          '255.255.255.255',
          '192.0.2.5',
          '10.0.0.10',
          '::1',
          '::',
          'fe80::1',
          '::ffff:10.0.0.5',
        ].map((address) => ({ type: 'ExternalIP' as const, address })),
      ],
      conditions: [
        { type: 'VMFound', status: 'True', reason: 'VMFound', message: '', lastTransitionTime: '' },
      ],
      ...status,
    }),
    policy,
    holderOf: (name) => holders[name],
    settings: {
      approve: true,
      require: 'proven',
      networks: [
        '10.0.0.0/16',
        '127.0.0.0/8',
        '0.0.0.0/32',
        '169.254.0.0/16',
        '224.0.0.0/4',
        '255.255.255.255/32',
        '::/0',
      ],
      exclude: ['10.0.0.10/32'],
      domains: [],
      ...settings,
    },
    now: NOW,
  }
}

const approved: [string, Changes][] = [
  [
    'its name and its addresses',
    { parts: { names: [dns('worker-1'), ip('10.0.0.5'), ip('10.0.1.5'), ip('fd00::5')] } },
  ],
  ['its address alone', { parts: { names: [ip('10.0.0.5')] } }],
  ['its name alone', { parts: { names: [dns('worker-1')] } }],
  ['one made in the second of the Node', { createdAt: '2026-01-01T11:00:00Z' }],
  ['with key encipherment', { spec: { usages: ['server auth', 'key encipherment', 'digital signature'] } }],
  ['without extra, as older API servers have it', { spec: { extra: undefined } }],
  [
    'its name in a domain of the configuration',
    { parts: { names: [dns('worker-1.example.com')] }, settings: { domains: ['example.com'] } },
  ],
  [
    'of a Node that is reported, where that will do',
    { status: { identityLevel: 'reported' }, settings: { require: 'reported' } },
  ],
  ['of a Node that is proven for some time still', { status: { provenUntil: '2026-01-01T12:00:01Z' } }],
  [
    'of a VM that runs again',
    {
      status: {
        conditions: [
          { type: 'VMFound', status: 'True', reason: 'VMRuns', message: '', lastTransitionTime: '' },
        ],
      },
    },
  ],
]
for (const [what, changes] of approved)
  t.test(`approved: ${what}`, async (t) => {
    t.match(judgeRequest(factsOf(changes)), { verdict: 'approve', reason: 'CertificateApproved' })
  })

const names = (...list: readonly Buffer[]): Changes => ({ parts: { names: list } })
const found = (status: string, reason: string): Changes => ({
  status: { conditions: [{ type: 'VMFound', status, reason, message: '', lastTransitionTime: '' }] },
})
const waiting: [string, string, Changes][] = [
  // Who asks
  [
    'another user in the subject',
    'RequestNotOfKubelet',
    { parts: { subject: subjectOf('system:node:worker-2') } },
  ],
  [
    'a user that is not asking, in other letters',
    'RequestNotOfKubelet',
    { parts: { subject: subjectOf('system:node:WORKER-1') } },
  ],
  ['no group', 'RequestNotOfKubelet', { spec: { groups: ['system:authenticated'] } }],
  [
    'more groups',
    'RequestNotOfKubelet',
    { spec: { groups: ['system:nodes', 'system:masters', 'system:authenticated'] } },
  ],
  ['a group twice', 'RequestNotOfKubelet', { spec: { groups: ['system:nodes', 'system:nodes'] } }],
  [
    'the token of a Pod',
    'RequestNotOfKubelet',
    { spec: { extra: { 'authentication.kubernetes.io/pod-name': ['a'] } } },
  ],
  [
    'another credential',
    'RequestNotOfKubelet',
    { spec: { extra: { 'authentication.kubernetes.io/credential-id': ['JTI=1'] } } },
  ],
  ['extra of a proxy', 'RequestNotOfKubelet', { spec: { extra: { scopes: ['all'] } } }],
  // What for
  ['client auth', 'RequestNotOfKubelet', { spec: { usages: ['digital signature', 'client auth'] } }],
  [
    'client auth besides',
    'RequestNotOfKubelet',
    { spec: { usages: ['digital signature', 'server auth', 'client auth'] } },
  ],
  ['any usage', 'RequestNotOfKubelet', { spec: { usages: ['any'] } }],
  ['signing', 'RequestNotOfKubelet', { spec: { usages: ['digital signature', 'server auth', 'cert sign'] } }],
  ['no usage', 'RequestNotOfKubelet', { spec: { usages: [] } }],
  ['server auth twice', 'RequestNotOfKubelet', { spec: { usages: ['server auth', 'server auth'] } }],
  // The subject
  ['no organization', 'RequestNotOfKubelet', { parts: { subject: [commonName('system:node:worker-1')] } }],
  [
    'another organization',
    'RequestNotOfKubelet',
    { parts: { subject: [organization('system:masters'), commonName('system:node:worker-1')] } },
  ],
  [
    'two organizations',
    'RequestNotOfKubelet',
    { parts: { subject: [...subjectOf('system:node:worker-1'), organization('system:masters')] } },
  ],
  [
    'an organization twice',
    'RequestNotOfKubelet',
    { parts: { subject: [...subjectOf('system:node:worker-1'), organization('system:nodes')] } },
  ],
  ['what cannot be read', 'RequestMalformed', names(dns('worker-1'), email('a@b'))],
  // The Node
  ['without a Node', 'NodeNotVerified', { node: 'none' }],
  ['older than the Node', 'RequestOlderThanNode', { createdAt: '2026-01-01T10:59:59Z' }],
  ['of a Node that is deleted', 'NodeNotVerified', { node: { deleting: true } }],
  ['of a Node registered anew', 'NodeNotVerified', { node: { uid: '22222222-2222-2222-2222-222222222222' } }],
  ['of a Node that is not decided on', 'NodeNotVerified', { status: { nodeUID: undefined } }],
  ['of a Node without a level', 'NodeNotVerified', { status: { identityLevel: undefined } }],
  ['of a Node that is reported only', 'NodeNotVerified', { status: { identityLevel: 'reported' } }],
  [
    'of a Node that is asserted only',
    'NodeNotVerified',
    { status: { identityLevel: 'asserted' }, settings: { require: 'reported' } },
  ],
  ['of a Node whose proof is over', 'NodeNotVerified', { status: { provenUntil: '2026-01-01T12:00:00Z' } }],
  ['of a VM that is off', 'NodeNotVerified', found('True', 'VMPoweredOff')],
  ['of a VM that is suspended', 'NodeNotVerified', found('True', 'VMSuspended')],
  ['of a VM that is gone', 'NodeNotVerified', found('False', 'NoVMWithUUID')],
  ['of a VM that nobody can ask for', 'NodeNotVerified', found('Unknown', 'Unreachable')],
  ['of a VM that was never found', 'NodeNotVerified', { status: { conditions: [] } }],
  // Names
  ['a name that nobody has', 'NameNotVerified', names(dns('worker-9'))],
  ['its host name by its own word', 'NameNotVerified', names(dns('forged-name'))],
  ['its name and a dot', 'NameNotVerified', names(dns('worker-1.'))],
  ['its name in upper case', 'NameNotVerified', names(dns('WORKER-1'))],
  ['its name in another domain', 'NameNotVerified', names(dns('worker-1.example.com'))],
  ['a name below its own', 'NameNotVerified', names(dns('a.worker-1'))],
  ['a wildcard', 'NameNotVerified', names(dns('*'))],
  ['a wildcard below its name', 'NameNotVerified', names(dns('*.worker-1'))],
  ['its address as a DNS name', 'NameNotVerified', names(dns('10.0.0.5'))],
  ['the name of the API server', 'NameNotVerified', names(dns('kubernetes.default.svc'))],
  ['localhost', 'NameNotVerified', names(dns('localhost'))],
  [
    'a name among its own',
    'NameNotVerified',
    names(dns('worker-1'), ip('10.0.0.5'), dns('vault.example.com')),
  ],
  // Addresses
  ['an address that nobody has', 'NameNotVerified', names(ip('10.0.0.7'))],
  ['the Service of the API server', 'NameNotVerified', names(ip('10.96.0.1'))],
  [
    'its address mapped to IPv6',
    'NameNotVerified',
    { ...names(ip('::ffff:10.0.0.5')), status: { addresses: [{ type: 'InternalIP', address: '10.0.0.5' }] } },
  ],
  ['an address among its own', 'NameNotVerified', names(ip('10.0.0.5'), ip('10.0.0.7'))],
  ['its address, which is outside of the networks', 'NameNotAllowed', names(ip('192.0.2.5'))],
  ['its address, which is excluded', 'NameNotAllowed', names(ip('10.0.0.10'))],
  ...[
    '127.0.0.1',
    '0.0.0.0',
    '169.254.1.1',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    '::ffff:10.0.0.5',
  ].map((address): [string, string, Changes] => [
    `${address}, were it verified`,
    'NameNotAllowed',
    names(ip(address)),
  ]),
]
for (const [what, reason, changes] of waiting)
  t.test(`waits: ${what}`, async (t) => {
    const { message, ...judgment } = judgeRequest(factsOf(changes))
    t.same(judgment, { verdict: 'wait', reason }, message)
  })

const ownNames = [
  'localhost',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
  'a.svc',
  'a.localhost',
  '10.0.0.5',
  '0x7f000001',
  '-a',
]
for (const name of ownNames)
  t.test(`a Node named ${name} gets no certificate for that name`, async (t) => {
    const facts = factsOf({
      parts: { subject: subjectOf(`system:node:${name}`), names: [dns(name)] },
      spec: { username: `system:node:${name}` },
      node: { name },
    })
    t.match(judgeRequest(facts), { verdict: 'wait', reason: 'NameNotAllowed' })
  })

t.test('a name that another Node has by a domain is in no certificate', async (t) => {
  const settings = { domains: ['example.com', 'a.example.com'] }
  const asks = (name: string, dnsName: string, other: string) =>
    judgeRequest({
      ...factsOf({
        parts: { subject: subjectOf(`system:node:${name}`), names: [dns(dnsName)] },
        spec: { username: `system:node:${name}` },
        node: { name },
        settings,
      }),
      holderOf: (one) => (one === other || one === name ? one : undefined),
    })
  const both = { verdict: 'wait', reason: 'NameNotAllowed' }
  t.match(asks('db.example.com', 'db.example.com', 'db'), both)
  t.match(asks('db', 'db.example.com', 'db.example.com'), { ...both, message: /"db\.example\.com" as well$/ })
  t.match(asks('db.a.example.com', 'db.a.example.com', 'db'), both)
  t.match(asks('db.a', 'db.a.example.com', 'db'), both)
  t.match(asks('db', 'db', 'db.example.com'), { verdict: 'approve' })
  t.match(asks('db', 'db.example.com', 'web'), { verdict: 'approve' })
})

const denied: [string, Changes][] = [
  ["another Node's address", names(ip('10.0.0.6'))],
  ["another Node's address among its own", names(dns('worker-1'), ip('10.0.0.5'), ip('fd00::6'))],
  ["another Node's name", names(dns('worker-2'))],
  ["another Node's name in upper case", names(dns('Worker-2'))],
  [
    "another Node's name in a domain",
    { ...names(dns('worker-2.example.com')), settings: { domains: ['example.com'] } },
  ],
]
for (const [what, changes] of denied)
  t.test(`denied: ${what}`, async (t) => {
    t.match(judgeRequest(factsOf(changes)), {
      verdict: 'deny',
      reason: 'CertificateDenied',
      message: /"worker-2"$/,
    })
  })

t.test('nobody is denied anything before the Node is verified', async (t) => {
  const facts = factsOf({ ...names(ip('10.0.0.6')), status: { identityLevel: 'reported' } })
  t.match(judgeRequest(facts), { verdict: 'wait', reason: 'NodeNotVerified' })
})

t.test('an address that two Nodes were verified with is its own', async (t) => {
  const facts = { ...factsOf({}), holderOf: () => 'worker-2' }
  t.match(judgeRequest(facts), { verdict: 'approve' })
})

t.test('only requests of kubelets that nobody has decided on are looked at', async (t) => {
  const signerName = 'kubernetes.io/kubelet-serving'
  const spec = { request: '', username: 'system:node:worker-1', signerName }
  const metadata = { name: 'csr-1', resourceVersion: '1', creationTimestamp: '2026-01-01T11:59:00Z' }
  t.match(parseRequest({ metadata, spec }), { name: 'csr-1', content: { ok: false }, groups: [], usages: [] })
  for (const object of [
    {},
    { metadata, spec: { ...spec, signerName: 'kubernetes.io/kube-apiserver-client-kubelet' } },
    { metadata, spec: { ...spec, username: 'alice' } },
    { metadata, spec: { ...spec, username: 'system:node:' } },
    { metadata, spec: { ...spec, username: 'system:serviceaccount:kube-system:a' } },
    { metadata, spec, status: { conditions: [{ type: 'Denied' }] } },
    { metadata, spec, status: { certificate: 'AA==' } },
  ])
    t.equal(parseRequest(object), undefined)
})
