import { printable } from '../../agent/shared/printable.ts'
import { spelling } from './settings/row.ts'

/** A place in the file; both count from 1. */
export interface SourcePosition {
  readonly line: number
  readonly column: number
}

/** Where a setting comes from. */
export type Place = SourcePosition | 'environment' | 'command line'

export interface Problem {
  /** The setting, as `vcenter.a.port`, or the environment variable or flag; empty where the whole file is meant. */
  readonly path: string
  readonly outside?: Extract<Place, string>
  /** Undefined where the whole file is meant. */
  readonly line: number | undefined
  readonly column: number | undefined
  /** One sentence: the shape of the value and the next step, never the value itself. */
  readonly message: string
}

/** The configuration cannot be used. All that is wrong with it, not the first thing alone. */
export class ConfigError extends Error {
  readonly file: string
  readonly problems: readonly Problem[]

  constructor(file: string, problems: readonly Problem[], options?: ErrorOptions) {
    super(problems.map((problem) => formatProblem(file, problem)).join('\n'), options)
    this.name = 'ConfigError'
    this.file = file
    this.problems = problems
  }
}

/** Longest path in a message: one may have the name of a vCenter in it. */
const MAX_PATH = 200

/** `vsphere.conf:4:9: vcenter.a.port: ...`, the form that editors jump to; `environment: VSPHERE_PORT: ...`. */
export function formatProblem(file: string, problem: Problem): string {
  const { path, outside, line, column, message } = problem
  const place = outside ?? (line === undefined ? file : `${file}:${line}:${column}`)
  return [place, ...(path === '' ? [] : [printable(path, MAX_PATH)]), message].join(': ')
}

/** What the steps of loading collect, so that one run shows everything. */
export class Findings {
  readonly problems: Problem[] = []
  readonly warnings: Problem[] = []
  /** The paths of settings that were probably meant by a misspelled key. */
  readonly #misspelled = new Set<string>()

  refuse(path: string, at: Place | undefined, message: string): void {
    this.problems.push(problemOf(path, at, message))
  }

  /** A finding under `global` comes up for each vCenter, and is reported once. */
  warn(path: string, at: Place | undefined, message: string): void {
    const told = this.warnings.some((warning) => warning.path === path && warning.message === message)
    if (!told) this.warnings.push(problemOf(path, at, message))
  }

  /** Warns of white space at either end of a text, and of what nobody sees in it. */
  warnOfSpaces(path: string, at: Place | undefined, text: string): void {
    const [edge, inside] = [edgeOf(text), invisibleIn(text)]
    const odd = edge === undefined ? inside && `contains ${inside}` : `begins or ends with ${edge}`
    if (odd !== undefined)
      this.warn(path, at, `${odd}, which is a part of it: remove it unless you want that`)
  }

  /** Whether anything was refused. */
  get wrong(): boolean {
    return this.problems.length > 0
  }

  /** Adds to each problem the invisible character in its line, if there is one. */
  nameInvisible(text: string): void {
    const lines = text.split('\n')
    for (const [index, problem] of this.problems.entries()) {
      const found = invisibleIn(lines[(problem.line ?? 0) - 1] ?? '')
      if (found === undefined) continue
      const message = `${problem.message}; this line has ${found}: type a space there, or nothing`
      this.problems[index] = { ...problem, message }
    }
  }

  /** Refuses an unknown key that is probably a misspelling of the one at the path `meant`. */
  refuseMisspelled(path: string, at: Place | undefined, message: string, meant: string): void {
    this.refuse(path, at, message)
    this.#misspelled.add(meant)
  }

  /** Whether this setting of a section was refused already, in the file or where the environment or an argument gives it. */
  refusedSetting(section: string, name: string): boolean {
    const outside = this.problems.filter((problem) => problem.outside !== undefined)
    return (
      this.refused(`${section}.${name}`) ||
      outside.some(({ path }) => spelling(path).endsWith(spelling(name)))
    )
  }

  /** Whether this path was refused already, under its name or a misspelled one, so that it is not called missing as well. */
  refused(path: string): boolean {
    return this.#misspelled.has(path) || this.problems.some((problem) => problem.path === path)
  }
}

function problemOf(path: string, at: Place | undefined, message: string): Problem {
  if (typeof at === 'string') return { path, outside: at, line: undefined, column: undefined, message }
  return { path, line: at?.line, column: at?.column, message }
}

/** What looks like a space or like nothing to a person, and is neither to YAML nor to INI. */
const INVISIBLE = /[\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff]/u

const SPACES: ReadonlyMap<string, string> = new Map([
  [' ', 'a space'],
  ['\t', 'a tab'],
  ['\n', 'a newline'],
  ['\r', 'a carriage return'],
])

/** What white space or invisible character a text ends or begins with, in words; undefined where there is none. */
export function edgeOf(text: string): string | undefined {
  for (const character of [text.slice(-1), text.slice(0, 1)]) {
    const edge = SPACES.get(character) ?? invisibleIn(character)
    if (edge !== undefined) return edge
  }
  return undefined
}

/** The first character of a text that nobody sees, in words; undefined where there is none. */
function invisibleIn(text: string): string | undefined {
  const code = INVISIBLE.exec(text)?.[0].codePointAt(0)
  if (code === undefined) return undefined
  const name = code === 0xa0 ? 'a no-break space' : 'an invisible character'
  return `${name} (U+${code.toString(16).toUpperCase().padStart(4, '0')})`
}
