import type { IdentityLevel } from '../../agent/shared/node-report.ts'
import type { Node } from '../types/node.ts'
import type { DecisionConfig } from './config.ts'
import { matches } from './label-selector.ts'

const ORDER: readonly IdentityLevel[] = ['asserted', 'reported', 'proven']

/** Whether one level is at least as strong as another. */
export function reaches(level: IdentityLevel, required: IdentityLevel): boolean {
  return ORDER.indexOf(level) >= ORDER.indexOf(required)
}

/** The level that this Node must reach; a Node that the configuration exempts may stay at the weakest. */
export function requiredLevel(
  node: Pick<Node, 'labels'>,
  { require, exempt }: DecisionConfig['identity'],
): IdentityLevel {
  return exempt !== undefined && matches(exempt, node.labels) ? 'asserted' : require
}
