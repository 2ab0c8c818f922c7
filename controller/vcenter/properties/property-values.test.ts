import { gzipSync } from 'node:zlib'
import t from 'tap'
import { entriesOf, entryIn, readStaticAddresses, spread, withoutKeys } from './property-values.ts'

const METADATA = `
network:
  version: 2
  ethernets:
    id0:
      addresses: [10.0.0.5/24, "fd00::5/64"]
`
const NETWORK = 'ethernets: {id0: {addresses: [10.0.0.5/24, "fd00::5/64"]}}'
const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64')

t.test('as cloud-init reads them', async (t) => {
  const found = ['10.0.0.5/24', 'fd00::5/64']
  t.same(readStaticAddresses(METADATA, undefined), found)
  t.same(readStaticAddresses(base64(METADATA), 'base64'), found)
  t.same(readStaticAddresses(base64(gzipSync(METADATA)), 'gzip+base64'), found)
  const json = JSON.stringify({ network: base64(NETWORK), 'network.encoding': 'base64' })
  t.same(readStaticAddresses(base64(json), 'base64'), found)
  const zipped = JSON.stringify({ network: base64(gzipSync(NETWORK)), 'network.encoding': 'gz+b64' })
  t.same(readStaticAddresses(zipped, undefined), found)
})

t.test('none where there are none, or nobody can tell', async (t) => {
  t.same(readStaticAddresses(undefined, 'base64'), [])
  for (const text of ['', '- a', '\t{', '['.repeat(20_000), 'network: 7', 'network: {ethernets: x}', 'x: *a'])
    t.same(readStaticAddresses(text, undefined), [], text.slice(0, 20))
  t.same(readStaticAddresses('a:b', 'base64'), [])
  t.same(readStaticAddresses(METADATA, 'rot13'), [])
  const many = Array.from({ length: 200 }, (_, i) => `10.0.1.${i}`)
  t.equal(readStaticAddresses(`network: {ethernets: {a: {addresses: [${many.join()}]}}}`, '').length, 64)
})

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
