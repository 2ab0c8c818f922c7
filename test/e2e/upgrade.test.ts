// From the release before claims had a nonce: first its CRD with agents of this one, then this one's CRD and controller.
import t from 'tap'
import { GUESTINFO_CLAIM } from '../../agent/shared/node-report.ts'
import { LABEL_IDENTITY_LEVEL } from '../../controller/types/well-known.ts'
import { until } from '../fixtures/until.ts'
import { applyManifest, type Manifest, readManifests } from '../servers/manifests.ts'
import { reportObject } from '../world/crowd.ts'
import { watched } from '../world/deletion.ts'
import { kubeletIdentity } from '../world/kubelet.ts'
import type { Member } from '../world/member.ts'
import { condition, level, type NodeObject } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const MEMBERS = ['upgraded-1', 'upgraded-2', 'upgraded-3'] as const
const merge = { contentType: 'application/merge-patch+json' }
const stage = await openStage(t, { vms: 5 })
const { cluster, nodes, reports, events, vcsim } = stage
const members = await stage.machines(...MEMBERS)

const status = (name: string) => reports.last(name)?.status
const claimOf = (member: Member) => vcsim.getGuestinfo(member.vm.ref, GUESTINFO_CLAIM)

t.test('an agent of this release, and the CRD of the one before', async (t) => {
  await applyCRD('before')
  await Promise.all(members.map((member) => member.reportOnce()))
  for (const member of members) {
    await reports.until('it has reported', () => reports.last(member.name) !== undefined)
    t.match(reports.last(member.name)?.spec.claim, {
      written: true,
      reason: 'WithoutNonce',
      digest: undefined,
    })
    t.equal(await claimOf(member), `v1 ${member.uid} ${member.bootID}`)
  }
})

t.test('what the controller of the release before has left', async () => {
  // It differs in the level alone: it took such a claim for a proof.
  const controller = await stage.controller()
  await reports.until('all are initialized', () =>
    MEMBERS.every((name) => condition(reports.last(name), 'Initialized')?.status === 'True'),
  )
  await controller.stop()
  const user = 'system:serviceaccount:kube-system:rollcall-controller'
  const former = await cluster.as({ user, groups: ['system:serviceaccounts'] })
  for (const name of MEMBERS) {
    const conditions = (status(name)?.conditions ?? []).map((each) =>
      each.type === 'IdentityVerified' ? { ...each, reason: 'Proven', message: 'it names this Node' } : each,
    )
    const answers = await Promise.all([
      former.request(
        'PATCH',
        `/apis/rollcall.dev/v1alpha1/nodereports/${name}/status`,
        { status: { identityLevel: 'proven', conditions } },
        merge,
      ),
      former.request(
        'PATCH',
        `/api/v1/nodes/${name}`,
        { metadata: { labels: { [LABEL_IDENTITY_LEVEL]: 'proven' } } },
        merge,
      ),
    ])
    for (const answer of answers) if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
  }
  await former.close()
  await nodes.until('the Nodes say so', () => MEMBERS.every((name) => level(nodes.last(name)) === 'proven'))
})

/** What was written of these Nodes since then. */
const since = () => ({
  nodes: new Map(MEMBERS.map((name) => [name, nodes.of(name).length])),
  reports: new Map(MEMBERS.map((name) => [name, reports.of(name).length])),
  events: events.versions.length,
})
const labels = (node: NodeObject | undefined) => node?.metadata.labels

