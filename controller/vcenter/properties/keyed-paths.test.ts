import t from 'tap'
import { entriesOf, entryIn, spread, withoutKeys } from './keyed-paths.ts'

const PATHS = ['name', 'config.extraConfig["a.b"]', 'config.extraConfig["c"]', 'config.hardware.device[4000]']

t.test('lists in place of their entries', (t) => {
  t.same(withoutKeys(PATHS), ['name', 'config.extraConfig', 'config.hardware.device'])
  t.same(
    [...entriesOf('config.extraConfig', PATHS)],
    [
      ['config.extraConfig["a.b"]', 'a.b'],
      ['config.extraConfig["c"]', 'c'],
    ],
  )
  t.same([...entriesOf('config.hardware.device', PATHS)], [['config.hardware.device[4000]', '4000']])
  t.same([...entriesOf('name', PATHS)], [])
  t.end()
})

t.test('entries from their lists', (t) => {
  const element = (name: string, text: string, ...children: ReturnType<typeof leaf>[]) => ({
    ...leaf(name, text),
    children,
  })
  const leaf = (name: string, text: string) => ({
    name,
    type: undefined,
    kind: undefined,
    text,
    children: [],
  })
  const option = (key: string, value: string) =>
    element('OptionValue', '', leaf('key', key), leaf('value', value))
  const list = { ...leaf('val', ''), children: [option('x', '1'), option('a.b', '2')] }
  t.match(entryIn(list, 'a.b')?.children[1], { text: '2' })
  t.equal(entryIn(list, 'c'), undefined)
  t.equal(entryIn(undefined, 'c'), undefined)
  const all = spread(new Map([['config.extraConfig', list]]), PATHS, entryIn)
  t.same([...all.keys()], ['config.extraConfig', 'config.extraConfig["a.b"]'])
  const missing = spread(new Map([['config.extraConfig', 'denied']]), PATHS, (why) => why)
  t.equal(missing.get('config.extraConfig["c"]'), 'denied')
  t.end()
})
