/** Nodes that were initialized before this controller came, and whose VMs were off when it first saw them. */
import t from 'tap'
import {
  after,
  BIOS_UUID,
  boundVM,
  decide,
  type FactChanges,
  facts,
  known,
  NODE_UID,
  node,
  report,
  SETTINGS,
  SWAPPED_UUID,
  spec,
  vm,
} from '../../../../../test/fixtures/facts.ts'
import type { Node } from '../../../../types/node.ts'
import type { VirtualMachine } from '../../../../types/virtual-machine.ts'
import { agentlessReport } from '../../facts/previous-status.ts'
import type { NodeFacts } from '../node-facts.ts'
import { SHUTDOWN } from './shutdown-taint.ts'

const SILENT = { status: 'Unknown', lastHeartbeatTime: '2026-03-01T09:00:00Z' }
const READY = { status: 'True', lastHeartbeatTime: '2026-03-01T09:59:55Z' }
const ASSERTED = { ...SETTINGS, identity: { ...SETTINGS.identity, require: 'asserted' } } as const
const OFF = { powerState: 'poweredOff', claim: undefined } as const

function looked(uuid: string, vms: readonly VirtualMachine[]): NodeFacts['lookups'][number] {
  return { vCenter: 'vc1', uuid, lookup: { state: 'answered', vms } }
}

/** One with this VM; its agent has reported before, or it has none. */
function initialized(
  by: 'agent' | 'nobody' | 'nobody, which is enough',
  machine: Partial<VirtualMachine>,
  changes: Partial<Node> = {},
  others: FactChanges = {},
): NodeFacts {
  const own = node({ taints: [], providerID: `vsphere://${BIOS_UUID}`, ready: SILENT, ...changes })
  const agentless = report({ spec: { ok: true, value: agentlessReport(own) } })
  return facts({
    node: own,
    report: by === 'agent' ? report() : agentless,
    lookups: [looked(BIOS_UUID, [vm(machine)]), looked(SWAPPED_UUID, [])],
    ...(by === 'nobody, which is enough' ? { settings: ASSERTED } : {}),
    ...others,
  })
}

function isTainted({ node }: NodeFacts): boolean {
  return node.taints.some(({ key }) => key === SHUTDOWN.key)
}

const decided = (before: NodeFacts) => after(before, decide(before))

for (const by of ['agent', 'nobody', 'nobody, which is enough'] as const) {
  t.test(`it gets the shutdown taint, and loses it; with the report of ${by}`, async (t) => {
    for (const powerState of ['poweredOff', 'suspended'] as const) {
      const off = initialized(by, { ...OFF, powerState })
      const decision = decide(off)
      t.match(decision.patch?.taints, [SHUTDOWN])
      t.match(
        decision.events.find(({ reason }) => reason === 'VMShutDown'),
        { type: 'Warning', message: /vm-42.*keeps new pods away/ },
      )
      const tainted = decided(off)
      t.equal(decide(tainted).patch, undefined, 'once')
      const runs = initialized(by, { claim: undefined }, { taints: tainted.node.taints })
      t.notOk(
        isTainted(decided(decided(runs))),
        'it runs again, and is verified first where an agent reports',
      )
      const speaks = initialized(by, OFF, { taints: tainted.node.taints, ready: READY })
      t.notOk(isTainted(decided(speaks)), 'its kubelet speaks, whatever a VM with its UUID does')
      const hidden = { lookups: [looked(BIOS_UUID, []), looked(SWAPPED_UUID, [])] }
      t.notOk(isTainted(decided({ ...speaks, ...hidden })), 'whatever is shown')
      t.ok(isTainted(decided({ ...tainted, ...hidden })), 'but while it is silent nothing is concluded')
    }
    const swapped = initialized(by, OFF, { providerID: `vsphere://${SWAPPED_UUID}` })
    t.ok(isTainted(decided(swapped)), 'in either byte order')
  })

  t.test(`entries that can be no machine do not keep it away; with the report of ${by}`, async (t) => {
    for (const harmless of [
      { connectionState: 'orphaned' },
      { connectionState: 'invalid' },
      { template: true },
    ] as const) {
      const other = vm({ ...OFF, moref: 'vm-43', instanceUUID: undefined, ...harmless })
      for (const vms of [
        [vm(OFF), other],
        [other, vm(OFF)],
      ]) {
        const lookups = [looked(BIOS_UUID, vms), looked(SWAPPED_UUID, [])]
        t.match(decide(initialized(by, OFF, {}, { lookups })).patch?.taints, [SHUTDOWN])
      }
    }
  })

  t.test(
    `nor does the entry that it was known by and has left behind; with the report of ${by}`,
    async (t) => {
      for (const connectionState of ['orphaned', 'invalid'] as const) {
        const left = vm({ ...OFF, connectionState })
        const again = vm({ ...OFF, moref: 'vm-43' })
        for (const vms of [
          [left, again],
          [again, left],
        ]) {
          const before = initialized(by, OFF)
          const { report } = before
          if (report === undefined) throw new Error('it has one')
          const seen = { ...report, status: { nodeUID: NODE_UID, namedVM: boundVM() } }
          const lookups = [looked(BIOS_UUID, vms), looked(SWAPPED_UUID, [])]
          t.match(decide(known({ ...before, report: seen, lookups })).patch?.taints, [SHUTDOWN])
        }
      }
    },
  )

  t.test(`not where it is not certain, or not wanted; with the report of ${by}`, async (t) => {
    const copy = vm({ ...OFF, moref: 'vm-43' })
    const failure = { vCenter: 'vc2', reason: 'Unreachable', message: 'no route' } as const
    const rival = {
      name: 'worker-2',
      deletingSince: undefined,
      finalizers: [],
      boundTo: undefined,
      level: undefined,
      spec: undefined,
    }
    const { lookups } = initialized(by, OFF)
    const without = { ...SETTINGS, lifecycle: { ...SETTINGS.lifecycle, shutdownTaint: false } }
    for (const [what, facts] of [
      ['it is Ready', initialized(by, OFF, { ready: READY })],
      ['nobody knows whether it is off', initialized(by, { ...OFF, connectionState: 'disconnected' })],
      ['a copy is there', initialized(by, OFF, {}, { lookups: [looked(BIOS_UUID, [vm(OFF), copy])] })],
      [
        'another vCenter may have the VM',
        initialized(
          by,
          OFF,
          {},
          {
            lookups: [...lookups, { vCenter: 'vc2', uuid: BIOS_UUID, lookup: { state: 'unknown', failure } }],
          },
        ),
      ],
      [
        'it may have a copy that is not known',
        initialized(
          by,
          OFF,
          {},
          {
            lookups: [
              {
                vCenter: 'vc1',
                uuid: BIOS_UUID,
                lookup: { state: 'answered', vms: [vm(OFF)], incomplete: failure },
              },
            ],
          },
        ),
      ],
      ['another Node points to it', initialized(by, OFF, {}, { rivals: [rival] })],
      [
        'its provider ID is that of another VM',
        initialized(by, OFF, { providerID: `vsphere://${NODE_UID}` }),
      ],
      ['its provider ID is of another provider', initialized(by, OFF, { providerID: `aws:///${BIOS_UUID}` })],
      ['it is a template', initialized(by, { ...OFF, template: true })],
      ['its place is not known yet', initialized(by, { ...OFF, ancestry: undefined })],
      [
        'it is in no configured datacenter',
        initialized(by, OFF, {}, { settings: { ...SETTINGS, datacenters: { vc1: ['DC9'] } } }),
      ],
      ['lifecycle.shutdownTaint is off', initialized(by, OFF, {}, { settings: without })],
      ['a CPI runs', initialized(by, OFF, {}, { interlock: { state: 'held', message: 'a CPI runs' } })],
    ] as const)
      t.notOk(isTainted(decided(facts)), what)
  })
}

