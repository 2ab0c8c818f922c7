import { type ConditionValue, no } from './condition-value.ts'
import type { NodeFacts } from './node-facts.ts'

/** Why this controller writes no labels, addresses and provider IDs; undefined where it does. */
export function leftToAnother({
  interlock,
  settings,
}: Pick<NodeFacts, 'interlock' | 'settings'>): ConditionValue | undefined {
  if (interlock.state === 'held') return no('CPIRuns', interlock.message)
  if (settings.initialization.on) return undefined
  return no(
    'InitializationOff',
    'Rollcall was started with --controllers=-cloud-node, so another provider must initialise this Node; remove that argument if there is none',
  )
}
