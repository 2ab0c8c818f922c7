/** Where something stands in the file; both count from 1. */
export interface SourcePosition {
  readonly line: number
  readonly column: number
}

export interface Problem {
  /** The setting, as `vcenter.a.port`; empty where the whole file is meant. */
  readonly path: string
  /** Undefined where the whole file is meant. */
  readonly line: number | undefined
  readonly column: number | undefined
  /** One sentence: the shape of what stands there and the next step, never the value. */
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

/** `vsphere.conf:4:9: vcenter.a.port: ...`, the form that editors jump to. */
export function formatProblem(file: string, { path, line, column, message }: Problem): string {
  const place = line === undefined ? file : `${file}:${line}:${column}`
  return [place, ...(path === '' ? [] : [path]), message].join(': ')
}

/** What the steps of loading collect, so that one run shows everything. */
export class Findings {
  readonly problems: Problem[] = []
  readonly warnings: Problem[] = []

  refuse(path: string, at: SourcePosition | undefined, message: string): void {
    this.problems.push({ path, line: at?.line, column: at?.column, message })
  }

  warn(path: string, at: SourcePosition | undefined, message: string): void {
    this.warnings.push({ path, line: at?.line, column: at?.column, message })
  }

  /** Whether this setting was refused already, so that it is not called missing as well. */
  refused(path: string): boolean {
    return this.problems.some((problem) => problem.path === path)
  }
}
