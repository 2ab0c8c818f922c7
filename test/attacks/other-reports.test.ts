import t, { type Test } from 'tap'
import { reportObject } from '../world/crowd.ts'
import { checkRefused, runTheme } from './refused.ts'
import { otherReports } from './rows/other-reports.ts'
import type { AttackRow } from './rows/row.ts'
import type { AttackRequest, Sender } from './sender.ts'
import { openAttackStage, REPORTS, truth } from './stage.ts'

// The one's name begins the other's, so that nothing may go by the beginning.
const stage = await openAttackStage(t, { vms: 2 })
const before = await refusals()
const victim = await stage.victim('worker-10')
const forger = await stage.forger('worker-1')
await forger.proven()

const credentials: Record<string, Sender> = { kubelet: forger.kubelet, agent: forger.agentPod }
const own = reportObject({ name: forger.name, uid: forger.uid, spec: truth(forger) })
const theirs = reportObject({ name: victim.name, uid: victim.uid, spec: truth(victim) })
/** The attacker's facts under the victim's name. */
const forged = reportObject({
  name: victim.name,
  uid: victim.uid,
  spec: truth(forger, { nodeUID: victim.uid }),
})
const path = `${REPORTS}/${victim.name}`
const ownPath = `${REPORTS}/${forger.name}`

const [owner] = own.metadata.ownerReferences

const post = (body: object): AttackRequest => ({ method: 'POST', path: REPORTS, body })
const merge = (body: object, to = path): AttackRequest => {
  return { method: 'PATCH', path: to, body, contentType: 'application/merge-patch+json' }
}
const jsonPatch = (...body: object[]): AttackRequest => {
  return { method: 'PATCH', path, body, contentType: 'application/json-patch+json' }
}
const applied = (body: object, to = path, manager = 'rollcall-agent'): AttackRequest => ({
  method: 'PATCH',
  path: `${to}?fieldManager=${manager}&force=true`,
  body,
  contentType: 'application/apply-patch+yaml',
})

/** Each with both credentials, and also as a dry run, which must not be a way around. */
const refused =
  (...attempts: AttackRequest[]) =>
  async (t: Test, row: AttackRow) => {
    for (const [who, { send }] of Object.entries(credentials)) {
      for (const attempt of attempts) {
        checkRefused(t, row, await send(attempt), who)
        if (attempt.method === 'GET') continue
        const dryRun = `${attempt.path}${attempt.path.includes('?') ? '&' : '?'}dryRun=All`
        checkRefused(t, row, await send({ ...attempt, path: dryRun }), `${who} in a dry run`)
      }
    }
  }

const promoted = {
  observedGeneration: 1,
  identityLevel: 'proven',
  topology: { zone: 'zone-b' },
  brakeEngagedAt: '2026-11-21T09:30:00Z',
}

await runTheme(
  t,
  otherReports,
  {
    create: refused(
      post(theirs),
      post(forged),
      post({ ...forged, metadata: { ...forged.metadata, name: undefined, generateName: victim.name } }),
    ),
    replace: refused({ method: 'PUT', path, body: forged }),
    patch: refused(
      merge({ spec: { hostname: 'other' } }),
      merge({}),
      merge({ metadata: { managedFields: [{}] } }),
      merge({ metadata: { finalizers: ['rollcall.dev/kept'] } }),
      jsonPatch(),
      jsonPatch({ op: 'replace', path: '/metadata/ownerReferences', value: [owner] }),
    ),
    apply: async (t, row) => {
      const { body } = await stage.cluster.request<{ metadata: { resourceVersion: string } }>('GET', path)
      const { resourceVersion } = body.metadata
      await refused(
        applied(forged),
        applied({ ...forged, spec: truth(forger) }),
        applied(forged, path, 'rollcall-controller'),
        applied({ ...forged, metadata: { ...forged.metadata, resourceVersion } }),
        applied({ ...theirs, metadata: { ...theirs.metadata, finalizers: ['rollcall.dev/kept'] } }),
      )(t, row)
    },
    delete: refused({ method: 'DELETE', path }, { method: 'DELETE', path, body: { gracePeriodSeconds: 0 } }),
    'delete all': refused({ method: 'DELETE', path: REPORTS }),
    status: refused(merge({ status: {} }, `${path}/status`), applied(forged, `${path}/status`)),
    'status of its own': refused(
      merge({ status: promoted }, `${ownPath}/status`),
      applied({ ...own, status: promoted }, `${ownPath}/status`),
    ),
    'status beside the spec': async (t) => {
      await forger.report(own.spec)
      const { status: before } = await forger.judged()
      for (const { send } of Object.values(credentials)) {
        for (const attempt of [
          applied({ ...own, status: promoted }, ownPath),
          merge({ status: promoted }, ownPath),
        ]) {
          t.match(await send(attempt), { status: 200 })
          t.same(await status(), before, 'it counts for nothing')
        }
      }
    },
    scale: refused(...['scale', 'log', 'exec', 'finalizers'].map((name) => merge({}, `${path}/${name}`))),
    rename: refused(applied(forged, ownPath), applied(own)),
    read: refused(
      { method: 'GET', path },
      { method: 'GET', path: REPORTS },
      { method: 'GET', path: `${REPORTS}?watch=true` },
    ),
    'read by a refusal': async (t, row) => {
      for (const { send } of Object.values(credentials)) {
        const answer = await send(
          jsonPatch({ op: 'copy', from: '/spec/machine/serialUUID', path: '/spec/interfaces/0/mac' }),
        )
        t.notOk(answer.message.includes(victim.vm.uuid), `the answer repeats nothing: ${answer.message}`)
        checkRefused(t, row, answer)
      }
    },
    'read by guessing': refused(
      jsonPatch({ op: 'test', path: '/spec/machine/serialUUID', value: victim.vm.uuid }),
      jsonPatch({ op: 'test', path: '/spec/machine/serialUUID', value: forger.vm.uuid }),
    ),
  },
  victim,
)

async function status(): Promise<unknown> {
  const { body } = await stage.cluster.request<{ status: unknown }>('GET', ownPath)
  return body.status
}

t.test("the API server's metrics count what the policy refuses", async (t) => {
  t.ok((await refusals()) - before >= 10)
})

/** How often the policy for reports has refused since the API server started. */
async function refusals(): Promise<number> {
  const { body } = await stage.cluster.request<string>('GET', '/metrics')
  const counts = body.matchAll(
    /^apiserver_validating_admission_policy_check_total\{.*enforcement_action="deny".*policy="own-report\.rollcall\.dev".*\} (\d+)$/gm,
  )
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
}
