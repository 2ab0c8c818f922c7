import t from 'tap'
import type { Update } from '../collect/read-updates.ts'
import type { XMLElement } from '../wire/xml.ts'
import { applyUpdates } from './pushed-properties.ts'
import { readMachine, type VMProperties } from './resync-properties.ts'

const object = { type: 'VirtualMachine', value: 'vm-1' }
const value = (text: string): XMLElement => ({
  name: 'val',
  type: undefined,
  kind: undefined,
  text,
  children: [],
})
const state = (text: string) => new Map([['runtime.powerState', value(text)]])

const enter: Update = {
  kind: 'enter',
  object,
  values: new Map([['config.uuid', value('u')], ...state('poweredOn')]),
}
const off: Update = { kind: 'modify', object, values: state('poweredOff') }
const on: Update = { kind: 'modify', object, values: state('poweredOn') }
const unset: Update = { kind: 'modify', object, values: new Map([['config.uuid', undefined]]) }
const leave: Update = { kind: 'leave', object }
const unclear: Update = { kind: 'unclear', object }

t.test('whatever comes twice, in part, or of a stranger', (t) => {
  const before = readMachine('vm-1', enter.values, undefined)
  const cases: readonly [string, readonly Update[], readonly Partial<VMProperties>[], readonly string[]][] = [
    ['nothing', [], [], []],
    ['a change', [off], [{ powerState: 'poweredOff', biosUUID: 'u' }], []],
    ['a change twice', [off, off], [{ powerState: 'poweredOff' }], []],
    ['there and back', [off, on], [{ powerState: 'poweredOn' }], []],
    ['a change before it enters', [off, enter], [{ powerState: 'poweredOn' }], []],
    ['it enters twice', [enter, enter], [{ powerState: 'poweredOn', biosUUID: 'u' }], []],
    ['a value that is unset', [unset], [{ biosUUID: undefined, powerState: 'poweredOn' }], []],
    ['it leaves twice', [leave, leave], [], ['vm-1']],
    ['it changes and leaves', [off, leave], [{ powerState: 'poweredOff' }], ['vm-1']],
    ['it leaves and comes back', [leave, enter], [{ powerState: 'poweredOn' }], []],
  ]
  for (const [name, updates, changed, left] of cases) {
    const applied = applyUpdates(updates, (vm) => (vm === 'vm-1' ? before : undefined))
    t.match(applied.changed, changed, name)
    t.equal(applied.changed.length, changed.length, name)
    t.same(applied.left, left, name)
    const strange = applyUpdates(updates, () => undefined)
    t.same(strange, { changed: [], left: [], unclear: [] }, `${name}, of a stranger`)
  }
  const read = (...updates: Update[]) => {
    const applied = applyUpdates(updates, (vm) => (vm === 'vm-1' ? before : undefined))
    return [applied.unclear, applied.left, applied.changed.length]
  }
  t.same(read(unclear, off), [['vm-1'], [], 1], 'what is clear counts, and all is read again')
  t.same(read(leave, unclear), [['vm-1'], [], 0], 'what is told of is there')
  t.same(applyUpdates([unclear], () => undefined).unclear, [], 'a stranger')
  t.end()
})
