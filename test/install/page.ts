/** The commands of a page in docs/, as a reader types them. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../../build/programs.ts'

const COMMAND = /(?:kubectl|helm|sed|echo|govc|rollcall-controller) /.source

interface Page {
  readonly all: readonly string[]
  /** Those of them that were taken. */
  readonly taken: ReadonlySet<string>
  /** The commands in the code of a section, one after another. */
  section(heading: string): readonly string[]
  /** The one that begins so, in code or in a sentence. */
  command(begin: string): string
}

export async function openPage(name: string): Promise<Page> {
  const text = (await readFile(join(root, 'docs', name), 'utf8')).replaceAll(/\\\n\s+/g, '')
  const inCode = (part: string) =>
    [...part.matchAll(new RegExp(`^ {4,}(${COMMAND}.*)$`, 'gm'))].map(([, line = '']) => line)
  const inSentences = [...text.matchAll(new RegExp(`\`(${COMMAND}[^\`]+)\``, 'g'))].map(([, code = '']) =>
    code.replaceAll(/\s*\n\s*/g, ' '),
  )
  const all = [...inCode(text), ...inSentences]
  const taken = new Set<string>()
  const take = (commands: readonly string[], what: string) => {
    if (commands.length === 0) throw new Error(`docs/${name} has no command ${what}`)
    for (const command of commands) taken.add(command)
    return commands
  }
  return {
    all,
    taken,
    section(heading) {
      const [, body = ''] = new RegExp(`^#+ ${heading}\n(.*?)^## `, 'ms').exec(`${text}\n## `) ?? []
      return take(inCode(body), `under "${heading}"`)
    },
    command(begin) {
      const [found = ''] = take(
        all.filter((each) => each.startsWith(begin)).slice(0, 1),
        `that begins with ${begin}`,
      )
      return found
    },
  }
}

/** The commands of pages that were taken from none of them, neither whole nor as the beginning of another. */
export function untaken(...pages: readonly Page[]): readonly string[] {
  const taken = pages.flatMap((page) => [...page.taken])
  return pages.flatMap(({ all }) => all.filter((each) => !taken.some((command) => command.startsWith(each))))
}
