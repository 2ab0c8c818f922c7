/** Machines that run and speak though no vCenter lists them. */
import { readyOf, type StoredNode } from '../model/objects.ts'
import { wallTime } from '../model/process.ts'
import { machinesOf, type World } from '../world.ts'
import type { Work } from './promises.ts'

/** A kubelet that lives has spoken within this many milliseconds, or its Node is not Ready. */
const SPEAKS = 45_000

/** Whether a machine has spoken lately, since no vCenter lists it; where only its agent does, for long enough. */
export function livesOn(world: World, node: StoredNode, vanishedAt: number): boolean {
  const { timeline, settings } = world
  const long = 2 * settings.lifecycle.absentFor
  const signs = machinesOf(world, node.metadata.uid).flatMap(({ renewals, reports }) => [
    ...renewals.slice(0, 1),
    ...reports.slice(0, 1),
  ])
  const last = Math.max(vanishedAt, ...signs)
  return (
    last > vanishedAt &&
    timeline.now - last < long &&
    (readyOf(node) !== 'Unknown' || timeline.now - vanishedAt > long - SPEAKS)
  )
}

/**
 * Whether a machine's agent has been silent for half an hour by default, so that its kubelet alone speaks for it. A
 * controller that counts later is right, too.
 */
export function agentIsSilent(world: World, node: StoredNode): boolean {
  const { timeline, settings } = world
  const last = machinesOf(world, node.metadata.uid).flatMap(({ reports }) => reports.slice(0, 1))
  return last.length > 0 && timeline.now - Math.max(...last) >= 6 * settings.lifecycle.absentFor - SPEAKS
}

/** Whether a controller must know that a machine lives: it was Ready, and proven absent, by two answers between which it spoke. */
export function isKnownToLive(node: StoredNode, heard: Work['heard'], from: number, until: number): boolean {
  const [ready] = node.status.conditions
  const answers = (heard ?? []).filter(({ at }) => at > from && at < until)
  const first = answers.at(-1)
  const spoke = answers.some(({ heartbeat }, index) => {
    const before = answers[index + 1]?.heartbeat
    return heartbeat !== undefined && before !== undefined && heartbeat !== before
  })
  return (
    first !== undefined &&
    spoke &&
    ready?.status === 'True' &&
    ready.lastTransitionTime < wallTime(first.at) &&
    answers.every(({ whole }) => whole)
  )
}
