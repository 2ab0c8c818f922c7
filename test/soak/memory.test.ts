import t from 'tap'
import { middle, type Sample, takeSample } from './memory.ts'

const sample = (at: number, anonymous: number, leads = true): Sample => ({
  at,
  anonymous,
  descriptors: 30,
  threads: 7,
  leads,
})

t.test('the middle of a span, of what it held while it led', (t) => {
  const samples = [sample(0, 500), sample(10, 60), sample(20, 90), sample(25, 300, false), sample(30, 70)]
  t.same(middle(samples, { from: 10, to: 31 }), { anonymous: 70, descriptors: 30, threads: 7 })
  t.equal(middle(samples, { from: 21, to: 30 }), undefined, 'there is none where it did not lead')
  t.end()
})

t.test('a process that lives, and one that does not', async (t) => {
  const own = await takeSample(process.pid, 5, true)
  t.match(own, { at: 5, leads: true })
  t.ok((own?.anonymous ?? 0) > 1 && (own?.descriptors ?? 0) > 2 && (own?.threads ?? 0) > 1)
  t.equal(await takeSample(2 ** 30, 0, true), undefined)
})
