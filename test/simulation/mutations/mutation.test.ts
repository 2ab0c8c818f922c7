import { readFile } from 'node:fs/promises'
import t from 'tap'
import { MUTATIONS } from './all.ts'
import { mutate } from './mutation.ts'

t.test('every mutation still fits the code', async (t) => {
  for (const { name, edits } of MUTATIONS) {
    t.ok(edits.length > 0, name)
    for (const edit of edits) {
      const source = await readFile(new URL(`../../../${edit.file}`, import.meta.url), 'utf8')
      t.not(mutate(source, edit), source, name)
    }
  }
})
