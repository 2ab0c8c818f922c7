import type { Inquiry } from '../decision.ts'
import type { NodeFacts } from '../facts.ts'
import { type Evidence, isAbout, lifeSignOf, type Question } from './evidence.ts'
import type { Subject } from './subject.ts'

/** What was found out about these very machines of this very Node. */
export function evidenceOn(
  { machines: [vm, ...others] }: Subject,
  { node, evidence }: NodeFacts,
): Evidence | undefined {
  return evidence !== undefined && isAbout(evidence.question, { nodeUID: node.uid, vm, others })
    ? evidence
    : undefined
}

/** What is to be found out about them. */
export function inquiryOf(
  { machines: [vm, ...others] }: Subject,
  { node, report, settings }: NodeFacts,
  how: Pick<Inquiry, 'ask' | 'absence'>,
): Inquiry {
  const question: Question = {
    nodeUID: node.uid,
    vm,
    others,
    lifeSign: lifeSignOf(node, report),
    volumes: how.absence !== undefined && settings.lifecycle.waitForVolumes !== undefined,
  }
  return { question, ...how }
}
