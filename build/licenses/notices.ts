/** The license texts that must go along with a binary. */
import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../programs.ts'

const RULE = `\n${'-'.repeat(80)}\n\n`

/**
 * The texts of npm's packages, by their folders. Where an archive has none, this folder has it under the package's name.
 *
 * @throws Error that names a package whose license text is nowhere
 */
export async function notices(packages: readonly string[]): Promise<string> {
  const parts = packages.map(async (folder) => {
    const path = join(root, folder)
    const { name, version, license } = JSON.parse(await readFile(join(path, 'package.json'), 'utf8'))
    return notice(name, `${name} ${version} (${license})`, path)
  })
  return (await Promise.all(parts)).join(RULE)
}

/** The texts of Go and of the modules that a command in `dir` is built of. */
export async function goNotices(dir: string): Promise<string> {
  const go = async (...args: string[]) => (await promisify(execFile)('go', args, { cwd: dir })).stdout.trim()
  const listed = await go(
    'list',
    '-deps',
    '-f',
    '{{with .Module}}{{.Path}} {{.Version}} {{.Dir}}{{end}}',
    '.',
  )
  const modules = [...new Set(listed.split('\n'))].map((line) => line.split(' '))
  const parts = modules.flatMap(([path = '', version = '', folder = '']) =>
    folder === dir || path === '' ? [] : [notice(path, `${path} ${version}`, folder)],
  )
  const [version = '', goRoot = ''] = (await go('env', 'GOVERSION', 'GOROOT')).split('\n')
  return (await Promise.all([notice('go', `Go ${version}`, goRoot), ...parts])).join(RULE)
}

async function notice(name: string, title: string, folder: string): Promise<string> {
  const ours = `${name.replaceAll('/', '+')}.txt`
  const textsIn = async (path: string, isWanted: (file: string) => boolean) => {
    const files = (await readdir(path)).filter(isWanted).sort()
    return Promise.all(files.map((file) => readFile(join(path, file), 'utf8')))
  }
  const own = await textsIn(folder, (file) => /^(licen[cs]e|notice|copying)/i.test(file))
  const texts = own.length > 0 ? own : await textsIn(import.meta.dirname, (file) => file === ours)
  if (texts.length === 0)
    throw new Error(`${name} comes without its license text: add it as build/licenses/${ours}`)
  return [`${title}\n`, ...texts].join('\n')
}
