import t from 'tap'
import type { BoundVM } from '../../../../agent/shared/node-report.ts'
import { boundVM, vm } from '../../../../test/fixtures/facts.ts'
import type { Lookup } from '../../../types/inventory.ts'
import type { VirtualMachine } from '../../../types/virtual-machine.ts'
import { doubtTwins, twinsOf } from './twin-vcenters.ts'

const UUID = vm().biosUUID ?? ''
const { instanceUUID } = vm().vCenter
const failure = { vCenter: 'real', reason: 'Unavailable', message: 'answers 503' } as const
const AWAY: Lookup = { state: 'unknown', failure }

const answer = (...vms: VirtualMachine[]): Lookup => ({ state: 'answered', vms })
const seen = (vCenter: string, changes: Partial<VirtualMachine> = {}): VirtualMachine =>
  vm({ vCenter: { name: vCenter, instanceUUID }, ...changes })
const off = { powerState: 'poweredOff' } as const

interface Case {
  readonly real: Lookup
  readonly clone: Lookup
  /** What the real one has said that it is. */
  readonly realIs?: string
  readonly servers?: Readonly<Record<string, string>>
  readonly bound?: string
  /** Whether each one's answer is believed. */
  readonly believed: readonly [real: boolean, clone: boolean]
}

const TWO = { real: 'a 443', clone: 'b 443' }
const cases: Readonly<Record<string, Case>> = {
  'both say the same': { real: answer(seen('real')), clone: answer(seen('clone')), believed: [true, true] },
  'both say that it is off': {
    real: answer(seen('real', off)),
    clone: answer(seen('clone', off)),
    believed: [true, true],
  },
  'off in the clone, while the real one does not answer': {
    real: AWAY,
    clone: answer(seen('clone', off)),
    believed: [false, false],
  },
  'running in the clone, while the real one does not answer': {
    real: AWAY,
    clone: answer(seen('clone')),
    believed: [false, false],
  },
  'off in the clone, and running': {
    real: answer(seen('real')),
    clone: answer(seen('clone', off)),
    believed: [false, false],
  },
  'off in the clone, and not shown': {
    real: answer(),
    clone: answer(seen('clone', off)),
    believed: [true, false],
  },
  'another network card in the clone': {
    real: answer(seen('real')),
    clone: answer(seen('clone', { nics: [{ mac: '00:50:56:8e:ff:01' }] })),
    believed: [false, false],
  },
  'the network cards in another order': {
    real: answer(seen('real', { nics: [{ mac: 'a' }, { mac: 'b' }] })),
    clone: answer(seen('clone', { nics: [{ mac: 'b' }, { mac: 'a' }] })),
    believed: [true, true],
  },
  'running, and not shown by the other, as by an account that may not read it': {
    real: answer(seen('real')),
    clone: answer(),
    believed: [true, true],
  },
  'running in the clone, while the one by which the Node is bound does not show it any more': {
    real: answer(),
    clone: answer(seen('clone')),
    believed: [true, false],
  },
  'another VM that runs in the clone alone': {
    real: answer(),
    clone: answer(seen('clone', { moref: 'vm-9' })),
    believed: [true, true],
  },
  'the real one, by which the Node is bound, has not said yet who it is': {
    real: AWAY,
    realIs: '',
    clone: answer(seen('clone', off)),
    believed: [false, false],
  },
  'one that has not said who it is, and by which the Node is not bound': {
    real: AWAY,
    realIs: '',
    bound: 'clone',
    clone: answer(seen('clone', off)),
    believed: [false, true],
  },
  'another vCenter': {
    real: AWAY,
    realIs: 'other',
    clone: answer(seen('clone', off)),
    believed: [false, true],
  },
  'two accounts of one server': {
    real: AWAY,
    clone: answer(seen('clone', off)),
    servers: { real: 'a 443', clone: 'a 443' },
    believed: [false, true],
  },
}

for (const [what, each] of Object.entries(cases))
  t.test(what, async (t) => {
    const { real, clone, realIs = instanceUUID, servers = TWO, bound = 'real', believed } = each
    const doubted = doubtTwins(
      [
        { vCenter: 'real', uuid: UUID, lookup: real },
        { vCenter: 'clone', uuid: UUID, lookup: clone },
      ],
      boundVM({ vCenter: bound }),
      [
        { vCenter: 'real', instanceUUID: () => realIs },
        { vCenter: 'clone', instanceUUID: () => instanceUUID },
      ],
      servers,
    )
    t.same(
      doubted.map(({ lookup }) => lookup.state === 'answered'),
      believed,
    )
  })

t.test('copies make no twins: only what a vCenter says of itself does', async (t) => {
  const inventories = ['real', 'other'].map((vCenter) => ({ vCenter, instanceUUID: () => `of ${vCenter}` }))
  const lookups = ['real', 'other'].map((vCenter) => ({
    vCenter,
    uuid: UUID,
    lookup: answer(
      ...Array.from({ length: 64 }, (_, i) =>
        seen(vCenter, vCenter === 'real' ? {} : { ...off, moref: `vm-${i}` }),
      ),
    ),
  }))
  const servers = { real: 'a 443', other: 'b 443' }
  t.same(twinsOf(inventories, servers), [])
  t.equal(doubtTwins(lookups, boundVM({ vCenter: 'real' }), inventories, servers)[0], lookups[0])
})

t.test('a copy on which they do not agree leaves the word of the VM that the Node is', async (t) => {
  const copy = { moref: 'vm-9', ...off }
  const both = (bound: BoundVM | undefined, change: Partial<VirtualMachine> = {}): Lookup[] =>
    doubtTwins(
      [
        { vCenter: 'real', uuid: UUID, lookup: answer(seen('real'), seen('real', copy)) },
        { vCenter: 'clone', uuid: UUID, lookup: answer(seen('clone', change)) },
      ],
      bound,
      ['real', 'clone'].map((vCenter) => ({ vCenter, instanceUUID: () => instanceUUID })),
      TWO,
    ).map(({ lookup }) => lookup)
  t.match(both(boundVM()), [
    {
      state: 'answered',
      vms: [seen('real')],
      incomplete: { reason: 'VCenterNotUnique', message: /clone does not show VM/ },
    },
    { state: 'answered', vms: [seen('clone')] },
  ])
  t.match(
    both(boundVM(), off)[0],
    { state: 'unknown', alone: true },
    'unless they do not agree on that either',
  )
  t.match(
    both(undefined)[0],
    { state: 'unknown', alone: true },
    'any may be that of a Node that was never verified',
  )
})

t.test('both are named, and why; where the other one is yet to answer, it is waited for', async (t) => {
  const identities = ['real', 'clone'].map((vCenter) => ({ vCenter, instanceUUID: () => instanceUUID }))
  const by = (real: Lookup) =>
    doubtTwins(
      [
        { vCenter: 'real', uuid: UUID, lookup: real },
        { vCenter: 'clone', uuid: UUID, lookup: answer(seen('clone', off)) },
      ],
      undefined,
      identities,
      TWO,
    )[1]?.lookup
  t.match(by(AWAY), {
    state: 'unknown',
    failure: {
      reason: 'VCenterNotUnique',
      message:
        /^vCenters clone and real report the same instance UUID, but real does not answer: answers 503; .*remove the clone/,
    },
  })
  t.match(by(answer(seen('real'))), {
    alone: true,
    failure: { message: /do not agree on the power state of VM/ },
  })
  t.match(by(answer(seen('real', { ...off, nics: [] }))), {
    alone: true,
    failure: { message: /do not agree on the network cards of VM/ },
  })
  t.same(by({ state: 'pending' }), { state: 'pending' })
})
