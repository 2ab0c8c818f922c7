import t from 'tap'
import { boundVM, vm } from '../../../../test/fixtures/facts.ts'
import type { Lookup } from '../../../types/inventory.ts'
import type { VirtualMachine } from '../../../types/virtual-machine.ts'
import { doubtTwins } from './twin-vcenters.ts'

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
  'running, and not shown by the other, as by an account that may not read it': {
    real: answer(seen('real')),
    clone: answer(),
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
        /^vCenters clone and real say that they are one, and real does not answer: answers 503; .*clone out of/,
    },
  })
  t.match(by(answer(seen('real'))), { alone: true, failure: { message: /do not agree on the power state/ } })
  t.same(by({ state: 'pending' }), { state: 'pending' })
})
