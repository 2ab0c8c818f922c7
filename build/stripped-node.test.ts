import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { root } from './programs.ts'
import { nodePackage, requireVersion, stripSymbols } from './stripped-node.ts'

const run = promisify(execFile)
const original = await readFile(join(root, nodePackage, 'bin/node'))

t.test('Node becomes smaller and runs as before', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'rollcall-strip-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const file = join(dir, 'node')
  const stripped = stripSymbols(original)
  await writeFile(file, stripped, { mode: 0o755 })
  t.ok(stripped.length < original.length - 15e6, `${stripped.length} bytes`)
  t.equal((await run(file, ['-p', '6 * 7'])).stdout, '42\n')
  t.ok(stripSymbols(stripped).equals(stripped), 'a second time changes nothing')
})

t.test("the binary is of its package's version", async (t) => {
  const { name, version } = JSON.parse(await readFile(join(root, nodePackage, 'package.json'), 'utf8'))
  requireVersion(original, version, name)
  for (const other of ['24.21.99', version.slice(0, -1), '2'])
    t.throws(() => requireVersion(original, other, name), {
      message: `${name}@${other} has a bin/node that is not Node.js ${other}: reinstall it with npm ci`,
    })
})

t.test('another kind of file is refused', async (t) => {
  t.throws(() => stripSymbols(Buffer.from('#!/bin/sh\necho no\n')), /not a little-endian 64-bit ELF file/)
  t.throws(() => stripSymbols(Buffer.alloc(0)), /not a little-endian 64-bit ELF file/)
})

t.test('a file in which something loaded comes behind the symbols is refused', async (t) => {
  const table = Number(original.readBigUInt64LE(40))
  const odd = Buffer.from(original)
  // The last section becomes one that is loaded.
  const last = table + (original.readUInt16LE(60) - 1) * 64
  odd.writeBigUInt64LE(2n, last + 8)
  t.throws(() => stripSymbols(odd), /does not come first/)
})
