import t, { type Test } from 'tap'
import { ANNOTATION_REPORTED_AT } from '../../agent/shared/node-report.ts'
import { ANNOTATION_DELETION, ANNOTATION_VM } from '../../controller/types/node.ts'
import { reportObject } from '../world/crowd.ts'
import type { NodeObject, ReportObject } from '../world/objects.ts'
import { serviceAccountToken } from '../world/service-account.ts'
import { checkRefused, runTheme } from './refused.ts'
import { deletion, lifecycle } from './rows/lifecycle.ts'
import type { AttackRow } from './rows/row.ts'
import type { AttackRequest, Sender } from './sender.ts'
import { openAttackStage, REPORTS, truth } from './stage.ts'

const stage = await openAttackStage(t, { vms: 4 })
const { cluster } = stage
const victim = await stage.victim('worker-10')
const forger = await stage.forger('worker-1')
await forger.proven()

const { kubelet, agentPod } = forger
const NODES = '/api/v1/nodes'
const nodePath = `${NODES}/${forger.name}`
const theirNode = `${NODES}/${victim.name}`
const reportPath = `${REPORTS}/${forger.name}`
const theirReport = `${REPORTS}/${victim.name}`
const own = reportObject({ name: forger.name, uid: forger.uid, spec: truth(forger) })
const theirs = reportObject({ name: victim.name, uid: victim.uid, spec: truth(victim) })

const merge = (body: object, path: string): AttackRequest => {
  return { method: 'PATCH', path, body, contentType: 'application/merge-patch+json' }
}
const annotate = (path: string, annotations: object | null) => merge({ metadata: { annotations } }, path)
const wish = (path: string, value: string | null) => annotate(path, { [ANNOTATION_DELETION]: value })
const reported = (path: string, value: string | null) => annotate(path, { [ANNOTATION_REPORTED_AT]: value })
const applied = ({ metadata, ...report }: typeof own, more: object): AttackRequest => ({
  method: 'PATCH',
  path: `${REPORTS}/${metadata.name}?fieldManager=rollcall-agent&force=true`,
  body: { ...report, metadata: { ...metadata, ...more } },
  contentType: 'application/apply-patch+yaml',
})

const read = async <T>(path: string): Promise<T> => (await cluster.request<T>('GET', path)).body

const refused =
  (senders: readonly Sender[], ...attempts: AttackRequest[]) =>
  async (t: Test, row: AttackRow) => {
    for (const { send } of senders) {
      for (const attempt of attempts) checkRefused(t, row, await send(attempt))
    }
  }
const both = [kubelet, agentPod]

/** The annotation is set on the attacker's own Node, and removed again. */
const wishes = (value: string) => async (t: Test) => {
  for (const path of [nodePath, `${nodePath}/status`]) {
    // The controller takes it away again where the VM is there.
    const body = { metadata: { annotations: { [ANNOTATION_DELETION]: value } } }
    t.match(await kubelet.send(wish(path, value)), { status: 200, body })
    t.match(await kubelet.send(wish(path, null)), { status: 200 })
  }
}

const times = ['2020-01-01T00:00:00Z', '2099-12-31T23:59:59Z']
const ready = { type: 'Ready', status: 'True', lastHeartbeatTime: '2026-11-21T09:30:00Z' }
const unready = { status: { conditions: [{ ...ready, status: 'False' }] } }
const { status: before } = await read<ReportObject>(theirReport)
const bound = { vm: { ...before?.vm, moref: 'vm-gone' } }
const braked = { brakeEngagedAt: '2026-11-21T09:30:00Z' }

const controller = await stage.sender({ token: await serviceAccountToken(cluster, 'rollcall-controller') })

/** A deletion of the victim's Node as the controller would ask for it. */
async function removal(): Promise<AttackRequest> {
  const { metadata } = await read<{ metadata: { uid: string; resourceVersion: string } }>(theirNode)
  const { uid, resourceVersion } = metadata
  return { method: 'DELETE', path: theirNode, body: { preconditions: { uid, resourceVersion } } }
}

