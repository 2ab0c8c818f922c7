/** What the demo shows: drawn over on a terminal, in plain lines elsewhere. */
import { styleText } from 'node:util'

type Ink = 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan'

/** Where the demo writes to. */
export interface Screen {
  readonly style: (ink: Ink, text: string) => string
  /** Whether lines can be drawn over. */
  readonly live: boolean
  readonly columns: number
  readonly rows: number
  /** Writes lines that stay, in the place of those that were drawn. */
  print(...lines: readonly string[]): void
  /** Draws lines that the next ones take the place of; does nothing where not `live`. */
  draw(...lines: readonly string[]): void
}

const HIDE_CURSOR = '\x1b[?25l'
const SHOW_CURSOR = '\x1b[?25h'

export function createStyle(color: boolean): Screen['style'] {
  return (ink, text) => (color && text !== '' ? styleText(ink, text, { validateStream: false }) : text)
}

export function createScreen(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv): Screen {
  const live = stream.isTTY === true && env.TERM !== 'dumb'
  let drawn = 0
  return {
    style: createStyle(live && !env.NO_COLOR),
    live,
    // A terminal that does not know its size says 0.
    get columns() {
      return stream.columns || 100
    },
    get rows() {
      return stream.rows || 24
    },
    print(...lines) {
      const up = drawn > 0 ? `\x1b[${drawn}A\r\x1b[J${SHOW_CURSOR}` : ''
      stream.write(up + lines.map((line) => `${line}\n`).join(''))
      drawn = 0
    },
    draw(...lines) {
      if (!live) return
      const up = drawn > 0 ? `\x1b[${drawn}A` : HIDE_CURSOR
      stream.write(`${up}\r${lines.map((line) => `${line}\x1b[K\n`).join('')}\x1b[J`)
      drawn = lines.length
    },
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

/** Tells what happens, line by line. */
export interface Narrator {
  /** Writes a paragraph with a headline. */
  open(headline: string, text: string): void
  /** Writes what stays to be read, with the milliseconds that it took. */
  say(text: string, after?: number): void
  /** Shows what is waited for, until the next line comes. */
  wait(what: string, elapsed: number): void
  /** Runs one part of the set-up, and says in one line how long it took and what came of it. */
  step<T>(name: string, work: () => Promise<T>, describe: (result: T) => string): Promise<T>
}

const MARGIN = 10

export function createNarrator(screen: Screen): Narrator {
  const { style } = screen
  let waitingFor = ''
  return {
    open(headline, text) {
      const [first = '', ...rest] = wrap(`${headline} ${text}`.split(' '), screen.columns)
      screen.print('', style('bold', headline) + first.slice(headline.length), ...rest)
    },
    say(text, after) {
      const time = after === undefined ? '' : `+${formatDuration(after)}`
      const lines = wrap(text.split(' '), screen.columns - MARGIN)
      screen.print(...lines.map((line, i) => `${(i === 0 ? time : '').padStart(MARGIN - 2)}  ${line}`))
    },
    wait(what, elapsed) {
      const line = `${' '.repeat(MARGIN)}waiting until ${what} ...`
      if (screen.live)
        screen.draw(style('dim', `${line} ${formatDuration(elapsed)}`.slice(0, screen.columns)))
      else if (waitingFor !== what) screen.print(line)
      waitingFor = what
    },
    async step(name, work, describe) {
      const start = performance.now()
      screen.draw(style('dim', `${name.padEnd(12)}  ...`))
      const result = await work()
      const time = formatDuration(performance.now() - start).padStart(8)
      screen.print(`${name.padEnd(12)}  ${time}  ${style('dim', describe(result))}`)
      return result
    },
  }
}

/** Title and least width of each column: so wide before anything is known, so that nothing jumps. */
const COLUMNS = [
  ['name', 'NODE', 9],
  ['state', 'STATE', 11],
  ['level', 'LEVEL', 8],
  ['vm', 'VM', 14],
  ['host', 'HOST', 9],
  ['zone', 'ZONE', 6],
  ['addresses', 'ADDRESSES', 10],
  ['after', 'AFTER', 6],
  ['note', 'TYPE', 4],
] as const

const INKS = {
  waiting: 'dim',
  tainted: 'yellow',
  checking: 'cyan',
  refused: 'red',
  initialized: 'green',
} as const

/** What people see of a Node on its way; `note` is its instance type, or why it is refused. */
export interface Row extends Readonly<Record<(typeof COLUMNS)[number][0], string>> {
  /** `checking`: its agent has reported, and nothing is decided yet. */
  readonly state: keyof typeof INKS
}

/** Shows how the Nodes get on. */
export interface Board {
  /** @param elapsed milliseconds since the first Node was registered */
  show(rows: readonly Row[], elapsed: number): void
  /** Leaves the last state to be seen. A second time it does nothing. */
  end(): void
}

export function createBoard(screen: Screen): Board {
  const said = new Map<string, string>()
  let last: readonly Row[] = []
  return {
    show(rows, elapsed) {
      last = rows
      if (screen.live) {
        const footer = `${countStates(rows)}, ${formatDuration(elapsed)}`.slice(0, screen.columns)
        // Room for the table, the blank line and the footer, and the line of the cursor.
        screen.draw(...renderTable(rows, screen, screen.rows - 3), '', screen.style('dim', footer))
        return
      }
      for (const { name, state, level, after: _, note, ...rest } of rows) {
        // The report of a Node that is initialized says the rest a moment later.
        if (state === 'waiting' || (state === 'initialized' && level === '')) continue
        const details = state === 'initialized' ? [level, ...Object.values(rest), note] : [note]
        const news = [name, state, ...details].filter((text) => text !== '').join('  ')
        if (said.get(name) !== news) screen.print(`${`+${formatDuration(elapsed)}`.padStart(8)}  ${news}`)
        said.set(name, news)
      }
    },
    end() {
      // Nothing is drawn over any more, so nothing need be cut.
      const whole = { style: screen.style, columns: Number.POSITIVE_INFINITY }
      if (screen.live && last.length > 0) screen.print(...renderTable(last, whole))
      last = []
    },
  }
}

/** Counts Nodes by state: "11 initialized, 1 refused, 1 to go". */
function countStates(rows: readonly Row[]): string {
  const count = (wanted: Row['state']) => rows.filter(({ state }) => state === wanted).length
  const [initialized, refused] = [count('initialized'), count('refused')]
  const left = rows.length - initialized - refused
  return `${initialized} initialized${refused > 0 ? `, ${refused} refused` : ''}${left > 0 ? `, ${left} to go` : ''}`
}

/** Renders the Nodes as lines of equal columns, the header first; where lines are few, what is finished is left out first. */
function renderTable(
  rows: readonly Row[],
  { style, columns }: Pick<Screen, 'style' | 'columns'>,
  most = Number.POSITIVE_INFINITY,
): string[] {
  const finished = ({ state }: Row) => state === 'initialized'
  const order = [...rows.filter((row) => !finished(row)), ...rows.filter(finished).toReversed()]
  const shown = new Set(rows.length < most ? rows : order.slice(0, Math.max(1, most - 2)))
  const widths = COLUMNS.map(([key, title, least]) =>
    Math.max(least, title.length, ...rows.map((row) => row[key].length)),
  )
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd()
      .slice(0, columns)
  const body = rows
    .filter((row) => shown.has(row))
    .map((row) => {
      const text = line(COLUMNS.map(([key]) => row[key] || '·'))
      const start = (widths[0] ?? 0) + 2
      const end = start + row.state.length
      return text.slice(0, start) + style(INKS[row.state], text.slice(start, end)) + text.slice(end)
    })
  const more = rows.length - shown.size
  const head = style('dim', line(COLUMNS.map(([, title]) => title)))
  return [head, ...body, ...(more === 0 ? [] : [style('dim', `and ${more} more`)])]
}
