/** What the demo writes: lines, in color on a terminal. */
import { styleText } from 'node:util'

type Ink = 'bold' | 'dim' | 'green' | 'yellow' | 'red'

/** Where the demo writes to. */
export interface DemoScreen {
  readonly style: (ink: Ink, text: string) => string
  readonly columns: number
  print(...lines: readonly string[]): void
}

export function createStyle(color: boolean): DemoScreen['style'] {
  return (ink, text) => (color && text !== '' ? styleText(ink, text, { validateStream: false }) : text)
}

export function createScreen(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv): DemoScreen {
  return {
    style: createStyle(stream.isTTY === true && env.TERM !== 'dumb' && !env.NO_COLOR),
    // A terminal that does not know its size says 0.
    columns: stream.columns || 100,
    print: (...lines) => void stream.write(lines.map((line) => `${line}\n`).join('')),
  }
}

/** Formats a time as "0.42 s" or "3 min 05 s". */
export function formatDuration(ms: number): string {
  if (ms < 9_950) return `${(ms / 1000).toFixed(ms < 995 ? 2 : 1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`
}

/** Joins items to lines that are no longer than this, unless an item is. */
export function wrap(items: readonly string[], width: number, separator = ' '): string[] {
  const lines: string[] = []
  for (const item of items) {
    const longer = `${lines.at(-1)}${separator}${item}`
    if (lines.length > 0 && longer.length <= width) lines[lines.length - 1] = longer
    else lines.push(item)
  }
  return lines
}

/** Those of which no line tells are not in it: nothing is decided yet, before and after its agent has reported. */
const INKS = { tainted: 'yellow', refused: 'red', initialized: 'green' } as const

/** What people see of a Node on its way. */
export interface NodeProgress {
  readonly name: string
  readonly state: keyof typeof INKS | 'waiting' | 'checking'
  readonly level: string
  /** What it got, or why it is refused. */
  readonly details: readonly string[]
}

const MARGIN = 10

export type Narrator = ReturnType<typeof createNarrator>

/** Creates what tells what happens, line by line. */
export function createNarrator({ style, columns, print }: DemoScreen, signal: AbortSignal) {
  const said = new Map<string, string>()
  let waitingFor = ''
  const time = (ms: number) => `+${formatDuration(ms)}`.padStart(MARGIN - 2)
  return {
    /** Writes a paragraph with a headline. */
    open(headline: string, text: string) {
      const [first = '', ...rest] = wrap(`${headline} ${text}`.split(' '), columns)
      print('', style('bold', headline) + first.slice(headline.length), ...rest)
    },
    /** Writes what came, with the milliseconds that it took. */
    say(text: string, after?: number) {
      const [first, ...rest] = wrap(text.split(' '), columns - MARGIN)
      const blank = ' '.repeat(MARGIN)
      print(
        `${after === undefined ? blank : `${time(after)}  `}${first}`,
        ...rest.map((line) => blank + line),
      )
    },
    /** Says what is waited for, once. */
    wait(what: string) {
      if (waitingFor !== what) print(style('dim', `${' '.repeat(MARGIN)}waiting until ${what} ...`))
      waitingFor = what
    },
    /** Runs one part of the set-up unless the signal is aborted; says in one line how long it took, and what came of it. */
    async step<T>(name: string, work: () => Promise<T>, describe: (result: T) => string): Promise<T> {
      signal.throwIfAborted()
      const start = performance.now()
      const result = await work()
      const took = formatDuration(performance.now() - start).padStart(8)
      print(`${name.padEnd(12)}  ${took}  ${style('dim', describe(result))}`)
      return result
    },
    /** Says what has become of a Node, where that is new. */
    node({ name, state, level, details }: NodeProgress, elapsed: number) {
      // What takes a moment is no news: the report of a Node that is initialized says the rest just then.
      if (state === 'waiting' || state === 'checking' || (state === 'initialized' && level === '')) return
      const news = [style(INKS[state], state), level, ...details].filter((text) => text !== '').join('  ')
      if (said.get(name) !== news) print(`${time(elapsed)}  ${name}  ${news}`)
      said.set(name, news)
    },
  }
}
