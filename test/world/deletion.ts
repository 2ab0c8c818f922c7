/** What tests of deletion have in common. */
import type { Condition } from '../../agent/shared/node-report.ts'
import { until } from '../fixtures/until.ts'
import type { VcsimVM } from '../servers/control.ts'
import type { Controller, ControllerProcessOptions } from './controller.ts'
import type { Member } from './member.ts'
import { metric } from './meters.ts'
import { condition, eventsOf, isInitialized, type NodeObject } from './objects.ts'
import type { Stage } from './stage.ts'

/** Minutes in production. */
export const QUICK = {
  absentFor: '3s',
  confirmations: 3,
  leaderAge: '1s',
} as const satisfies ControllerProcessOptions['lifecycle']

export const BRAKE = 'rollcall_deletion_brake_engaged{vcenter="main"}'
export const DELETED = 'rollcall_nodes_deleted_total{vcenter="main"}'
export const MISSING = 'rollcall_vms_missing{vcenter="main"}'

/** Members whose Nodes are verified and initialized, and whose agents have ended. */
export async function verified<const Names extends readonly string[]>(
  stage: Stage,
  ...names: Names
): Promise<{ [Place in keyof Names]: Member }> {
  const members: Member[] = []
  for (const name of names) members.push(await stage.member(name))
  await Promise.all(members.map((member) => member.reportOnce()))
  await settled(stage, ...names)
  return members as { [Place in keyof Names]: Member }
}

/** Waits until these Nodes are initialized, and their reports say so. */
export async function settled({ nodes, reports }: Stage, ...names: readonly string[]): Promise<void> {
  await nodes.until('all are initialized', () => names.every((name) => isInitialized(nodes.last(name))))
  await reports.until('all reports are complete', () =>
    names.every((name) => {
      const report = reports.last(name)
      // A former Node's status may stand there still.
      return (
        report?.status?.nodeUID === nodes.last(name)?.metadata.uid &&
        condition(report, 'Initialized')?.status === 'True'
      )
    }),
  )
}

/** The condition, when it is as wanted. */
export async function deletionPending(
  { reports }: Stage,
  node: string,
  wanted: Pick<Condition, 'reason'> & Partial<Pick<Condition, 'status'>> & { message?: RegExp },
): Promise<Condition> {
  const is = () => {
    const found = condition(reports.last(node), 'DeletionPending')
    const { reason, status = found?.status, message } = wanted
    const fits = found?.reason === reason && found.status === status && (message?.test(found.message) ?? true)
    return fits ? found : undefined
  }
  try {
    await reports.until(`DeletionPending is ${wanted.reason}`, () => is() !== undefined)
  } catch (error) {
    const now = condition(reports.last(node), 'DeletionPending')
    throw new Error(`Node ${node} has DeletionPending ${JSON.stringify(now)}`, { cause: error })
  }
  const found = is()
  if (found === undefined) throw new Error(`DeletionPending of Node ${node} has changed again`)
  return found
}

/** Waits until the Node is deleted. One that stays fails with what its report says of it. */
export async function deleted({ nodes, reports }: Stage, name: string): Promise<void> {
  try {
    await nodes.until('the Node is deleted', () => nodes.last(name) === undefined)
  } catch (error) {
    const said = JSON.stringify(reports.last(name)?.status?.conditions)
    throw new Error(`Node ${name} stays, with the conditions ${said}`, { cause: error })
  }
}

/** Waits until a controller has counted that many deletions in all, which it does after the API server's answer. */
export async function deletionsCounted(controller: Pick<Controller, 'url'>, count: number): Promise<void> {
  await until(`${count} deletions are counted`, async () => {
    return (await metric(controller, DELETED)) === count
  })
}

/** Waits until vCenter pushes what becomes of the VMs of all initialized Nodes: some seconds after they are. */
export async function watched({ cluster, vcsim }: Stage): Promise<void> {
  const { body } = await cluster.request<{ items: NodeObject[] }>('GET', '/api/v1/nodes')
  const providerIDs = new Set(body.items.map(({ spec }) => spec.providerID))
  const bound = (await vcsim.vms()).filter(({ uuid }) => providerIDs.has(`vsphere://${uuid}`))
  await followed({ vcsim }, ...bound)
}

/** Waits until vCenter pushes what becomes of VMs, these among them. */
export async function followed(
  { vcsim }: Pick<Stage, 'vcsim'>,
  ...vms: readonly Pick<VcsimVM, 'ref'>[]
): Promise<void> {
  await until('vCenter follows the VMs', async () => {
    const watched = await vcsim.watchedVMs()
    return watched.vms.length > 0 && watched.polled && vms.every(({ ref }) => watched.vms.includes(ref))
  })
}

/** Waits until vCenter pushes what becomes of VMs. */
export async function pushes({ vcsim }: Pick<Stage, 'vcsim'>): Promise<void> {
  await until('vCenter pushes', async () => ((await vcsim.calls()).operations.ModifyListView ?? 0) > 0)
}

/** Resolves with each login by SOAP from `since` on: with which password, and whether it was right. */
export async function loginsOf({ vcsim }: Pick<Stage, 'vcsim'>, since: number): Promise<string[]> {
  const list = (await vcsim.logins()).slice(since)
  return list.map(({ password, accepted }) => `${password} ${accepted ? 'accepted' : 'refused'}`)
}

/** Waits until one VM was probed completely this many more times. */
export async function probed({ vcsim }: Stage, times: number): Promise<void> {
  const asked = async () => (await vcsim.calls()).operations.HasPrivilegeOnEntities ?? 0
  const before = await asked()
  await until(`vCenter was asked ${times} times`, async () => (await asked()) - before >= times)
}

/** The Events of one reason on a Node. */
export function eventsOfReason({ events }: Stage, node: string, reason: string) {
  return eventsOf(events, node).filter((event) => event.reason === reason)
}

/** Sets or takes away, by null, what a person wants of a Node's deletion. */
export function wish({ patch }: Stage, node: string, value: string | null): Promise<void> {
  return patch(node, { metadata: { annotations: { 'rollcall.dev/deletion': value } } })
}

/** Waits until these are kept by the brake and by nothing else: all that time brings is there. */
export async function heldByBrake(stage: Stage, ...names: readonly string[]): Promise<void> {
  const message = /is gone, and the Node is kept for now: the deletion brake is engaged: [^;]+; [^;]+$/
  const wanted = { status: 'True', reason: 'BrakeEngaged', message } as const
  await Promise.all(names.map((name) => deletionPending(stage, name, wanted)))
}