const { status: told } = await cluster.request(
  'PATCH',
  `${theirNode}/status`,
  { status: { conditions: [ready] } },
  { contentType: 'application/merge-patch+json' },
)
if (told !== 200) throw new Error(`the victim is not ready: ${told}`)

await runTheme(
  t,
  lifecycle,
  {
    hold: wishes('hold'),
    proceed: wishes('proceed'),
    "the victim's hold": refused(
      [kubelet],
      ...[theirNode, `${theirNode}/status`].flatMap((path) => [
        wish(path, 'hold'),
        wish(path, 'proceed'),
        annotate(path, null),
      ]),
    ),
    'by its agent': refused(
      [agentPod],
      wish(theirNode, 'hold'),
      wish(theirNode, 'proceed'),
      wish(nodePath, 'hold'),
      wish(`${nodePath}/status`, 'hold'),
    ),
    'a life sign of its own': async (t) => {
      const { metadata: before } = await read<{ metadata: { generation: number } }>(reportPath)
      for (const { send } of both) {
        for (const time of times) {
          const annotations = { [ANNOTATION_REPORTED_AT]: time }
          t.match(await send(applied(own, { annotations })), { status: 200 })
          const { metadata } = await read<{ metadata: { generation: number } }>(reportPath)
          t.match(metadata, { annotations, generation: before.generation })
        }
      }
      t.match(await forger.judged(), { status: { identityLevel: 'proven' } })
    },
    "the victim's life sign": refused(
      both,
      ...times.map((time) => reported(theirReport, time)),
      ...times.map((time) => applied(theirs, { annotations: { [ANNOTATION_REPORTED_AT]: time } })),
      reported(theirReport, null),
    ),
    brake: refused(
      both,
      ...[reportPath, theirReport].flatMap((path) => [
        merge({ status: braked }, `${path}/status`),
        merge({ status: { brakeEngagedAt: null } }, `${path}/status`),
      ]),
    ),
    binding: refused(
      both,
      ...[reportPath, theirReport].map((path) => merge({ status: bound }, `${path}/status`)),
    ),
    readiness: refused(
      [kubelet],
      merge(unready, `${theirNode}/status`),
      merge({ status: { conditions: null } }, `${theirNode}/status`),
    ),
    lease: refused(
      [kubelet],
      ...(['PATCH', 'DELETE'] as const).map((method) => ({
        ...merge(
          { spec: { renewTime: '2020-01-01T00:00:00.000000Z' } },
          `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${victim.name}`,
        ),
        method,
      })),
    ),
    delete: async (t, row) => refused(both, { method: 'DELETE', path: theirNode }, await removal())(t, row),
  },
  victim,
)

await runTheme(
  t,
  deletion,
  {
    ready: async (t, row) => refused([controller], await removal())(t, row),
    'made unready': refused(
      [controller],
      merge(unready, `${theirNode}/status`),
      merge({ status: { conditions: null } }, `${theirNode}/status`),
    ),
    'what others apply': async (t, row) => {
      const { metadata } = await read<{
        metadata: { managedFields: readonly { readonly manager: string }[] }
      }>(theirNode)
      const { managedFields } = metadata
      const forged = managedFields.map((entry) => ({ ...entry, manager: 'other' }))
      // What the controller itself has written it may forget.
      const withoutOthers = managedFields.filter(({ manager }) => manager === 'rollcall-controller')
      for (const fields of [[{}], withoutOthers, forged])
        await refused([controller], merge({ metadata: { managedFields: fields } }, theirNode))(t, row)
    },
    'which VM it is': refused(
      [controller],
      annotate(theirNode, { [ANNOTATION_VM]: forger.vm.instanceUuid }),
      annotate(`${theirNode}/status`, { [ANNOTATION_VM]: forger.vm.instanceUuid }),
    ),
    'all at once': refused([controller], { method: 'DELETE', path: NODES }),
  },
  victim,
)

await t.test('all of them are there', async (t) => {
  const { items } = await read<{ items: NodeObject[] }>(NODES)
  t.same(items.map(({ metadata }) => metadata.name).sort(), ['worker-1', 'worker-10'])
})
