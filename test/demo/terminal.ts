import { createStyle, type Style } from './style.ts'

/** Where the demo writes to. */
export interface Terminal {
  readonly style: Style
  /** Whether lines can be drawn over. */
  readonly live: boolean
  readonly columns: number
  readonly rows: number
  /** Writes whole lines. */
  print(...lines: readonly string[]): void
  /** Draws lines over those of the last call. Only where `live`. */
  draw(lines: readonly string[]): void
  /** Leaves what was drawn where it is; the next lines come below. */
  settle(): void
}

/** A terminal that can move its cursor, or a file or pipe that gets plain lines. */
export function createTerminal(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv): Terminal {
  const live = stream.isTTY === true && env.TERM !== 'dumb'
  let drawn = 0
  const settle = () => {
    if (drawn > 0) stream.write(SHOW_CURSOR)
    drawn = 0
  }
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
      settle()
      stream.write(lines.map((line) => `${line}\n`).join(''))
    },
    draw(lines) {
      const up = drawn > 0 ? `\x1b[${drawn}A` : HIDE_CURSOR
      stream.write(`${up}\r${lines.map((line) => `${line}\x1b[K\n`).join('')}\x1b[J`)
      drawn = lines.length
    },
    settle,
  }
}

const HIDE_CURSOR = '\x1b[?25l'
const SHOW_CURSOR = '\x1b[?25h'
