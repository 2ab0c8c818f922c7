import t from 'tap'
import { createLedger, type Ledger, type SoakMachine, type Unbound } from './ledger.ts'

const PROVING = 20_000

function oneMachine(unbound: Unbound = 'delete'): { ledger: Ledger; machine: SoakMachine } {
  const ledger = createLedger({ provingTime: PROVING, unbound })
  const machine = ledger.add({ node: 'node-1', biosUUID: 'u-1' })
  machine.nodeUID = 'uid-1'
  return { ledger, machine }
}

const node = { name: 'node-1', uid: 'uid-1' }

t.test('a Node whose VM exists is wrongly deleted', (t) => {
  const { ledger } = oneMachine()
  t.match(ledger.deleted(node, 100_000), { node: 'node-1', why: /exists/, at: 100_000 })
  t.equal(ledger.wrong.length, 1)
  t.match(ledger.history('node-1'), [{ at: 100_000, what: 'Node uid-1 is deleted' }])
  t.end()
})

t.test('one whose VM existed within the proving time is, too', (t) => {
  const { ledger, machine } = oneMachine()
  machine.destroyedAt = 100_000
  t.match(ledger.deleted(node, 119_999), { why: /existed 19999 ms before/ })
  t.end()
})

t.test('one whose VM was gone for long enough is rightly deleted, and its time is kept', (t) => {
  const { ledger, machine } = oneMachine()
  machine.destroyedAt = 100_000
  t.equal(ledger.deleted(node, 120_000), undefined)
  t.same(ledger.deletedAfter, [20_000])
  t.same(ledger.wrong, [])
  t.end()
})

t.test('a new VM that took the Node over counts as much as the first', (t) => {
  const { ledger, machine } = oneMachine()
  machine.destroyedAt = 0
  const second = ledger.add({ node: 'node-1', biosUUID: 'u-2' })
  second.nodeUID = 'uid-1'
  t.match(ledger.deleted(node, 100_000), { why: /u-2/ })
  second.destroyedAt = 100_000
  t.match(ledger.deleted(node, 110_000), { why: /existed 10000 ms/ })
  t.equal(ledger.deleted(node, 130_000), undefined)
  t.end()
})

t.test('one for which no agent has reported is for a person, where that is configured', (t) => {
  const { ledger, machine } = oneMachine('report')
  machine.destroyedAt = 0
  t.match(ledger.deleted(node, 100_000), { why: /no agent has reported/ })
  machine.reportedFor = 'uid-of-former-node'
  t.match(ledger.deleted(node, 100_000), { why: /no agent has reported/ })
  machine.reportedFor = 'uid-1'
  t.equal(ledger.deleted(node, 100_000), undefined)
  const other = oneMachine('delete')
  other.machine.destroyedAt = 0
  t.equal(other.ledger.deleted(node, 100_000), undefined)
  t.end()
})

t.test('a Node of the same name is another', (t) => {
  const { ledger } = oneMachine()
  t.match(ledger.deleted({ name: 'node-1', uid: 'uid-2' }, 0), { why: /no kubelet/ })
  t.end()
})

t.test('what a person deletes is nobody else', (t) => {
  const { ledger } = oneMachine()
  ledger.removedByPerson('uid-1')
  t.equal(ledger.deleted(node, 1), undefined)
  t.same(ledger.deletedAfter, [], 'and says nothing of how long it takes')
  t.end()
})