t.test('not where its agent has reported another machine', async (t) => {
  const mac = '00:50:56:8e:ff:01'
  t.notOk(isTainted(decided(initialized('agent', { ...OFF, nics: [{ mac }] }))))
})

t.test('nor where it has reported another UUID', async (t) => {
  const value = spec({ machine: { serialUUID: NODE_UID } })
  const other = report({ spec: { ok: true, value } })
  for (const lookups of [
    [looked(BIOS_UUID, [vm(OFF)]), looked(NODE_UID, [])],
    [looked(BIOS_UUID, []), looked(NODE_UID, [vm({ ...OFF, biosUUID: NODE_UID })])],
  ])
    t.notOk(isTainted(decided(initialized('agent', OFF, {}, { report: other, lookups }))))
})

t.test('with lifecycle.shutdownTaint off nobody takes it from a Node that speaks', async (t) => {
  const lifecycle = { ...SETTINGS.lifecycle, shutdownTaint: false }
  const settings = { ...SETTINGS, lifecycle }
  const tainted = { taints: [SHUTDOWN], ready: READY }
  t.ok(isTainted(decided(initialized('agent', OFF, tainted, { settings }))))
  t.notOk(isTainted(decided(initialized('agent', OFF, tainted))))
})

t.test('a silent Node gets no advice to look for a forged report', async (t) => {
  const said = (facts: NodeFacts) =>
    decide(facts).status?.conditions?.find(({ type }) => type === 'IdentityVerified')
  t.match(said(initialized('agent', OFF)), {
    reason: 'VMNotRunning',
    message: /was so before Rollcall first saw this Node; .* when the VM runs and its agent reports again$/,
  })
  t.match(said(initialized('nobody, which is enough', OFF)), {
    reason: 'VMNotRunning',
    message: /; the Node is verified when the VM runs$/,
  })
  t.match(said(initialized('agent', OFF, { ready: READY })), { message: /look for a forged report/ })
  t.match(said(facts({ vms: [vm(OFF)] })), { message: /look for a forged report/ })
})

t.test(
  'a Node that was verified follows its own VM alone, and no other with its instance UUID',
  async (t) => {
    const own = { nodeUID: NODE_UID, vm: boundVM(), identityLevel: 'reported' } as const
    const off = initialized('agent', { ...OFF, moref: 'vm-99' }, {}, { report: report({ status: own }) })
    t.notOk(isTainted(decided(known(off))))
  },
)
