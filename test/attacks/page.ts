/** Writes docs/attacks.md from the rows that the suite runs. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runAsProgram } from '../../build/entry.ts'
import { rest, themes } from './rows/all.ts'
import { type AttackRow, NOTHING, type Refuser, type Theme } from './rows/row.ts'

export const PAGE = join(import.meta.dirname, '../../docs/attacks.md')

const END = '## What is not refused'

/** The page with its sections up to what is not refused as they should be. */
export function withAttacks(page: string): string {
  const sections = Object.entries(themes).map(([name, theme]) => section(theme, rest[name]))
  return `${page.slice(0, page.indexOf('\n## ') + 1)}${sections.join('\n')}\n${page.slice(page.indexOf(END))}`
}

/** The attacks of a theme by what the attacker has and how they end, and what the page says below them. */
function section({ title, rows }: Theme, rest?: string): string {
  const attacks = sharing(counted(Object.values(rows).map(attackOf)))
  const lines = [...Map.groupBy(attacks, ({ credential }) => credential)].flatMap(([credential, its]) => {
    const ends = [...Map.groupBy(its, ({ end }) => end)].map(
      ([end, alike]) => `${alike.map(({ tried }) => tried).join('; ')}: ${end}`,
    )
    return ends.length === 1
      ? [`- *${credential}*: ${ends.join('')}`]
      : [`- *${credential}*`, ...ends.map((end) => `  - ${end}`)]
  })
  return [`## ${title}`, '', ...lines, '', ...(rest === undefined ? [] : [rest, ''])].join('\n')
}

interface Attack {
  readonly credential: string
  readonly tried: string
  readonly end: string
}

/** The words of the docs where they are not those of the rows. */
const REFUSED_BY: Partial<Record<Refuser, string>> = { 'nobody needs to': 'no effect' }

/** What happens to the victim without the attack too: the page says so once, above the sections. */
const UNHARMED: ReadonlySet<string> = new Set([
  NOTHING,
  'becomes proven',
  'becomes proven at once',
  'stays proven',
  'keeps what was verified',
  'keeps its own VM',
  'is its own VM',
  'its Node is kept',
])

/** The reason of the controller's, by which an operator finds it in docs/reasons.md; of all others only who refuses. */
function attackOf({ credential, tried, refusedBy, seen, victim, open, triedBy }: AttackRow): Attack {
  const proof = triedBy === undefined ? '' : ` ([test](../${triedBy.file}))`
  const hurt = UNHARMED.has(victim) ? '' : ` (${victim})`
  const bySight = seen.includes(' ') ? seen : `\`${seen}\``
  const by = refusedBy === 'controller' ? bySight : (REFUSED_BY[refusedBy] ?? refusedBy)
  return {
    credential,
    tried,
    end: open === undefined ? `**${by}**${hurt}${proof}` : `**not refused yet**: ${open}`,
  }
}

const SAME = 'the same'

/**
 * Counts variations behind the attack that they vary.
 *
 * @throws Error where one ends in another way: of what it is a variation, the page would not say
 */
function counted(attacks: readonly Attack[]): readonly Attack[] {
  const found: (Attack & { readonly variations: number })[] = []
  for (const attack of attacks) {
    const last = found.at(-1)
    if (!attack.tried.startsWith(SAME)) found.push({ ...attack, variations: 0 })
    else if (last?.end === attack.end) found[found.length - 1] = { ...last, variations: last.variations + 1 }
    else throw new Error(`"${attack.tried}" does not end as the attack before it`)
  }
  return found.map(({ variations, ...attack }) =>
    variations === 0 ? attack : { ...attack, tried: `${attack.tried} (+${variations})` },
  )
}

/** One for all credentials by which the same is tried, and ends alike. */
function sharing(attacks: readonly Attack[]): readonly Attack[] {
  const alike = Map.groupBy(attacks, ({ tried, end }) => `${tried}: ${end}`)
  return [...alike.values()].flatMap(([first, ...others]) =>
    first === undefined
      ? []
      : { ...first, credential: [first, ...others].map(({ credential }) => credential).join('; ') },
  )
}

async function main(): Promise<void> {
  await writeFile(PAGE, withAttacks(await readFile(PAGE, 'utf8')))
}

if (import.meta.main) runAsProgram(main)
