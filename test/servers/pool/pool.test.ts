import t from 'tap'
import { createPool } from './pool.ts'

/** Something that users leave things in. */
interface Room {
  readonly number: number
  readonly inside: string[]
  locked: boolean
}

function scene() {
  const ended: number[] = []
  const discarded: string[] = []
  let made = 0
  const pool = createPool<Room>({
    async make() {
      made += 1
      return { number: made, inside: [], locked: false }
    },
    async clean(room) {
      if (room.locked) throw new Error('it is locked')
      const stays = room.inside.filter((thing) => thing === 'a stain')
      room.inside.splice(0, room.inside.length, ...stays)
    },
    inspect: async ({ inside }) => inside,
    async end({ number }) {
      ended.push(number)
    },
    onDiscard: (why) => void discarded.push(why),
  })
  return { pool, ended, discarded }
}

t.test('one that is given back is lent again, clean', async (t) => {
  const { pool, discarded } = scene()
  const first = await pool.take()
  first.inside.push('a hat')
  pool.giveBack(first)
  const again = await pool.take()
  t.equal(again, first)
  t.strictSame(again.inside, [])
  t.strictSame(discarded, [])
})

t.test('each has one user at a time', async (t) => {
  const { pool } = scene()
  const [one, other] = await Promise.all([pool.take(), pool.take()])
  t.not(one, other)
  pool.giveBack(one)
  const [next, more] = await Promise.all([pool.take(), pool.take()])
  t.equal(next, one)
  t.not(more, one)
  t.not(more, other)
})

for (const [what, spoil, why] of [
  ['what cannot be cleaned away', (room: Room) => room.inside.push('a stain'), /^a stain$/],
  ['one whose cleaning fails', (room: Room) => (room.locked = true), /it is locked/],
] as const)
  t.test(`${what} is never handed on`, async (t) => {
    const { pool, ended, discarded } = scene()
    const first = await pool.take()
    spoil(first)
    pool.giveBack(first)
    t.equal((await pool.take()).number, 2)
    t.match(discarded, [why])
    t.strictSame(ended, [1])
  })

t.test('nor one whose user is gone without a word', async (t) => {
  const { pool, ended, discarded } = scene()
  pool.discard(await pool.take(), 'gone')
  t.equal((await pool.take()).number, 2)
  t.strictSame([discarded, ended], [['gone'], [1]])
})

t.test('all end with the pool, and none is lent after', async (t) => {
  const { pool, ended } = scene()
  const [back, lent] = await Promise.all([pool.take(), pool.take()])
  pool.giveBack(back)
  await pool[Symbol.asyncDispose]()
  t.strictSame(ended.sort(), [1, 2])
  pool.giveBack(lent)
  t.strictSame(ended, [1, 2], 'none is ended twice')
  await t.rejects(pool.take(), { message: 'the pool is closed' })
  t.strictSame(ended, [1, 2, 3])
})
