import t from 'tap'
import { boundVM } from '../../../test/fixtures/facts.ts'
import { probe } from '../../../test/fixtures/probes.ts'
import { missingProofs } from './absence-proofs.ts'

const OWN = boundVM().vCenterInstanceUUID
const other = (changes: Parameters<typeof probe>[0] = {}) =>
  probe({ vCenter: 'vc2', vCenterInstanceUUID: 'two', moref: undefined, ...changes })
const failure = {
  vCenter: 'vc2',
  reason: 'PrivilegeMissing' as const,
  message: 'the account lacks System.Read',
}
const none = { state: 'none' } as const

const missing = (probes: readonly ReturnType<typeof probe>[], ...inhabited: string[]) =>
  missingProofs(boundVM(), { probes, inhabited: new Set(inhabited) }).map(({ message }) => message)

t.test('a vCenter that shows no VM is believed to be empty where no other Node says otherwise', async (t) => {
  t.same(missing([probe({ canary: none })]), [], 'its only VM is gone')
  t.match(missing([probe({ canary: none })], OWN), [/^vCenter vc1 shows no VM at all, though other Nodes/])
  t.same(missing([probe(), other({ canary: none })], OWN), [], 'the other one is empty')
  t.match(missing([probe(), other({ canary: none })], OWN, 'two'), [/^vCenter vc2 shows no VM at all/])
})

t.test('a vCenter must be readable from its root, whether or not it had the VM', async (t) => {
  t.match(missing([probe(), other({ privileges: { state: 'unproven', failure } })]), [
    /^vCenter vc2: the account/,
  ])
  t.match(missing([probe({ privileges: { state: 'unproven', failure } }), other()]), [
    /^vCenter vc2: the account/,
  ])
})
