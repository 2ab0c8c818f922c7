import t from 'tap'
import { follow } from './follow.ts'

const { signal } = new AbortController()
const same = (a: string, b: string) => a === b

t.test('follow: says what has changed, and complains once of what cannot be seen', async (t) => {
  let there: string | Error = 'a'
  const told: string[] = []
  const look = follow('a', {
    look: () => {
      if (there instanceof Error) throw there
      return there
    },
    same,
    onChange(found) {
      told.push(found)
      return found
    },
    onFailing: (cause) => told.push(`not seen: ${cause}`),
  })
  for (there of ['a', 'b', new Error('gone'), new Error('gone'), 'b', new Error('gone'), 'a'])
    await look(signal)
  t.same(told, ['b', 'not seen: gone', 'not seen: gone', 'a'])
  there = new Error('end')
  await look(AbortSignal.abort())
  t.equal(told.length, 4, 'not of a look that was told to end')
})

t.test('follow: half of a change does not count, and what it counts as may be something else', async (t) => {
  let there = 'a'
  const told: string[] = []
  const look = follow('a', {
    look: () => there,
    same,
    settles: true,
    onChange(found) {
      told.push(found)
      return found === 'c' ? 'd' : found
    },
  })
  for (there of ['b', 'c', 'c', 'd', 'd', 'e', 'd', 'e', 'e']) await look(signal)
  t.same(told, ['c', 'e'])
})

t.test('follow: ends with the failure where nobody is told of it', async (t) => {
  const look = follow('a', {
    look: () => Promise.reject(new Error('gone')),
    same,
    onChange: (found) => found,
  })
  await t.rejects(look(signal), { message: 'gone' })
})
