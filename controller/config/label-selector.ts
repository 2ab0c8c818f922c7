/**
 * Label selectors as `kubectl -l` takes them: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a`, `!a`, `a>1`,
 * `a<1`, with commas for "and". Grammar and meaning are those of k8s.io/apimachinery/pkg/labels 0.36. Pure.
 */
import { failed, ok, type Result } from '../../agent/shared/result.ts'
import { isLabelValue } from '../types/labels.ts'

type Operator = 'in' | 'notIn' | 'exists' | 'doesNotExist' | 'greaterThan' | 'lessThan'

export interface Requirement {
  readonly key: string
  readonly operator: Operator
  /** None for `exists` and `doesNotExist`, one for the comparisons. The empty text is a value as well. */
  readonly values: readonly string[]
}

export interface LabelSelector {
  /** As it was written, for people. */
  readonly text: string
  /** At least one; all of them must hold. */
  readonly requirements: readonly Requirement[]
}

/** Whether the selector matches these labels. A missing label satisfies `!=`, `notin` and `!`. */
export function matches({ requirements }: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  // A label may be called "constructor".
  return requirements.every((one) => holds(one, Object.hasOwn(labels, one.key) ? labels[one.key] : undefined))
}

function holds({ operator, values }: Requirement, value: string | undefined): boolean {
  switch (operator) {
    case 'in':
      return value !== undefined && values.includes(value)
    case 'notIn':
      return value === undefined || !values.includes(value)
    case 'exists':
      return value !== undefined
    case 'doesNotExist':
      return value === undefined
    case 'greaterThan':
    case 'lessThan':
      return compares(operator, integer(value), integer(values[0]))
  }
}

function compares(operator: 'greaterThan' | 'lessThan', value?: bigint, limit?: bigint): boolean {
  if (value === undefined || limit === undefined) return false
  return operator === 'greaterThan' ? value > limit : value < limit
}

/** A label's value has no sign, and Kubernetes compares in 64 bits. */
function integer(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^[0-9]+$/.test(text)) return undefined
  const value = BigInt(text)
  return value < 2n ** 63n ? value : undefined
}

/**
 * Parses a selector. Refuses whatever kubectl refuses, and the empty selector, which would match everything.
 *
 * @returns the selector, or a sentence with the position, counted in characters from 1; the input is not repeated
 */
export function parseLabelSelector(text: string): Result<LabelSelector> {
  const tokens = new Tokens(text)
  if (tokens.next === undefined) return wrong(tokens, 'a label (an empty selector would pick every Node)')
  const requirements: Requirement[] = []
  do {
    const requirement = parseRequirement(tokens)
    if (!requirement.ok) return requirement
    requirements.push(requirement.value)
  } while (tokens.skip(','))
  if (tokens.next !== undefined) return wrong(tokens, 'a comma or the end')
  return ok({ text: text.trim(), requirements })
}

const EXACT: ReadonlyMap<string, Operator> = new Map([
  ['=', 'in'],
  ['==', 'in'],
  ['!=', 'notIn'],
  ['>', 'greaterThan'],
  ['<', 'lessThan'],
])
const SETS: ReadonlyMap<string, Operator> = new Map([
  ['in', 'in'],
  ['notin', 'notIn'],
])

function parseRequirement(tokens: Tokens): Result<Requirement> {
  const absent = tokens.skip('!')
  if (!isLabelKey(tokens.word ?? '')) return wrong(tokens, "a label's key, as example.com/name")
  const key = tokens.take()
  const plain = (operator: Operator, values: readonly string[] = []): Result<Requirement> => ({
    ok: true,
    value: { key, operator, values },
  })
  if (absent) return plain('doesNotExist')
  if (tokens.next === undefined || tokens.next === ',') return plain('exists')
  const exact = EXACT.get(tokens.next)
  const set = SETS.get(tokens.next)
  if (exact === undefined && set === undefined)
    return wrong(tokens, 'one of = == != in notin > <, a comma or the end')
  tokens.take()
  if (set !== undefined) {
    const values = parseValues(tokens)
    return values.ok ? plain(set, values.value) : values
  }
  const compared = exact === 'greaterThan' || exact === 'lessThan'
  if (compared && integer(tokens.word) === undefined) return wrong(tokens, 'a whole number')
  if (!isLabelValue(tokens.word ?? '')) return wrong(tokens, VALUE)
  return plain(exact ?? 'in', [tokens.word === undefined ? '' : tokens.take()])
}

const VALUE = "a label's value: letters, digits, - _ . between them, at most 63"

/** Values in parentheses; nothing before or after a comma means the empty value. */
function parseValues(tokens: Tokens): Result<readonly string[]> {
  if (!tokens.skip('(')) return wrong(tokens, '(')
  const values: string[] = []
  do {
    if (!isLabelValue(tokens.word ?? '')) return wrong(tokens, VALUE)
    values.push(tokens.word === undefined ? '' : tokens.take())
  } while (tokens.skip(','))
  return tokens.skip(')') ? ok(values) : wrong(tokens, 'a comma or )')
}

function wrong(tokens: Tokens, expected: string): Result<never> {
  const message = `expected a label selector as "kubectl -l" takes it: at character ${tokens.place} of it, ${expected} is expected`
  return failed(message)
}

/** Walks a selector by its words and signs. */
class Tokens {
  readonly #tokens: readonly { readonly text: string; readonly at: number }[]
  readonly #end: number
  #position = 0

  constructor(text: string) {
    const found = text.matchAll(/==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+/g)
    this.#tokens = [...found].map((match) => ({ text: match[0], at: match.index + 1 }))
    this.#end = text.length + 1
  }

  get next(): string | undefined {
    return this.#tokens[this.#position]?.text
  }

  /** The next token unless it is a sign; `in` and `notin` are words where a key or value may be. */
  get word(): string | undefined {
    return this.next === undefined || /^[=!(),<>]/.test(this.next) ? undefined : this.next
  }

  get place(): number {
    return this.#tokens[this.#position]?.at ?? this.#end
  }

  take(): string {
    const { next = '' } = this
    this.#position += 1
    return next
  }

  skip(sign: string): boolean {
    const found = this.next === sign
    if (found) this.#position += 1
    return found
  }
}

/** What the names of labels and all their values are made of. */
const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/
/** A DNS name in lower case (RFC 1123). */
const PREFIX = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

export function isLabelKey(text: string): boolean {
  const parts = text.split('/')
  const name = parts.pop() ?? ''
  const [prefix, ...more] = parts
  if (more.length > 0 || !NAME.test(name)) return false
  return prefix === undefined || (prefix.length <= 253 && PREFIX.test(prefix))
}
