/** What the demo shows, as an SVG picture of a terminal. */
import { stripVTControlCharacters } from 'node:util'
import { createStyle, type DemoScreen } from './screen.ts'

const CHARACTER = { width: 7.23, height: 16 }
const MARGIN = 14
const INK: Readonly<Record<string, string>> = {
  '1': 'font-weight="bold"',
  '2': 'fill="#8d8d8d"',
  '31': 'fill="#ff8389"',
  '32': 'fill="#6fdc8c"',
  '33': 'fill="#f1c21b"',
}
/** "Select Graphic Rendition": parameters between ESC [ and m. */
const STYLE = new RegExp(`${String.fromCharCode(27)}\\[([\\d;]*)m`)

/** Makes a screen that passes on what is printed, and keeps it but for the paragraphs that begin with a command. */
export function createRecorder(print: (line: string) => void): DemoScreen & { lines(): readonly string[] } {
  const kept: string[] = []
  return {
    style: createStyle(true),
    columns: 120,
    print(...lines) {
      kept.push(...lines.flatMap((line) => line.split('\n')))
      for (const line of lines) print(line)
    },
    lines() {
      let command = false
      return kept.filter((line, index) => {
        if (line === '') return !command
        if (index === 0 || kept[index - 1] === '') command = stripVTControlCharacters(line).startsWith('$ ')
        return !command
      })
    },
  }
}

/** @param lines what a terminal shows, with colors as `styleText` writes them */
export function picture(lines: readonly string[]): string {
  const columns = Math.max(...lines.map((line) => stripVTControlCharacters(line).length))
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
    if (index % 2 === 1) ink = INK[part]
    else if (part !== '') {
      const x = (MARGIN + column * CHARACTER.width).toFixed(1)
      const length = (part.length * CHARACTER.width).toFixed(1)
      const text = part.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
      spans.push(
        `<tspan x="${x}" textLength="${length}"${ink === undefined ? '' : ` ${ink}`}>${text}</tspan>`,
      )
      column += part.length
    }
  }
  return `<text y="${y.toFixed(1)}" xml:space="preserve">${spans.join('')}</text>`
}
