import { join } from 'node:path'

/** The repository. */
export const root = join(import.meta.dirname, '..')

/** Where everything that is shipped comes to lie. */
export const dist = join(root, 'dist')

/** A program that becomes one executable file: Node, our bundle, and the options that Node runs it with. */
export interface BundledProgram {
  /** The TypeScript file that it starts with. It must not use top-level await: the bundle is CommonJS. */
  readonly entry: string
  readonly execArgv: readonly string[]
}

/** By the name of their binaries. */
export const programs = {
  'rollcall-agent': {
    entry: join(root, 'agent/main.ts'),
    // The first two keep a burst of garbage from growing the heap of every node by a factor of four. The others are for
    // the hours between two reports: gc() gives memory back after each, and no compiler keeps code for so little work.
    execArgv: ['--max-semi-space-size=1', '--max-old-space-size=32', '--expose-gc', '--lite-mode'],
  },
  'rollcall-controller': {
    entry: join(root, 'controller/main.ts'),
    // Half of the memory limit in manifests/base/controller.yaml: TLS and what is in flight live outside this heap. A young
    // generation of 12 MB instead of 48 halves what a thousand new nodes cost, for no time that can be seen. gc() gives
    // back what a burst has left.
    execArgv: ['--max-semi-space-size=4', '--max-old-space-size=256', '--expose-gc'],
  },
} as const satisfies Record<string, BundledProgram>

export type ProgramName = keyof typeof programs
