import t from 'tap'
import { MAC, SETTINGS, spec, vm } from '../../../../../test/fixtures/facts.ts'
import type { NodesConfig } from '../../../../config/config.ts'
import type { VirtualMachine } from '../../../../types/virtual-machine.ts'
import type { AddressHolder, AddressWitness } from '../node-facts.ts'
import { NO_WITNESS, outranks, witnessOf } from './usable-addresses.ts'

const OTHER = '00:50:56:8e:00:02'
const NETWORKS: NodesConfig = { ...SETTINGS.nodes, internalVmNetworkName: 'nodes' }

function told(
  mac: string,
  addresses: readonly string[],
  network = 'nodes',
): VirtualMachine['guestNICs'][number] {
  const list = addresses.map((address) => ({ address, prefixLength: 24 }))
  return { mac, network, deviceConfigID: 4000, addresses: list }
}

t.test('what VMware Tools say of an address', async (t) => {
  const nics = [{ mac: MAC }, { mac: OTHER }]
  const tools = (guestNICs: VirtualMachine['guestNICs'], changes: Partial<VirtualMachine> = {}) =>
    witnessOf('10.0.0.5', spec(), vm({ nics, guestNICs, ...changes }), SETTINGS.nodes).tools
  t.equal(tools([told(MAC, ['10.0.0.5'])]), 'shown')
  t.equal(tools([told(OTHER, ['10.0.0.5'])]), 'shown', 'on any vNIC')
  t.equal(tools([told(MAC, ['10.0.0.6'])]), 'denied')
  t.equal(tools([]), 'unknown', 'they do not run')
  t.equal(tools([told(MAC, ['fd00::5'])]), 'unknown', 'after a reboot one family comes first')
  t.equal(tools([told(OTHER, ['10.0.0.6'])]), 'unknown', 'the NIC was crowded out')
  t.equal(tools([told('02:00:00:00:00:01', ['10.0.0.5'])]), 'unknown', 'no vNIC')
  for (const state of [{ powerState: 'poweredOff' }, { connectionState: 'disconnected' }] as const)
    t.equal(tools([told(MAC, ['10.0.0.6'])], state), 'unknown', 'what was told is old')
  const gone = spec({ interfaces: [] })
  const missed = vm({ guestNICs: [told(MAC, ['10.0.0.6'])] })
  t.equal(witnessOf('10.0.0.5', gone, missed, SETTINGS.nodes).tools, 'denied', 'which nobody sees any more')
  const unreadable = [{ fact: 'addresses[10.0.0.5]', reason: 'UnknownInterface', message: 'left out' }]
  const leftOut = witnessOf('10.0.0.5', { ...gone, unreadable }, missed, SETTINGS.nodes)
  t.equal(leftOut.tools, 'unknown', 'it may be on another vNIC')
})

t.test('in which network it is, where the configuration names one', async (t) => {
  const network = (name: string, nodes = NETWORKS) =>
    witnessOf('10.0.0.5', spec(), vm({ guestNICs: [told(MAC, ['10.0.0.5'], name)] }), nodes).network
  t.equal(network('Nodes'), 'named')
  t.equal(network('lab'), 'other')
  t.equal(network('lab', SETTINGS.nodes), 'unknown')
  t.equal(witnessOf('10.0.0.5', spec(), vm(), NETWORKS).network, 'unknown')
  t.equal(
    witnessOf('10.0.0.5', spec(), vm({ nics: [{ mac: MAC, network: 'lab' }] }), NETWORKS).network,
    'other',
  )
})

t.test('which of two Nodes gets an address', async (t) => {
  const self = { name: 'b', creationTimestamp: '2026-03-01T10:00:00Z' }
  const gets = (
    own: Partial<AddressWitness>,
    its: Partial<AddressWitness>,
    {
      hadIt = false,
      showsIt = false,
      ...changes
    }: Partial<AddressHolder> & { readonly hadIt?: boolean; readonly showsIt?: boolean } = {},
  ) =>
    outranks(
      { node: self, witness: { ...NO_WITNESS, ...own }, hadIt, showsIt },
      {
        name: 'a',
        deletingSince: undefined,
        finalizers: [],
        creationTimestamp: '2026-03-01T09:00:00Z',
        verified: true,
        witness: { ...NO_WITNESS, ...its },
        unseen: undefined,
        ...changes,
      },
    )
  t.equal(gets({}, {}), false, 'who came first keeps it')
  t.equal(gets({ tools: 'shown' }, {}), false, 'of a VM whose Tools say nothing, nothing is concluded')
  t.equal(gets({ tools: 'shown' }, { tools: 'shown' }), false)
  t.equal(gets({}, { tools: 'denied' }), false, 'nor is it given to one that nobody sees there')
  t.equal(gets({ tools: 'shown' }, { tools: 'denied' }), true)
  t.equal(gets({ tools: 'denied' }, { tools: 'shown' }, { hadIt: true, verified: false }), false)
  t.equal(gets({ network: 'named' }, { network: 'other' }), true)
  t.equal(gets({ network: 'named' }, {}), false)
  t.equal(
    gets({ network: 'named', tools: 'denied' }, { network: 'other', tools: 'shown' }),
    false,
    'Tools first',
  )
  t.equal(gets({}, {}, { hadIt: true }), false, 'both had it, and the other one is older')
  t.equal(gets({}, {}, { hadIt: true, creationTimestamp: '2026-03-01T11:00:00Z' }), true)
  t.equal(gets({}, {}, { hadIt: true, creationTimestamp: self.creationTimestamp }), false, 'by name')
  t.equal(gets({}, {}, { hadIt: true, creationTimestamp: undefined }), true)
  t.equal(gets({}, {}, { hadIt: true, verified: false }), true)
  t.equal(gets({ tools: 'shown' }, {}, { hadIt: true }), true, 'both had it: the one that Tools show')
  const young = { creationTimestamp: '2026-03-01T11:00:00Z' }
  t.equal(gets({}, { tools: 'shown' }, { hadIt: true, ...young }), false)
  const elsewhere = { network: 'other', tools: 'shown' } as const
  t.equal(gets({ network: 'named' }, elsewhere), false, 'its network and its report alone')
  t.equal(gets({ network: 'named', tools: 'shown' }, elsewhere), true)
  t.equal(gets({ network: 'named' }, elsewhere, { verified: false }), true)
  const younger = { verified: false, creationTimestamp: '2026-03-01T11:00:00Z' }
  t.equal(gets({}, {}, { showsIt: true, ...younger }), true, 'neither was verified: the older one')
  t.equal(gets({}, {}, { showsIt: true, verified: false }), false)
  t.equal(gets({}, {}, { showsIt: true, ...younger, verified: true }), false, 'a kubelet may write any')
  t.equal(gets({}, {}, younger), false)
})
