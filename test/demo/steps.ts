import { formatDuration } from './style.ts'
import type { Terminal } from './terminal.ts'

const WIDTH = 12

/** Runs one part of the set-up and says in one line how long it took and what came of it. */
export async function step<T>(
  terminal: Terminal,
  name: string,
  work: () => Promise<T>,
  describe: (result: T) => string,
): Promise<T> {
  const { style } = terminal
  const start = performance.now()
  if (terminal.live) terminal.draw([style('dim', `${name.padEnd(WIDTH)}  ...`)])
  const result = await work()
  const line = stepLine(terminal, name, performance.now() - start, describe(result))
  if (terminal.live) {
    terminal.draw([line])
    terminal.settle()
  } else terminal.print(line)
  return result
}

/** As {@link step} for work that writes lines of its own. */
export async function talkingStep<T>(
  terminal: Terminal,
  name: string,
  work: () => Promise<T>,
  describe: (result: T) => string,
): Promise<T> {
  const start = performance.now()
  const result = await work()
  terminal.print(stepLine(terminal, name, performance.now() - start, describe(result)))
  return result
}

function stepLine({ style }: Terminal, name: string, ms: number, detail: string): string {
  return `${name.padEnd(WIDTH)}  ${formatDuration(ms).padStart(8)}  ${style('dim', detail)}`
}
