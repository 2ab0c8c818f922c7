/** What the demo shows, as an SVG picture of a terminal. */
import { stripVTControlCharacters } from 'node:util'
import { createStyle } from './style.ts'
import type { Terminal } from './terminal.ts'

const CHARACTER = { width: 7.23, height: 16 }
const MARGIN = 14
const INK: Readonly<Record<string, string>> = {
  '1': 'font-weight="bold"',
  '2': 'fill="#8d8d8d"',
  '31': 'fill="#ff8389"',
  '32': 'fill="#6fdc8c"',
  '33': 'fill="#f1c21b"',
  '36': 'fill="#82cfff"',
}
/** "Select Graphic Rendition": parameters between ESC [ and m. */
const STYLE = new RegExp(`${String.fromCharCode(27)}\\[([\\d;]*)m`)

/** A terminal that passes on what is printed, and keeps all that a person would see of it at the end. */
export interface Recorder extends Terminal {
  /** With colors, and without what kubectl says, which is wide. */
  lines(): readonly string[]
}

/** @param print gets each line, with colors */
export function createRecorder(print: (line: string) => void): Recorder {
  const kept: string[] = []
  let drawn: readonly string[] = []
  const settle = () => {
    kept.push(...drawn)
    for (const line of drawn) print(line)
    drawn = []
  }
  return {
    style: createStyle(true),
    live: true,
    columns: 120,
    rows: 60,
    print(...lines) {
      settle()
      kept.push(...lines.flatMap((line) => line.split('\n')))
      for (const line of lines) print(line)
    },
    draw(lines) {
      drawn = lines
    },
    settle,
    lines: () => withoutCommands([...kept, ...drawn]),
  }
}

/** Without the paragraphs that begin with a command. */
function withoutCommands(lines: readonly string[]): string[] {
  let command = false
  return lines.filter((line, index) => {
    if (line === '') return !command
    if (index === 0 || lines[index - 1] === '') command = stripVTControlCharacters(line).startsWith('$ ')
    return !command
  })
}

/** @param lines what a terminal shows, with colors as `styleText` writes them */
export function picture(lines: readonly string[]): string {
  const columns = Math.max(...lines.map((line) => plainLength(line)))
  const width = Math.ceil(columns * CHARACTER.width + 2 * MARGIN)
  const height = lines.length * CHARACTER.height + 2 * MARGIN
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12" fill="#f4f4f4">`,
    `<rect width="${width}" height="${height}" rx="8" fill="#161616"/>`,
    ...lines.map((line, row) => drawLine(line, MARGIN + (row + 0.75) * CHARACTER.height)),
    '</svg>',
    '',
  ].join('\n')
}

function drawLine(line: string, y: number): string {
  let column = 0
  let ink: string | undefined
  const spans: string[] = []
  for (const [index, part] of line.split(STYLE).entries()) {
    // Texts and styles by turns: that is how split() gives what a group matched.
    if (index % 2 === 1) {
      ink = INK[part]
    } else if (part !== '') {
      const x = MARGIN + column * CHARACTER.width
      const length = `textLength="${(part.length * CHARACTER.width).toFixed(1)}"`
      spans.push(
        `<tspan x="${x.toFixed(1)}" ${length}${ink === undefined ? '' : ` ${ink}`}>${escaped(part)}</tspan>`,
      )
      column += part.length
    }
  }
  return `<text y="${y.toFixed(1)}" xml:space="preserve">${spans.join('')}</text>`
}

const plainLength = (line: string) =>
  line.split(STYLE).reduce((sum, part, index) => sum + (index % 2 === 1 ? 0 : part.length), 0)

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
