import t from 'tap'
import { readMachine } from '../properties/resync-properties.ts'
import { SoapFault } from '../wire/errors.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
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
  locations.tree.putUnreadable(FOLDER)
  t.match(locations.place(MACHINE).ancestry, {
    folder: [{ type: 'VirtualMachine' }],
    unreadAbove: { folder: [{ why: 'Folder group-v3 is not readable' }] },
  })
})

t.test('an object that was looked for before it was read is shown once it is', async (t) => {
  const locations = createVMLocations({ tagging: false })
  t.equal(locations.place(MACHINE).ancestry, undefined)
  const properties = new Map([['name', element('workers')]])
  locations.tree.put({ reference: FOLDER, properties, missing: new Map(), excess: undefined })
  t.match(locations.place(MACHINE).ancestry, { folder: [{}, { name: 'workers' }], unreadable: [] })
})
