import t from 'tap'
import { readManifests } from '../test/servers/manifests.ts'
import {
  type Expected,
  type RbacObject,
  type Rule,
  rbacObjects,
  rightsOf,
  sentences,
  tooWide,
} from './testing/rights.ts'
import { rightsInDocs } from './testing/rights-in-docs.ts'

const agent = 'kube-system/rollcall-agent'
const controller = 'kube-system/rollcall-controller'

const expected: Expected = {
  // The proof that the policy for reports is in force; rbac.yaml says what it is worth to a thief.
  deliberate: [`${controller} may impersonate serviceaccounts rollcall-agent in kube-system`],
  subjects: {
    'ClusterRoleBinding rollcall-agent': [agent, 'system:nodes'],
    'ClusterRoleBinding rollcall-controller': [controller],
    'ClusterRoleBinding rollcall-controller-certificates': [controller],
    'RoleBinding default rollcall-controller': [controller],
    'RoleBinding kube-node-lease rollcall-controller': [controller],
    'RoleBinding kube-system rollcall-controller': [controller],
    'RoleBinding kube-system rollcall-policy-proof': [controller],
  },
}

const objects = await rbacObjects()

t.test('no role is wider than it may be', async (t) => {
  t.strictSame(tooWide(objects, expected), [])
})

t.test('what is too wide is found', async (t) => {
  const role = (rule: object, namespace?: string, binding: object = {}): RbacObject[] => {
    const kind = namespace ? 'Role' : 'ClusterRole'
    const apiVersion = 'rbac.authorization.k8s.io/v1'
    const metadata = { name: `wide-${namespace}`, ...(namespace && { namespace }) }
    const roleRef = { kind, name: metadata.name }
    const subjects = [{ kind: 'ServiceAccount', namespace: 'kube-system', name: 'rollcall-controller' }]
    return [
      { apiVersion, kind, metadata, rules: [rule as Rule] },
      { apiVersion, kind: `${kind}Binding`, metadata, roleRef, subjects, ...binding },
    ]
  }
  const to = (subject: object) => ({ subjects: [{ namespace: 'kube-system', ...subject }] })
  const toAgent = to({ kind: 'ServiceAccount', name: 'rollcall-agent' })
  const known = { apiGroups: [''], resources: ['pods'], verbs: ['get'] }
  const reports = { apiGroups: ['rollcall.dev'], resources: ['nodereports'] }
  const cases: [string, RbacObject[], RegExp][] = [
    ['any group', role({ ...known, apiGroups: ['*'] }), /wildcard in apiGroups/],
    ['any resource', role({ ...known, resources: ['*'] }), /wildcard in resources/],
    ['any subresource', role({ ...known, resources: ['pods/*'] }), /wildcard in resources/],
    ['any verb', role({ ...known, verbs: ['*'] }), /wildcard in verbs/],
    ['any URL', role({ nonResourceURLs: ['/debug/*'], verbs: ['get'] }), /wildcard in nonResourceURLs/],
    ['all secrets', role({ ...known, resources: ['secrets'] }), /secrets in the whole cluster/],
    [
      'secrets in two namespaces',
      [
        ...role({ ...known, resources: ['secrets'] }, 'kube-system'),
        ...role({ ...known, resources: ['secrets'] }, 'default'),
      ],
      /secrets in more than one namespace/,
    ],
    ['an agent that reads', role({ ...reports, verbs: ['get'] }, undefined, toAgent), /more than its report/],
    [
      'an agent that deletes',
      role({ ...reports, verbs: ['delete'] }, undefined, toAgent),
      /more than its report/,
    ],
    [
      'an agent that writes the status',
      role({ ...reports, resources: ['nodereports/status'], verbs: ['patch'] }, undefined, toAgent),
      /more than its report/,
    ],
    [
      'a kubelet that reads reports',
      role({ ...reports, verbs: ['list'] }, undefined, to({ kind: 'Group', name: 'system:nodes' })),
      /more than its report/,
    ],
    [
      'any impersonation',
      role({ apiGroups: [''], resources: ['serviceaccounts'], verbs: ['impersonate'] }, 'kube-system'),
      /makes others of itself: .* may impersonate serviceaccounts in kube-system/,
    ],
    [
      'a claim to be a node',
      role({
        apiGroups: ['authentication.k8s.io'],
        resources: ['userextras/authentication.kubernetes.io/node-name'],
        verbs: ['impersonate'],
      }),
      /makes others of itself/,
    ],
    [
      'escalation',
      role({ ...known, resources: ['clusterroles'], verbs: ['escalate'] }),
      /makes others of itself/,
    ],
    ['binding', role({ ...known, resources: ['clusterroles'], verbs: ['bind'] }), /makes others of itself/],
    [
      'tokens',
      role({ ...known, resources: ['serviceaccounts/token'], verbs: ['create'] }),
      /makes others of itself/,
    ],
    [
      'another subject',
      role(known, undefined, to({ kind: 'Group', name: 'system:authenticated' })),
      /as well$/,
    ],
    [
      'a role from elsewhere',
      role(known, undefined, { roleRef: { kind: 'ClusterRole', name: 'admin' } }),
      /not in the manifests/,
    ],
    ['aggregation', role(known).map((object) => ({ ...object, aggregationRule: {} })), /aggregation/],
  ]
  for (const [what, added, problem] of cases) {
    const found = tooWide([...objects, ...added], expected)
    t.ok(
      found.some((sentence) => problem.test(sentence)),
      `${what}: ${found.join('; ')}`,
    )
  }
})

t.test('the table in docs/security.md names each right, and no other', async (t) => {
  t.strictSame(sentences(await rightsInDocs()), sentences(rightsOf(objects)))
})

t.test('no Pod has the token of the agent’s account unless it asks for it', async (t) => {
  const [account] = await readManifests('rbac.yaml')
  t.match(account, { metadata: { name: 'rollcall-agent' }, automountServiceAccountToken: false })
})
