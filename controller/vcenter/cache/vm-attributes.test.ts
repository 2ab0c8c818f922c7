import t from 'tap'
import { failed, ok } from '../../../agent/shared/result.ts'
import { CUSTOM_VALUES_PATH } from '../properties/property-values.ts'
import { readMachine } from '../properties/resync-properties.ts'
import type { XMLElement } from '../wire/xml.ts'
import { createVMAttributes } from './vm-attributes.ts'

const element = (name: string, text: string, children: XMLElement[] = []): XMLElement => ({
  name,
  type: undefined,
  kind: undefined,
  text,
  children,
})
const value = (key: number, text: string) =>
  element('CustomFieldValue', '', [element('key', String(key)), element('value', text)])

const VALUES = new Map([
  [CUSTOM_VALUES_PATH, element('val', '', [value(7, 'ops'), value(8, ''), value(9, 'dev')])],
])
const MACHINE = readMachine('vm-1', VALUES, undefined)

t.test('values by name; what is not known is not absent', async (t) => {
  const attributes = createVMAttributes(new Set(['Owner', 'Empty', 'Nobody']))
  const of = (machine = MACHINE) => Object.fromEntries(attributes.of(machine).attributes ?? [])
  t.match(of(), { Owner: { unread: /are not read yet/ }, Nobody: { unread: /are not read yet/ } })
  attributes.define(failed('no right'))
  t.same(of().Owner, { unread: 'no right' })
  attributes.define(
    ok(
      new Map([
        [7, 'Owner'],
        [8, 'Empty'],
        [9, 'Other'],
      ]),
    ),
  )
  t.match(of(), {
    Owner: { values: ['ops'] },
    Empty: { values: [] },
    Nobody: { unread: /no custom attribute "Nobody" for VMs/ },
  })
  attributes.define(
    ok(
      new Map([
        [7, 'Owner'],
        [9, 'Owner'],
      ]),
    ),
  )
  t.same(of().Owner, { values: ['ops', 'dev'] }, 'two of one name')
  attributes.define(failed('no answer'))
  t.same(of().Owner, { values: ['ops', 'dev'] }, 'names that cannot be read again stay what they were')
  attributes.forgetAll()
  t.match(of().Owner, { unread: /are not read yet/ }, 'another vCenter has other keys')
  attributes.define(ok(new Map([[7, 'Owner']])))
  const unreadable = readMachine('vm-1', new Map(), undefined, [CUSTOM_VALUES_PATH])
  t.match(of(unreadable).Owner, { unread: /is not allowed to read the custom attributes/ })
})
