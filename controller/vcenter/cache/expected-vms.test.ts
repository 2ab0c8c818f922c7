import t from 'tap'
import { ExpectedVMs } from './expected-vms.ts'

t.test('a VM is awaited until a read that began after it was expected has ended', async (t) => {
  const expected = new ExpectedVMs()
  t.same(expected.take(), [])
  t.ok(expected.awaits('v'))
  t.equal(expected.settle(), false, 'the read began before')
  t.ok(expected.areWanted())
  t.same(expected.take(), ['v'])
  t.ok(expected.awaits('v'), 'it is being read')
  t.notOk(expected.areWanted())
  t.equal(expected.settle(), true)
  t.notOk(expected.awaits('v'), 'whether or not it was there')
  t.same(expected.take(), ['v'], 'it is read with the others from then on')
  t.equal(expected.settle(), false, 'which nobody waits for')
  expected.forget()
  t.same(expected.take(), [])
})
