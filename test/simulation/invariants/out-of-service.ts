import { TAINT_OUT_OF_SERVICE, TAINT_SHUTDOWN } from '../../../controller/types/well-known.ts'
import type { Machine } from '../model/machine.ts'
import { isDeparting, readyOf, type StoredNode } from '../model/objects.ts'
import { machinesOf, type World } from '../world.ts'
import { hasLeft } from './addresses.ts'
import { hasCopy, isLeftBehind } from './binding.ts'
import { isLeaderWell } from './leader.ts'

/** A machine that was started more lately than this, milliseconds, may have been off when vCenter was asked. */
const LATELY = 100_000

/** The taint that lets volumes be taken by force comes from the holder of the Lease alone, to machines that are off or gone. */
export function judgeTaints(
  world: World,
  by: string,
  before: StoredNode,
  after: StoredNode | undefined,
): void {
  judgeShutdown(world, by, before, after)
  const { judge, api, timeline, settings } = world
  const has = (node: StoredNode): boolean => node.spec.taints.some(({ key }) => key === TAINT_OUT_OF_SERVICE)
  if (after === undefined || has(before) || !has(after)) return
  const { name, uid } = before.metadata
  const says = (promise: string, what: string): void =>
    judge.violate(promise, `${by} calls ${name} out of service: ${what}`)
  for (const told of judge.onOutOfService) told(name)
  if (api.holder.identity !== by)
    says('only the holder of the Lease calls a Node out of service', api.holder.identity)
  if (readyOf(before) === 'True') says('no Node is out of service that is Ready', 'it is')
  if (judge.taken.has(uid)) return
  for (const { vm, vanishedAt, power, powerSince } of machinesOf(world, uid)) {
    const time = timeline.now - powerSince
    if (vm === undefined && timeline.now - vanishedAt >= settings.lifecycle.absentFor) continue
    if (vm !== undefined && timeline.now - vm.registeredAt < LATELY) continue
    if (power === 'poweredOff' && time >= (settings.lifecycle.outOfServiceAfter ?? Number.POSITIVE_INFINITY))
      continue
    if (power !== 'poweredOff' && time < LATELY) continue
    says('only a machine that is off is out of service', `${power} for ${time} ms`)
  }
}

/** Longer than it takes to take the taint away, while the API server and the leader are well; milliseconds. */
const BACK = 45_000

/** A Node that is Ready again is soon back in service, whatever its vCenter does. */
export function createServiceJudge(): { look(world: World): void } {
  /** Since when each Node is Ready and out of service, by its UID and the leader. */
  const since = new Map<string, number>()
  return {
    look(world) {
      const { api, timeline, judge } = world
      const out = new Set(isLeaderWell(world) ? outOfServiceThoughReady(world) : [])
      for (const key of since.keys()) if (!out.has(key)) since.delete(key)
      for (const key of out) {
        const from = since.get(key) ?? timeline.now
        since.set(key, from)
        if (timeline.now - from > BACK)
          judge.violate(
            'no Node is out of service that is Ready',
            `${key} is (${api.holder.identity} leads), and nobody takes it back`,
          )
      }
    },
  }
}

/** Those with a report alone: without one a Node is not followed. */
function outOfServiceThoughReady({ api }: World): readonly string[] {
  return [...api.nodes.values()].flatMap((node) => {
    const { name, uid } = node.metadata
    const tainted = node.spec.taints.some(
      ({ key, value }) => key === TAINT_OUT_OF_SERVICE && value === 'rollcall',
    )
    const followed = api.reports.get(name)?.status.nodeUID === uid
    return tainted && followed && readyOf(node) === 'True' && !isDeparting(node)
      ? [`${name} ${uid} ${api.holder.identity}`]
      : []
  })
}

/** A machine that runs is not called shut down. */
function judgeShutdown(world: World, by: string, before: StoredNode, after: StoredNode | undefined): void {
  const { judge, timeline } = world
  const has = (node: StoredNode): boolean => node.spec.taints.some(({ key }) => key === TAINT_SHUTDOWN)
  if (after === undefined || has(before) || !has(after)) return
  const { name, uid } = before.metadata
  // The taint follows the VM that the Node is bound to.
  if (judge.taken.has(uid) || isLeftBehind(world, name)) return
  for (const machine of machinesOf(world, uid)) {
    const { power, powerSince } = machine
    if (isTakenForLeft(world, by, before, machine)) continue
    if (power === 'poweredOn' && timeline.now - powerSince > LATELY)
      judge.violate('a machine that runs is not shut down', `${by} taints ${name}`)
  }
}

/**
 * Whether nobody knows any more which VM a silent Node was verified to be, since its report was deleted, and nothing is shown
 * under its UUID but the VM that its machine has left, or a copy.
 */
function isTakenForLeft(world: World, by: string, { metadata }: StoredNode, { vm }: Machine): boolean {
  const { nodeUID, vm: bound } = world.api.reports.get(metadata.name)?.status ?? {}
  const isVerified = nodeUID === metadata.uid && bound !== undefined
  const isShown = vm !== undefined && world.judge.knowsToRun(by, vm)
  return !isVerified && !isShown && (hasLeft(world, metadata.uid) || hasCopy(world, metadata.uid))
}
