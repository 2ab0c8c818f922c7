import t from 'tap'
import { SoapFault } from '../wire/errors.ts'
import { child, childrenOf, readXML, textOf, type XMLElement } from '../wire/xml.ts'
import { createSuspects, readMachines } from './read-machines.ts'
import type { PropertyReader } from './retrieve-properties.ts'

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
  return { read, reads, reader }
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

const VM = (value: string) => ({ type: 'VirtualMachine', value })
const ROOT = { type: 'Folder', value: 'group-d1' }
const TWENTY = Array.from({ length: 20 }, (_, i) => `vm-${i + 1}`)
const KEYS = TWENTY.map((vm) => `VirtualMachine:${vm}`)

/** A vCenter that refuses each read of one of these VMs by a fault. */
async function setUpRefusing(
  refused: readonly string[],
  fault: (vm: string) => SoapFault,
  all: readonly string[] = TWENTY,
) {
  const { reader, reads } = await setUp(Object.fromEntries(all.map((vm) => [vm, { cards: { 4000: '1' } }])))
  const refusing: PropertyReader = {
    async read(specs, take, signal) {
      const culprit = refused.find((vm) => specs.some((spec) => spec.includes(`>${vm}<`)))
      if (culprit === undefined) return await reader.read(specs, take, signal)
      reads.push({ paths: [], vms: [] })
      throw fault(culprit)
    },
  }
  return { result: await readMachines(refusing, all, () => undefined, signal), reads }
}

t.test('a folder of refused VMs: the others are read, and each refused one is named', async (t) => {
  const refused = TWENTY.slice(5, 17)
  for (const named of [VM, () => ROOT]) {
    const fault = (vm: string) => new SoapFault('NoPermission', '', named(vm), 'System.Read')
    const { result, reads } = await setUpRefusing(refused, fault)
    t.same([...result.machines.keys()].sort(), TWENTY.filter((vm) => !refused.includes(vm)).sort())
    t.same([...result.denied.keys()].sort(), KEYS.slice(5, 17).sort())
    t.equal(result.gone.size, 0)
    t.equal(result.left.size, 0)
    for (const vm of refused) {
      t.match(result.denied.get(`VirtualMachine:${vm}`), {
        reason: 'NoPermission',
        message: `the account is not allowed to read anything of the VM ${vm} without the privilege System.Read; give it the role Read-only`,
      })
    }
    t.ok(reads.length <= 40, `${reads.length} calls`)
  }
})

t.test('where all are refused, each one is said to be, and none to be gone', async (t) => {
  for (const named of [VM, () => ROOT]) {
    const { result } = await setUpRefusing(TWENTY, (vm) => new SoapFault('NoPermission', '', named(vm)))
    t.same([...result.denied.keys()].sort(), [...KEYS].sort())
    t.same([result.machines.size, result.gone.size, result.left.size], [0, 0, 0])
  }
})

t.test('a VM is gone where the fault says so of that VM alone', async (t) => {
  const itself = await setUpRefusing(['vm-3'], (vm) => new SoapFault('ManagedObjectNotFound', '', VM(vm)))
  t.same([...itself.result.gone], ['VirtualMachine:vm-3'])
  t.equal(itself.result.denied.size, 0)
  const other = await setUpRefusing(['vm-3'], () => new SoapFault('ManagedObjectNotFound', '', ROOT))
  t.equal(other.result.gone.size, 0)
  t.match(other.result.denied.get('VirtualMachine:vm-3'), {
    reason: 'UnexpectedFault',
    message: 'anything of the VM vm-3 cannot be read: vCenter answers with the fault ManagedObjectNotFound',
  })
  for (const { result } of [itself, other]) t.equal(result.machines.size, 19)
})

t.test('of more refused VMs than one attempt can find, the rest is neither refused nor gone', async (t) => {
  const many = Array.from({ length: 200 }, (_, i) => `vm-${i + 1}`)
  const { result, reads } = await setUpRefusing(many, () => new SoapFault('NoPermission', '', ROOT), many)
  t.equal(reads.length, 40)
  t.equal(result.denied.size + result.left.size, 200)
  t.ok(result.denied.size > 10, `${result.denied.size} found`)
  t.same([result.machines.size, result.gone.size], [0, 0])
})

t.test('those that were refused the last time are read after the others', async (t) => {
  const reads: string[][] = []
  let refuses = true
  const suspects = createSuspects({
    async read([spec = '']) {
      const asked = [...spec.matchAll(/<obj type="VirtualMachine">([^<]+)</g)].map(([, vm = '']) => vm)
      reads.push(asked)
      const vm = asked.includes('vm-1') && refuses ? 'vm-1' : undefined
      if (vm !== undefined) throw new SoapFault('NoPermission', '', { type: 'VirtualMachine', value: vm })
    },
  })
  const read = async () => {
    reads.length = 0
    await suspects.read(['vm-1', 'vm-2'], () => undefined, signal)
    return reads
  }
  t.same(await read(), [['vm-1', 'vm-2'], ['vm-2']])
  t.match(suspects.refusalOf('vm-1'), { reason: 'NoPermission' })
  t.same(await read(), [['vm-2'], ['vm-1']])
  refuses = false
  await read()
  t.equal(suspects.refusalOf('vm-1'), undefined)
  t.same(await read(), [['vm-1', 'vm-2']], 'like all others again')
})
