import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from './programs.ts'

/** The license texts that must go along with a binary: those of its packages, and Node's own. */
export async function notices(packages: readonly string[]): Promise<string> {
  const parts = await Promise.all(packages.map(notice))
  return parts.join(`\n${'-'.repeat(80)}\n\n`)
}

async function notice(folder: string): Promise<string> {
  const path = join(root, folder)
  const { name, version, license } = JSON.parse(await readFile(join(path, 'package.json'), 'utf8'))
  const files = (await readdir(path)).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file)).sort()
  const texts = await Promise.all(files.map((file) => readFile(join(path, file), 'utf8')))
  return [`${name} ${version} (${license})\n`, ...texts].join('\n')
}
