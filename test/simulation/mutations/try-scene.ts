import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Mutation } from './mutation.ts'
import { NOTICED_IN } from './scenes.ts'

/** A fixed scene, by its file in `scenes/`, without the ending, and the name of its test. */
export interface NamedScene {
  readonly file: string
  readonly name: string
}

/** Whether a fixed scene that is to notice a mutation fails on code with it. */
export async function isNoticedInScene(mutation: Mutation): Promise<boolean> {
  for (const [file, scenes] of Object.entries(NOTICED_IN))
    for (const [name, mutations] of Object.entries(scenes))
      if (mutations.includes(mutation.name) && (await failsIn(mutation, { file, name }))) return true
  return false
}

const PRELOAD = new URL('preload.ts', import.meta.url).href

/** Plays one scene on code with a mutation, in a process of its own; resolves with whether it fails. */
export async function failsIn({ edits }: Mutation, { file, name }: NamedScene): Promise<boolean> {
  const said = await play(file, {
    ROLLCALL_EDITS: JSON.stringify(edits),
    TAP_GREP: `^${name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`,
  })
  const [point] = said.split('\n').flatMap((line) => TEST_POINT.exec(line)?.[0] ?? [])
  // Code that cannot be loaded so fails no scene.
  if (point === undefined) throw new Error(`no scene of ${file} was played: ${said}`)
  return point.startsWith('not ')
}

/** Of a test that was not left out. */
const TEST_POINT = /^(not )?ok \d+ - (?!.*# SKIP)/

/** What a test file says, whether it passes or not. */
function play(file: string, env: Readonly<Record<string, string>>): Promise<string> {
  const path = fileURLToPath(new URL(`../scenes/${file}.test.ts`, import.meta.url))
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['--import', PRELOAD, path],
      { env: { ...process.env, TAP_TIMEOUT: '900', ...env }, maxBuffer: Number.POSITIVE_INFINITY },
      (_, stdout, stderr) => resolve(`${stdout}${stderr}`),
    )
  })
}
