import { parseChoice } from './choice.ts'
import type { TopologyConfig } from './config.ts'
import type { Findings } from './findings.ts'
import type { Section } from './sections.ts'
import { take } from './take.ts'

export const TOPOLOGY_DEFAULTS: TopologyConfig = { onChange: 'report' }

/** What becomes of labels when a VM moves. What is wrong with it is in the findings, and counts as not written. */
export function checkTopology(section: Section, findings: Findings): TopologyConfig {
  const onChange = take(
    section.get('onChange'),
    (text) => parseChoice(text, ['report', 'relabel', 'ignore']),
    findings,
  )
  return { onChange: onChange ?? TOPOLOGY_DEFAULTS.onChange }
}
