import t from 'tap'
import { judgeProviderID } from '../../controller/loops/node/facts/provider-id.ts'
import { BIOS_UUID, SWAPPED_UUID } from '../../test/fixtures/facts.ts'
import { canonicalUUID, sameMachineUUID, swapUUID } from './uuid.ts'

t.test('the first three groups are swapped, the rest stands', async (t) => {
  t.equal(swapUUID(BIOS_UUID), SWAPPED_UUID)
  t.equal(swapUUID(SWAPPED_UUID), BIOS_UUID)
  t.equal(sameMachineUUID(BIOS_UUID, SWAPPED_UUID), true)
  t.equal(sameMachineUUID(BIOS_UUID, BIOS_UUID.replace(/b$/, 'c')), false)
})

t.test('only the usual form is a UUID', async (t) => {
  t.equal(canonicalUUID(` ${BIOS_UUID.toUpperCase()}\n`), BIOS_UUID)
  for (const text of ['', 'x', BIOS_UUID.slice(1), `{${BIOS_UUID}}`, BIOS_UUID.replaceAll('-', '')]) {
    t.equal(canonicalUUID(text), undefined, text)
  }
})

t.test('provider IDs', async (t) => {
  const rows: [string | undefined, string][] = [
    [undefined, 'absent'],
    ['', 'absent'],
    [`vsphere://${BIOS_UUID}`, 'ours'],
    [`vsphere://${BIOS_UUID.toUpperCase()}`, 'ours'],
    [`vsphere://${SWAPPED_UUID}`, 'ours'],
    [`vsphere://${BIOS_UUID.replace(/b$/, 'c')}`, 'other-vm'],
    [`vsphere://${BIOS_UUID}\n`, 'ours'],
    ['vsphere://', 'malformed'],
    [`vsphere:///${BIOS_UUID}`, 'malformed'],
    [`vSphere://${BIOS_UUID}`, 'malformed'],
    ['vsphere://$UUID', 'malformed'],
    ['vsphere://VMware-42 0e 3f 74 ea 84 f9 a2-77 36 61 06 bb 5d bf 6b', 'malformed'],
    [`vsphere://${BIOS_UUID.replaceAll('-', '')}`, 'malformed'],
    [BIOS_UUID, 'malformed'],
    [BIOS_UUID.toUpperCase().replaceAll('-', ''), 'malformed'],
    ['VMware-42 0e 3f 74 ea 84 f9 a2-77 36 61 06 bb 5d bf 6b', 'malformed'],
    [`"vsphere://${BIOS_UUID}"`, 'malformed'],
    [`vsphere//${BIOS_UUID}`, 'malformed'],
    [`//${BIOS_UUID}`, 'malformed'],
    [`{${BIOS_UUID}}`, 'malformed'],
    [`$${'{UUID}'}`, 'malformed'],
    ['$UUID', 'malformed'],
    ['{{ uuid }}', 'malformed'],
    [`aws:///${BIOS_UUID}`, 'foreign'],
    ['aws:///$INSTANCE', 'foreign'],
    ['k3s://worker-1', 'foreign'],
    ['worker-1', 'foreign'],
  ]
  for (const [existing, match] of rows)
    t.equal(judgeProviderID(existing, BIOS_UUID), match, existing ?? 'absent')
})
