/** Machines that run and speak though no vCenter lists them. */
import { type NodeObject, readyOf } from '../model/objects.ts'
import { wallTime } from '../model/process.ts'
import { machinesOf, type World } from '../world.ts'
import type { Work } from './promises.ts'

/** A kubelet that lives has spoken within this many milliseconds, or its Node is not Ready. */
const SPEAKS = 45_000

/** Whether a machine has spoken lately, since no vCenter lists it; where only its agent does, for long enough. */
export function livesOn(world: World, node: NodeObject, vanishedAt: number): boolean {
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

/** Whether a controller must know that a machine lives: it was Ready, and proven absent, at two moments between which it spoke. */
export function isKnownToLive(node: NodeObject, heard: Work['heard'], from: number, until: number): boolean {
  const [ready] = node.status.conditions
  const answers = (heard ?? []).filter(({ at }) => at > from && at < until)
  const [last, first] = [answers[0], answers.at(-1)]
  if (last === undefined || first === undefined || last.at - first.at < SPEAKS) return false
  return (
    ready?.status === 'True' &&
    ready.lastTransitionTime < wallTime(first.at) &&
    answers.every(({ whole }) => whole)
  )
}
