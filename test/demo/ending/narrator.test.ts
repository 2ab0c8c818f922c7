import t from 'tap'
import { createStyle } from '../style.ts'
import type { Terminal } from '../terminal.ts'
import { createNarrator, wrapText } from './narrator.ts'

/** A terminal of 40 columns that keeps what it was told to show. */
function terminal(live: boolean): { terminal: Terminal; lines: string[][] } {
  const lines: string[][] = []
  const keep = (...shown: readonly string[]) => void lines.push([...shown])
  return {
    lines,
    terminal: {
      style: createStyle(false),
      live,
      columns: 40,
      rows: 24,
      print: keep,
      draw: (list) => keep(...list),
      settle: () => keep('settled'),
    },
  }
}

t.test('a plain terminal is told once what is waited for', (t) => {
  const { terminal: plain, lines } = terminal(false)
  const narrator = createNarrator(plain)
  narrator.open('A VM goes:', 'the first of them all, and nobody knows where it went')
  narrator.wait('it is seen', 10)
  narrator.wait('it is seen', 60)
  narrator.say('it is seen on a host with a long name of its own', 1_234)
  narrator.say('that is all')
  t.same(lines, [
    ['', 'A VM goes: the first of them all, and', 'nobody knows where it went'],
    ['          waiting until it is seen ...'],
    ['  +1.2 s  it is seen on a host with a', '          long name of its own'],
    ['          that is all'],
  ])
  t.end()
})

t.test('a live one sees the time go by, in a line that is drawn over', (t) => {
  const { terminal: live, lines } = terminal(true)
  const narrator = createNarrator(live)
  narrator.wait('it is seen', 10)
  narrator.wait('it is seen', 1_060)
  narrator.wait('it is seen, which takes a long, long time', 1_060)
  narrator.say('it is seen', 1_234)
  t.same(lines, [
    ['          waiting until it is seen ... 0'],
    ['          waiting until it is seen ... 1'],
    ['          waiting until it is seen, whic'],
    ['  +1.2 s  it is seen'],
    ['settled'],
  ])
  t.end()
})

t.test('lines are no longer than they may be, unless a word is', (t) => {
  t.same(wrapText('one two three', 7), ['one two', 'three'])
  t.same(wrapText('a verylongword b', 5), ['a', 'verylongword', 'b'])
  t.end()
})
