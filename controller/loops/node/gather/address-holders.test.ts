import t from 'tap'
import { createAddressWaits } from './address-holders.ts'

function scene() {
  const woken: string[] = []
  return { woken, ...createAddressWaits((name) => woken.push(name)) }
}

t.test('whoever waits is woken when the holder gives an address up', async (t) => {
  const { woken, waits, holds } = scene()
  holds('old', ['10.0.0.1', '10.0.0.2'])
  waits('new', ['old'])
  waits('other', ['elsewhere'])
  holds('old', ['10.0.0.1', '10.0.0.2', '10.0.0.3'])
  t.same(woken, [], 'not when it takes one more')
  holds('old', ['10.0.0.1', '10.0.0.3'])
  t.same(woken, ['new'])
  holds('old', [])
  t.same(woken, ['new', 'new'], 'nor only once')
})

t.test('and when its holder was never looked at', async (t) => {
  const { woken, waits, holds } = scene()
  waits('new', ['old'])
  holds('old', [])
  t.same(woken, ['new'])
})

t.test('nobody is woken who does not wait any more', async (t) => {
  const { woken, waits, holds } = scene()
  holds('old', ['10.0.0.1'])
  waits('new', ['old'])
  waits('new', [])
  holds('old', [])
  t.same(woken, [])
})

t.test('two that want what the other has do not wake each other without end', async (t) => {
  const { woken, waits, holds } = scene()
  for (let look = 0; look < 3; look++) {
    waits('a', ['b'])
    holds('a', ['10.0.0.1'])
    waits('b', ['a'])
    holds('b', ['10.0.0.2'])
  }
  t.same(woken, ['a'], 'as long as nothing changes')
})
