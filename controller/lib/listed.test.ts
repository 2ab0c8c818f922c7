import t from 'tap'
import { listed } from './listed.ts'

t.test('the first five names, made safe for a terminal', async (t) => {
  t.equal(listed([]), '')
  t.equal(listed(['a', 'b\u001b']), 'a, b\u{fffd}')
  t.equal(listed(['a', 'b', 'c', 'd', 'e']), 'a, b, c, d, e')
  t.equal(listed(['a', 'b', 'c', 'd', 'e', 'f', 'g']), 'a, b, c, d, e and 2 more')
})
