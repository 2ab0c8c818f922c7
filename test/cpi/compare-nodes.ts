import { isDeepStrictEqual } from 'node:util'
import { LABEL_IDENTITY_LEVEL } from '../../controller/types/well-known.ts'
import { isInitialized, type NodeObject } from '../world/objects.ts'
import type { NodeRow } from './differences/row.ts'
import { explain } from './differences.ts'
import type { Scenario, ScenarioCase } from './scenario.ts'

/** What the two providers made of one Node. */
export interface ComparedNode {
  readonly scenario: Scenario
  readonly case: ScenarioCase
  readonly differences: readonly NodeDifference[]
  /** What Rollcall wrote against the rules of the docs, whatever the CPI did. */
  readonly broken: readonly string[]
  /** After a change: the Node as each provider had it, with what was changed on it; the case has the change in it. */
  readonly before?: NodeOfEach
}

export interface NodeOfEach {
  /** Undefined where the CPI has deleted it. */
  readonly cpi: NodeObject | undefined
  readonly rollcall: NodeObject
}

/** In one part of a Node. Where one of them did not initialize it, that alone is the difference. */
export interface NodeDifference {
  readonly part:
    | 'exists'
    | 'initialized'
    | 'providerID'
    | 'addresses'
    | 'taints'
    | `label ${string}`
    | `annotation ${string}`
  readonly cpi: unknown
  readonly rollcall: unknown
}

/** In whatever a provider writes to a Node, but for the label that only Rollcall has. */
export function differencesOf(
  cpi: NodeObject | undefined,
  rollcall: NodeObject | undefined,
): NodeDifference[] {
  const parts: NodeDifference[] = [
    { part: 'exists', cpi: cpi !== undefined, rollcall: rollcall !== undefined },
  ]
  if (cpi !== undefined && rollcall !== undefined)
    parts.push({ part: 'initialized', cpi: isInitialized(cpi), rollcall: isInitialized(rollcall) })
  if (cpi !== undefined && rollcall !== undefined && isInitialized(cpi) === isInitialized(rollcall)) {
    parts.push(
      { part: 'providerID', cpi: cpi.spec.providerID, rollcall: rollcall.spec.providerID },
      { part: 'addresses', cpi: cpi.status.addresses, rollcall: rollcall.status.addresses },
      { part: 'taints', cpi: cpi.spec.taints ?? [], rollcall: rollcall.spec.taints ?? [] },
      ...byKey('label', cpi.metadata.labels, rollcall.metadata.labels).filter(
        ({ part }) => part !== `label ${LABEL_IDENTITY_LEVEL}`,
      ),
      ...byKey('annotation', cpi.metadata.annotations, rollcall.metadata.annotations),
    )
  }
  return parts.filter((each) => !isDeepStrictEqual(each.cpi, each.rollcall))
}

function byKey(
  kind: 'label' | 'annotation',
  cpi: Readonly<Record<string, string>> = {},
  rollcall: Readonly<Record<string, string>> = {},
): NodeDifference[] {
  const keys = [...new Set([...Object.keys(cpi), ...Object.keys(rollcall)])].sort()
  return keys.map((key) => ({ part: `${kind} ${key}`, cpi: cpi[key], rollcall: rollcall[key] }))
}

export interface Judged {
  readonly agreed: number
  readonly explained: number
  /** A line for each difference that no row explains. */
  readonly unexplained: readonly string[]
  readonly shown: ReadonlySet<NodeRow>
}

/** Counts Nodes by whether the two providers made the same of them, and if not, whether it is known why. */
export function judge(all: readonly ComparedNode[]): Judged {
  const shown = new Set<NodeRow>()
  const unexplained: string[] = []
  let agreed = 0
  let explained = 0
  for (const compared of all) {
    const { differences } = compared
    const without = differences.filter((difference) => {
      const row = explain(difference, compared)
      if (row !== undefined) shown.add(row)
      return row === undefined
    })
    const fine = without.length === 0 && compared.broken.length === 0
    if (fine && differences.length === 0) agreed++
    else if (fine) explained++
    unexplained.push(...without.map((difference) => describe(difference, compared)))
    unexplained.push(
      ...compared.broken.map((rule) => `${compared.scenario.name}: ${compared.case.name}: ${rule}`),
    )
  }
  return { agreed, explained, unexplained, shown }
}

function describe({ part, cpi, rollcall }: NodeDifference, { scenario, case: one }: ComparedNode): string {
  const said = `${part}: the CPI ${JSON.stringify(cpi)}, Rollcall ${JSON.stringify(rollcall)}`
  const { name, ...rest } = one
  return `${scenario.name}: ${name} ${JSON.stringify(rest)}: ${said}`
}
