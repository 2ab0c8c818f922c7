import t from 'tap'
import { readMachine } from '../properties/resync-properties.ts'
import { SoapFault } from '../wire/errors.ts'
import { keyOf, type ManagedObjectReference, vmReference } from '../wire/managed-object-reference.ts'
import { ancestorSpecs, createAncestorTree } from './ancestors.ts'
import { createVMLocations } from './vm-locations.ts'

const FOLDER = { type: 'Folder', value: 'group-v3' }
const DATACENTER = { type: 'Datacenter', value: 'datacenter-2' }
const element = (text: string, kind?: string) => ({ name: 'val', type: undefined, kind, text, children: [] })
const toParent = ({ type, value }: ManagedObjectReference) => element(value, type)

const MACHINE = readMachine('vm-1', new Map([['parent', toParent(FOLDER)]]), undefined)

t.test('an object above a VM that may not be read is named, and asked for in a proof', async (t) => {
  const locations = createVMLocations({ tagging: false })
  locations.tree.put({
    reference: DATACENTER,
    properties: new Map([['name', element('dc-1')]]),
    missing: new Map(),
    excess: undefined,
  })
  locations.tree.put({
    reference: FOLDER,
    properties: new Map([
      ['name', element('workers')],
      ['parent', toParent(DATACENTER)],
    ]),
    missing: new Map(),
    excess: undefined,
  })
  t.match(locations.place(MACHINE), {
    datacenter: 'dc-1',
    ancestry: { unreadable: [], unreadableAbove: undefined },
  })

  const denied = createVMLocations({ tagging: false })
  const missing = new Map(
    ['name', 'parent'].map((path) => [path, new SoapFault('NoPermission', '', FOLDER)] as const),
  )
  denied.tree.put({ reference: FOLDER, properties: new Map(), missing, excess: undefined })
  t.match(denied.place(MACHINE), {
    datacenter: undefined,
    ancestry: {
      unreadable: ['Folder group-v3 is not readable'],
      unreadableAbove: { type: 'Folder', moref: 'group-v3' },
    },
  })
})

t.test('nothing is said of where a VM is before the object above it was read', async (t) => {
  const locations = createVMLocations({ tagging: false })
  t.equal(locations.place(MACHINE).ancestry, undefined)
  locations.tree.putUnreadable(FOLDER, false)
  t.match(locations.place(MACHINE).ancestry, {
    folder: [{ type: 'VirtualMachine' }],
    unreadAbove: { folder: [{ why: 'Folder group-v3 is not readable', hidden: true }] },
  })
  locations.replaceTree(createAncestorTree())
  locations.tree.putUnreadable(FOLDER, true)
  t.match(locations.place(MACHINE).ancestry, {
    unreadable: [/^Folder group-v3 is not readable \(vCenter answers other calls, but none about it/],
  })
})

t.test('an object that was looked for before it was read is shown once it is', async (t) => {
  const locations = createVMLocations({ tagging: false })
  t.equal(locations.place(MACHINE).ancestry, undefined)
  const properties = new Map([['name', element('workers')]])
  locations.tree.put({ reference: FOLDER, properties, missing: new Map(), excess: undefined })
  t.match(locations.place(MACHINE).ancestry, { folder: [{}, { name: 'workers' }], unreadable: [] })
})

t.test(
  'what a property of the VM may hide stands above its last known object, and nowhere else',
  async (t) => {
    const hidden = readMachine('vm-1', new Map([['name', element('vm-one')]]), undefined, [
      'parent',
      'runtime.host',
    ])
    t.match(createVMLocations({ tagging: false }).place(hidden).ancestry, {
      folder: [{ name: 'vm-one' }],
      unreadAbove: {
        compute: [{ why: 'runtime.host of VirtualMachine vm-one (vm-1)', hidden: true }],
        folder: [{ why: 'parent of VirtualMachine vm-one (vm-1)', hidden: true }],
      },
    })
  },
)

t.test('what could not be read is told of the next object above, once', async (t) => {
  const locations = createVMLocations({ tagging: true })
  for (const [reference, name, parent] of [
    [FOLDER, 'workers', DATACENTER],
    [DATACENTER, 'dc-1', undefined],
  ] as const) {
    const above = parent === undefined ? [] : [['parent', toParent(parent)] as const]
    const properties = new Map([['name', element(name)], ...above])
    locations.tree.put({ reference, properties, missing: new Map(), excess: undefined })
  }
  const none = { tags: [], problems: [] }
  const refused = { tags: [], problems: [{ why: 'refused' }] }
  locations.putTags(
    new Map([
      [keyOf(vmReference('vm-1')), none],
      [keyOf(FOLDER), refused],
      [keyOf(DATACENTER), none],
    ]),
  )
  const { ancestry } = locations.place(MACHINE)
  t.same(
    ancestry?.folder.map(({ name, unread }) => [name, unread]),
    [
      ['vm-1', undefined],
      ['workers', [{ why: 'Folder workers: refused' }]],
      ['dc-1', undefined],
    ],
  )
})

t.test('when another vCenter answers, what stands above a VM and its tags are read anew', async (t) => {
  const locations = createVMLocations({ tagging: true })
  const put = (name: string) =>
    locations.tree.put({
      reference: FOLDER,
      properties: new Map([['name', element(name)]]),
      missing: new Map(),
      excess: undefined,
    })
  const tag = (name: string) =>
    locations.putTags(
      new Map(
        [vmReference('vm-1'), FOLDER].map((each) => [
          keyOf(each),
          { tags: [{ category: 'zone', name }], problems: [] },
        ]),
      ),
    )
  put('workers')
  tag('a')
  locations.putLacking(new Map([['region', 'category']]))
  t.match(locations.place(MACHINE).ancestry, { folder: [{}, { name: 'workers', tags: [{ name: 'a' }] }] })
  locations.forgetAll()
  t.equal(locations.place(MACHINE).ancestry, undefined)
  t.notOk(locations.hasTags(FOLDER))
  t.equal(locations.lacking().size, 0)
  put('others')
  t.equal(locations.place(MACHINE).ancestry, undefined, 'its tags are not those of the one before')
  tag('b')
  t.match(locations.place(MACHINE).ancestry, { folder: [{}, { name: 'others', tags: [{ name: 'b' }] }] })
})

t.test(
  'all that is above VMs is asked for by one spec, in which no two selections have one name',
  async (t) => {
    const [spec = '', ...more] = ancestorSpecs([FOLDER, DATACENTER])
    t.same(more, [])
    const names = (pattern: RegExp) => [...spec.matchAll(pattern)].map(([, name]) => name)
    t.same(names(/<obj type="\w+">([^<]+)</g), [FOLDER.value, DATACENTER.value])
    const defined = names(/<selectSet xsi:type="TraversalSpec"><name>(\w+)</g)
    t.equal(new Set(defined).size, 2)
    t.same(names(/<selectSet><name>(\w+)</g), defined, 'each refers to itself')
  },
)
