/** The CPI's own reader against ours, on files made up by a seed. */
import t from 'tap'
import { createRandom } from '../simulation/random.ts'
import { compare } from './compare.ts'
import { generateFile, generateINIText } from './generate.ts'

const SEED = 20_261_122
const FILES = 400

for (const form of ['yaml', 'json', 'ini'] as const) {
  await t.test(`${form}: both take the same files, with the same values`, async (t) => {
    const texts = Array.from({ length: FILES }, (_, i) => generateFile(form, createRandom(SEED + i)))
    const compared = await compare(texts.map((text) => ({ text })))
    const counts = { same: 0, refused: 0 }
    for (const [index, { outcome, cpi, rollcall }] of compared.entries()) {
      if (outcome === 'same') counts.same++
      else if (outcome === 'both refuse') counts.refused++
      else
        t.strictSame(
          { outcome, rollcall },
          { outcome: 'same', cpi },
          `seed ${SEED + index}:\n${texts[index]}`,
        )
    }
    t.ok(counts.same > FILES / 4 && counts.refused > FILES / 20, JSON.stringify(counts))
  })
}

await t.test('ini: what is between the equals sign and the end of the line', async (t) => {
  const texts = Array.from({ length: 4 * FILES }, (_, i) => {
    const text = generateINIText(createRandom(SEED + i))
    return `[Global]\nuser = u\npassword = p${text}\n[VirtualCenter "vc.example.com"]\n`
  })
  const compared = await compare(texts.map((text) => ({ text })))
  const counts = { same: 0, refused: 0 }
  for (const [index, { outcome, cpi, rollcall }] of compared.entries()) {
    // A line's end inside makes another key of what follows, which the CPI passes over: a listed difference.
    const unknown = typeof rollcall === 'string' && /^global\.\S+: unknown key: [^\n]*$/.test(rollcall)
    if (outcome === 'same') counts.same++
    else if (outcome === 'both refuse') counts.refused++
    else if (!unknown)
      t.strictSame({ outcome, rollcall }, { outcome: 'same', cpi }, JSON.stringify(texts[index]))
  }
  t.ok(counts.same > FILES / 4 && counts.refused > FILES / 4, JSON.stringify(counts))
})
