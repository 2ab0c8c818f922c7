/** What doctor expects is what the manifests bring. */
import t from 'tap'
import { rbacObjects, rightsOf, sentences } from '../../../manifests/testing/rights.ts'
import { nodeReportSchema } from '../../../manifests/testing/schema.ts'
import { manifestFiles, readManifests } from '../../../test/servers/manifests.ts'
import { POLICIES } from './cluster.ts'
import { fieldsOf, REPORT_FIELDS } from './report-fields.ts'
import { AGENT_RIGHTS, controllerRights, type Right } from './rights.ts'

t.test('rights', async (t) => {
  const given = rightsOf(await rbacObjects())
  const of = (who: string) => sentences(given.filter((right) => right.who === who))
  const asked = (who: string, rights: readonly Right[]) =>
    sentences(rights.map((right) => ({ who, ...right })))
  const lease = { namespace: 'kube-system', name: 'rollcall-controller' }
  const controller = 'kube-system/rollcall-controller'
  t.same(asked(controller, controllerRights(lease)), of(controller))
  for (const agent of ['kube-system/rollcall-agent', 'system:nodes'])
    t.same(asked(agent, AGENT_RIGHTS), of(agent))
})

t.test('fields of a NodeReport', async (t) => {
  t.same(fieldsOf({ properties: await nodeReportSchema() }), REPORT_FIELDS)
  t.equal(fieldsOf('nonsense'), undefined)
})

t.test('policies', async (t) => {
  const objects = (await Promise.all((await manifestFiles()).map(readManifests))).flat()
  const policies = objects.filter(({ kind }) => kind.endsWith('AdmissionPolicy'))
  t.same(
    POLICIES.map(({ kind, name }) => `${kind} ${name}`).sort(),
    policies.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort(),
  )
})
