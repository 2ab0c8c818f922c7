import type { IdentityLevel } from '../../../agent/contract.ts'
import type { Node } from '../../facts/node.ts'
import { matches } from '../../label-selector.ts'
import type { Settings } from '../facts.ts'

const ORDER: readonly IdentityLevel[] = ['asserted', 'reported', 'proven']

/** Whether one level is at least as strong as another. */
export function reaches(level: IdentityLevel, required: IdentityLevel): boolean {
  return ORDER.indexOf(level) >= ORDER.indexOf(required)
}

/** The level that this Node must reach; one that the configuration exempts may stay at the weakest. */
export function requiredLevel(
  node: Pick<Node, 'labels'>,
  { require, exempt }: Settings['identity'],
): IdentityLevel {
  return exempt !== undefined && matches(exempt, node.labels) ? 'asserted' : require
}
