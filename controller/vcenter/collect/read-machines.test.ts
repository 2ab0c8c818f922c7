import t from 'tap'
import { SoapFault } from '../wire/errors.ts'
import { child, childrenOf, readXML, textOf, type XMLElement } from '../wire/xml.ts'
import type { PropertyReader } from './properties.ts'
import { readMachines } from './read-machines.ts'

const { signal } = new AbortController()

async function element(text: string): Promise<XMLElement> {
  return await readXML(
    (async function* () {
      yield new TextEncoder().encode(text)
    })(),
    'objects',
  )
}

const CARD = (mac: string) =>
  `<VirtualDevice><key>1</key><macAddress>00:50:56:00:00:0${mac}</macAddress></VirtualDevice>`

interface Given {
  /** Its cards by key. */
  readonly cards: Readonly<Record<number, string>>
  readonly count?: number
  readonly unreadable?: boolean
}

/** A vCenter with these VMs; `keyed` says how it takes paths with keys. */
async function setUp(vms: Record<string, Given>, keyed: 'known' | 'refused' | 'ignored' = 'known') {
  const reads: { paths: string[]; vms: string[] }[] = []
  const answers = new Map<string, XMLElement>()
  const propertiesOf = ({ cards, count, unreadable }: Given) => {
    if (unreadable === true) return { 'summary.config.numEthernetCards': `<val>${count}</val>` }
    const each = Object.entries(cards).map(([key, mac]) => [
      `config.hardware.device[${key}]`,
      CARD(mac).replaceAll('VirtualDevice', 'val'),
    ])
    return {
      'config.uuid': '<val>u</val>',
      'config.hardware.numCPU': '<val>2</val>',
      'summary.config.numEthernetCards': `<val>${count ?? Object.keys(cards).length}</val>`,
      'config.hardware.device': `<val>${Object.values(cards).map(CARD).join('')}</val>`,
      ...Object.fromEntries(each),
    }
  }
  const reader: PropertyReader = {
    async read([spec = ''], take) {
      const paths = [...spec.matchAll(/<pathSet>([^<]+)</g)].map(([, path = '']) => path)
      const asked = [...spec.matchAll(/<obj type="VirtualMachine">([^<]+)</g)].map(([, vm = '']) => vm)
      reads.push({ paths, vms: asked })
      if (keyed === 'refused' && paths.some((path) => path.endsWith(']') && path.includes('device'))) {
        throw new SoapFault('InvalidProperty', '')
      }
      for (const vm of asked) {
        const given = vms[vm]
        if (given === undefined) continue
        const known = Object.entries(propertiesOf(given)).filter(
          ([path]) => paths.includes(path) && !(keyed === 'ignored' && path.includes('[')),
        )
        const properties = known.map(([path, value]) => `<propSet><name>${path}</name>${value}</propSet>`)
        const text = `<objects><obj type="VirtualMachine">${vm}</obj>${properties.join('')}</objects>`
        const record = answers.get(text) ?? (await element(text))
        answers.set(text, record)
        const values = childrenOf(record, 'propSet').flatMap((each) => {
          const value = child(each, 'val')
          return value === undefined ? [] : [[textOf(each, 'name') ?? '', value] as const]
        })
        const reference = { type: 'VirtualMachine', value: vm }
        take({ reference, properties: new Map(values), missing: new Map(), excess: undefined })
      }
    },
  }
  const read = async (...some: string[]) => await readMachines(reader, some, () => undefined, signal)
  return { read, reads }
}

const macs = ({ machines }: Awaited<ReturnType<typeof readMachines>>, vm: string) =>
  machines.get(vm)?.nics.map(({ mac }) => mac.at(-1))

t.test('network cards are read without the other devices', async (t) => {
  const { read, reads } = await setUp({ 'vm-1': { cards: { 4000: '1', 4009: '2' } }, 'vm-2': { cards: {} } })
  const result = await read('vm-1', 'vm-2')
  t.same(macs(result, 'vm-1'), ['1', '2'])
  t.same(macs(result, 'vm-2'), [])
  t.equal(reads.length, 1)
  t.notOk(reads[0]?.paths.includes('config.hardware.device'))
})

t.test('all devices are read of a VM whose cards are not all where they are looked for', async (t) => {
  const { read, reads } = await setUp({
    'vm-1': { cards: { 4000: '1' } },
    'vm-2': { cards: { 4000: '2', 7000: '3' } },
  })
  const result = await read('vm-1', 'vm-2')
  t.same(macs(result, 'vm-1'), ['1'])
  t.same(macs(result, 'vm-2'), ['2', '3'])
  t.same(
    reads.map(({ vms }) => vms),
    [['vm-1', 'vm-2'], ['vm-2']],
  )
  t.ok(reads[1]?.paths.includes('config.hardware.device'))
})

t.test('cards that vCenter counts otherwise do not keep a VM from being read', async (t) => {
  const { read } = await setUp({ 'vm-1': { cards: { 4000: '1' }, count: 2 } })
  t.same(macs(await read('vm-1'), 'vm-1'), ['1'])
})

t.test('a vCenter that does not know paths with keys', async (t) => {
  for (const keyed of ['refused', 'ignored'] as const) {
    const { read, reads } = await setUp({ 'vm-1': { cards: { 4000: '1' } } }, keyed)
    t.same(macs(await read('vm-1'), 'vm-1'), ['1'], keyed)
    t.equal(reads.length, 2)
  }
})

t.test('an inaccessible VM has a number of cards and no cards', async (t) => {
  const { read, reads } = await setUp({ 'vm-1': { cards: {}, count: 1, unreadable: true } })
  t.match((await read('vm-1')).machines.get('vm-1'), { biosUUID: undefined, nics: [] })
  t.equal(reads.length, 1)
})
