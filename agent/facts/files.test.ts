import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { makeRoot } from '../testing/root.ts'
import { readLine, readSmallFile, scanLines } from './files.ts'

t.test('what is no regular file is refused, and not waited for', { timeout: 10_000 }, (t) => {
  const root = makeRoot(t, { folder: null })
  const fifo = join(root, 'fifo')
  execFileSync('mkfifo', [fifo])
  for (const path of [fifo, '/dev/zero', join(root, 'folder')]) {
    for (const read of [readSmallFile, readLine, (file: string) => scanLines(file, 10, () => undefined)]) {
      t.match(read(path, 10), { ok: false, reason: 'Unreadable', message: /not a regular file$/ }, path)
    }
  }
  t.end()
})

t.test('files of the kernel, which have no size, are regular', (t) => {
  t.match(readLine('/proc/sys/kernel/random/boot_id', 64), { ok: true })
  t.end()
})

t.test('lines', (t) => {
  const many = Array.from({ length: 30_000 }, (_, i) => `line ${i}`)
  const path = join(makeRoot(t, { many: many.join('\n'), long: `a\n${'x'.repeat(100_000)}` }), 'many')
  const lines: string[] = []
  const take = (line: string) => lines.push(line)
  t.match(scanLines(path, 1 << 20, take), { ok: true })
  t.same(lines, many, 'each whole, over the borders of chunks')
  t.match(scanLines(path, 1000, take), { ok: false, reason: 'TooLong' })
  t.match(scanLines(join(path, '../long'), 1 << 20, take), { ok: false, reason: 'Malformed' })
  t.match(scanLines(join(path, '../none'), 1, take), { ok: false, reason: 'NotFound' })
  t.end()
})
