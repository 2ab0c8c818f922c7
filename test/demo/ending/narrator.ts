import { formatDuration } from '../style.ts'
import type { Terminal } from '../terminal.ts'

/** Tells what happens, line by line. */
export interface Narrator {
  /** A paragraph with a headline. */
  open(headline: string, text: string): void
  /** What stays to be read; under the time that it took, milliseconds. */
  say(text: string, after?: number): void
  /** What is waited for: a line that the next one takes the place of, where lines can be drawn over. */
  wait(what: string, elapsed: number): void
}

const MARGIN = 10

export function createNarrator(terminal: Terminal): Narrator {
  const { style } = terminal
  let waitingFor = ''
  const settle = (lines: readonly string[]) => {
    if (!terminal.live) return terminal.print(...lines)
    terminal.draw(lines)
    terminal.settle()
  }
  return {
    open(headline, text) {
      const [first = '', ...rest] = wrapText(`${headline} ${text}`, terminal.columns)
      settle(['', style('bold', headline) + first.slice(headline.length), ...rest])
    },
    say(text, after) {
      const time = after === undefined ? '' : `+${formatDuration(after)}`
      const lines = wrapText(text, terminal.columns - MARGIN)
      settle(lines.map((line, i) => `${(i === 0 ? time : '').padStart(MARGIN - 2)}  ${line}`))
    },
    wait(what, elapsed) {
      const line = `${' '.repeat(MARGIN)}waiting until ${what} ...`
      if (terminal.live) {
        const timed = `${line} ${formatDuration(elapsed)}`
        terminal.draw([style('dim', timed.slice(0, terminal.columns))])
      } else if (waitingFor !== what) terminal.print(line)
      waitingFor = what
    },
  }
}

/** Breaks at spaces, so that no line is longer than this, unless a word is. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
