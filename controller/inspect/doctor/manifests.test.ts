/** What doctor expects is what the manifests bring. */
import t from 'tap'
import * as v from 'valibot'
import { rbacObjects, rightsOf, sentences } from '../../../manifests/testing/rights.ts'
import { nodeReportSchema } from '../../../manifests/testing/schema.ts'
import { manifestFiles, readManifests } from '../../../test/servers/manifests.ts'
import { accountsIn } from '../../kubernetes/access-review.ts'
import { fieldsOf, REPORT_FIELDS } from './cluster.ts'
import { bindingSpec, digests, POLICIES } from './policies.ts'
import { AGENT_RIGHTS, CERTIFICATE_RIGHTS, controllerRights, type Right } from './rbac.ts'

t.test('rights', async (t) => {
  const given = rightsOf(await rbacObjects())
  const of = (who: string) => sentences(given.filter((right) => right.who === who))
  const asked = (who: string, rights: readonly Right[]) =>
    sentences(rights.map((right) => ({ who, ...right })))
  const lease = { namespace: 'kube-system', name: 'rollcall-controller' }
  const controller = 'kube-system/rollcall-controller'
  const rights = [...controllerRights(lease, accountsIn('kube-system').agent), ...CERTIFICATE_RIGHTS]
  t.same(asked(controller, rights), of(controller))
  for (const agent of ['kube-system/rollcall-agent', 'system:nodes'])
    t.same(asked(agent, AGENT_RIGHTS), of(agent))
})

t.test('fields of a NodeReport', async (t) => {
  t.same(fieldsOf({ properties: await nodeReportSchema() }), REPORT_FIELDS)
  t.equal(fieldsOf('nonsense'), undefined)
})

t.test('policies', async (t) => {
  const optional = '../components/approve-certificates/policy-approve-certificate.yaml'
  const files = [...(await manifestFiles()), optional]
  const objects = (await Promise.all(files.map(readManifests))).flat()
  const policies = objects.filter(({ kind }) => kind.endsWith('AdmissionPolicy'))
  t.same(
    POLICIES.map(({ kind, name }) => `${kind} ${name}`).sort(),
    policies.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort(),
  )
  const spec = (found: object | undefined) => v.parse(v.looseObject({ spec: v.looseObject({}) }), found).spec
  for (const policy of POLICIES) {
    const of = (kind: string) =>
      objects.find((object) => object.kind === kind && object.metadata.name === policy.name)
    t.same(
      policy.spec,
      digests(spec(of(policy.kind))),
      `${policy.name}: write what was found into policies.ts`,
    )
    const { validationActions: _, ...bound } = spec(of(`${policy.kind}Binding`))
    t.same(digests(bindingSpec(policy)), digests(bound), policy.name)
  }
})

t.test('a policy for other accounts is the same policy', async (t) => {
  const [policy] = await readManifests('policy-own-report.yaml')
  const { spec } = v.parse(v.looseObject({ spec: v.looseObject({}) }), policy)
  const text = JSON.stringify(spec)
  const moved = text
    .replaceAll('serviceaccount:kube-system:rollcall-controller', 'serviceaccount:vsphere:mine')
    .replaceAll('serviceaccount:kube-system:rollcall-agent', 'serviceaccount:vsphere:rollcall-agent')
    .replaceAll('kube-system/rollcall-agent', 'vsphere/rollcall-agent')
  t.not(moved, text)
  t.same(digests(JSON.parse(moved), accountsIn('vsphere', 'mine')), digests(spec))
  t.notSame(digests(JSON.parse(moved), accountsIn('kube-system')), digests(spec))
  t.notSame(
    digests(JSON.parse(moved.replace('vsphere:mine', 'vsphere:thief')), accountsIn('vsphere', 'mine')),
    digests(spec),
  )
})