t.test('the controller of this release', async (t) => {
  await applyCRD('this')
  const before = since()
  const had = new Map(MEMBERS.map((name) => [name, labels(nodes.last(name))]))
  await stage.controller({ identity: 'controller-1' })

  await t.test('takes nothing from anybody before the agents report again', async (t) => {
    const late = await stage.reported('joins-then')
    await nodes.until('a Node that joins is proven', () => level(nodes.last(late.name)) === 'proven')
    await watched(stage)
    for (const name of MEMBERS) {
      t.equal(nodes.of(name).length, before.nodes.get(name), `${name} is left alone`)
      t.match(status(name), { identityLevel: 'proven', provenUntil: undefined })
    }
    const told = events.versions
      .slice(before.events)
      .filter(({ object }) => MEMBERS.some((name) => name === object.involvedObject.name))
    t.ok(told.length <= MEMBERS.length, `${told.length} Events`)
  })

  await t.test('and keeps all proven when they do', async (t) => {
    await Promise.all(members.map((member) => member.reportOnce()))
    for (const member of members) {
      const { name } = member
      t.match(await claimOf(member), new RegExp(`^v2 ${member.uid} ${member.bootID} [0-9a-f]{32}$`))
      await reports.until(`${name} is proven by it`, () => {
        const { digest } = reports.last(name)?.spec.claim ?? {}
        const current = condition(reports.last(name), 'IdentityVerified')
        return digest !== undefined && status(name)?.lastClaim === digest && current?.reason === 'Proven'
      })
    }
    for (const name of MEMBERS) {
      const versions = reports.of(name).slice(before.reports.get(name))
      for (const { object } of versions) t.equal(object.status?.identityLevel, 'proven', 'at any time')
      t.equal(nodes.of(name).length, before.nodes.get(name), 'the Node is not written')
      t.same(labels(nodes.last(name)), had.get(name))
    }
    const warnings = events.versions
      .slice(before.events)
      .filter(
        ({ object }) =>
          object.type === 'Warning' && MEMBERS.some((name) => name === object.involvedObject.name),
      )
    t.same(warnings, [])
  })
})

/** Applies the CRD, and waits until the API server knows a claim's digest, or does not. */
async function applyCRD(release: 'this' | 'before'): Promise<void> {
  await applyManifest(cluster, await crd(release))
  const [{ name, uid }] = members
  const kubelet = await cluster.as(kubeletIdentity(name))
  const spec = {
    nodeUID: uid,
    agentVersion: '0.1.0',
    machine: {},
    interfaces: [],
    tools: { guestinfoReadable: true, guestinfoWritable: true },
    claim: { written: true, reason: 'Written', message: 'it stands', digest: 'a'.repeat(64) },
  }
  try {
    await until(`the CRD is that of ${release}`, async () => {
      const { body } = await kubelet.request<{ message?: string }>(
        'PATCH',
        `/apis/rollcall.dev/v1alpha1/nodereports/${name}?fieldManager=rollcall-agent&force=true&dryRun=All`,
        reportObject({ name, uid, spec }),
        { contentType: 'application/apply-patch+yaml' },
      )
      return /digest: field not declared/.test(body.message ?? '') === (release === 'before')
    })
  } finally {
    await kubelet.close()
  }
}

/** The CRD of this release, or that of the one before. */
async function crd(release: 'this' | 'before'): Promise<Manifest> {
  const [manifest] = await readManifests('crd.yaml')
  if (manifest === undefined) throw new Error('crd.yaml is empty')
  if (release === 'this') return manifest
  const { spec } = manifest as Manifest & {
    spec: { versions: { name: string; schema: { openAPIV3Schema: Schema } }[] }
  }
  // Both versions share one schema in memory: it is changed once.
  spec.versions = spec.versions.filter(({ name }) => name === 'v1alpha1')
  for (const { schema } of spec.versions) {
    const { spec, status } = schema.openAPIV3Schema.properties
    const conditions = status?.properties.conditions
    if (spec === undefined || conditions === undefined) throw new Error('the CRD has another shape')
    delete spec.properties.claim?.properties.digest
    delete status?.properties.formerVMs
    delete status?.properties.lastClaim
    conditions.maxItems -= 1
    const type = conditions.items.properties.type
    if (type !== undefined) type.enum = type.enum.filter((each) => each !== 'VMUnique')
  }
  return manifest
}

interface Schema {
  properties: Record<string, Schema>
  items: Schema
  maxItems: number
  enum: string[]
}
