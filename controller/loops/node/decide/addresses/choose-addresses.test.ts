import t from 'tap'
import type { NodeReportSpec } from '../../../../../agent/shared/node-report.ts'
import { BIOS_UUID, MAC, node, SETTINGS, spec, vm } from '../../../../../test/fixtures/facts.ts'
import type { IPFamily, NodesConfig } from '../../../../config/config.ts'
import type { Node } from '../../../../types/node.ts'
import type { GuestNIC, VirtualMachine } from '../../../../types/virtual-machine.ts'
import { commonMACs } from '../identity/fitting-vms.ts'
import type { AddressHolder } from '../node-facts.ts'
import { chooseAddresses } from './choose-addresses.ts'
import { NO_WITNESS } from './usable-addresses.ts'

type Interfaces = NodeReportSpec['interfaces']
type Entry = Interfaces[number]['addresses'][number]

const SECOND_MAC = '00:50:56:8e:00:02'

function nic(addresses: Entry[], changes: Partial<Interfaces[number]> = {}): Interfaces[number] {
  return { name: 'ens192', mac: MAC, defaultRoute: true, addresses, ...changes }
}

function at(address: string, changes: Partial<Entry> = {}): Entry {
  return { address, prefixLength: 24, ...changes }
}

function guestNIC(addresses: string[], changes: Partial<GuestNIC> = {}): GuestNIC {
  return {
    mac: MAC,
    network: 'VM Network',
    deviceConfigID: 4000,
    addresses: addresses.map((address) => ({ address, prefixLength: 24 })),
    ...changes,
  }
}

const V4: Entry = { address: '10.0.0.5', prefixLength: 24 }
const V6: Entry = { address: '2001:db8::5', prefixLength: 64 }
const DHCPV6: Entry = { address: '2001:db8::dead', prefixLength: 128 }
const BOTH: IPFamily[] = ['ipv4', 'ipv6']

const VIRTUAL: Entry = { address: '10.0.0.100', prefixLength: 32 }
const STORAGE = nic([at('192.168.9.5')], { name: 'storage', mac: SECOND_MAC })
const TWO_NICS = [{ mac: MAC }, { mac: SECOND_MAC }]

interface Row {
  readonly interfaces?: Interfaces
  /** What cloud-init has configured. */
  readonly configured?: string[]
  readonly nodeIP?: string
  readonly guestNICs?: GuestNIC[]
  readonly staticAddresses?: string[]
  readonly nics?: { mac: string }[]
  readonly running?: string[]
  readonly families?: IPFamily[]
}

/** Each with the addresses that are chosen. */
const ROWS: readonly (readonly [name: string, row: Row, ...expected: string[]])[] = [
  ['one address', { interfaces: [nic([V4])] }, '10.0.0.5'],
  ['IPv4 alone where nothing else is configured', { interfaces: [nic([V6, V4])] }, '10.0.0.5'],
  ['both families, IPv4 first', { interfaces: [nic([V6, V4])], families: BOTH }, '10.0.0.5', '2001:db8::5'],
  [
    'both families, IPv6 first',
    { interfaces: [nic([V4, V6])], families: ['ipv6', 'ipv4'] },
    ...['2001:db8::5', '10.0.0.5'],
  ],
  [
    'IPv6 first where the kubelet prefers it',
    { interfaces: [nic([V4, V6])], nodeIP: '::', families: BOTH },
    ...['2001:db8::5', '10.0.0.5'],
  ],
  [
    'both given by the kubelet, its order',
    { interfaces: [nic([V4, V6])], nodeIP: '2001:db8::5,10.0.0.5', families: BOTH },
    ...['2001:db8::5', '10.0.0.5'],
  ],
  [
    'one given by the kubelet is a choice of family too',
    { interfaces: [nic([V4, V6])], nodeIP: '10.0.0.5', families: BOTH },
    '10.0.0.5',
  ],
  [
    'IPv6 only, the temporary one passed over',
    { interfaces: [nic([{ ...V6, address: '2001:db8::dead', temporary: true }, V6])], families: ['ipv6'] },
    '2001:db8::5',
  ],
  [
    'a deprecated address passed over',
    { interfaces: [nic([at('10.0.0.4', { deprecated: true }), V4])] },
    '10.0.0.5',
  ],
  ['a virtual IP with a host prefix listed first', { interfaces: [nic([VIRTUAL, V4])] }, '10.0.0.5'],
  [
    'a virtual IP listed first as secondary',
    { interfaces: [nic([at('10.0.0.100', { secondary: true }), V4])] },
    '10.0.0.5',
  ],
  [
    'a host prefix alone is an address (routed to the host, DHCPv6)',
    { interfaces: [nic([at('10.0.0.7', { prefixLength: 32 })])] },
    '10.0.0.7',
  ],
  [
    'the kubelet may choose what looks virtual',
    { interfaces: [nic([VIRTUAL, V4])], nodeIP: '10.0.0.100' },
    '10.0.0.100',
  ],
  [
    'the default route decides between two vNICs',
    { interfaces: [{ ...STORAGE, defaultRoute: false }, nic([V4])], nics: TWO_NICS },
    '10.0.0.5',
  ],
  [
    'a statically configured address comes first',
    { interfaces: [nic([at('10.0.0.4'), V4])], configured: ['10.0.0.5/24'] },
    '10.0.0.5',
  ],
  [
    'the static ones keep their order, whatever they look like',
    {
      interfaces: [nic([V4, { address: '10.0.0.7', prefixLength: 32, secondary: true }])],
      configured: ['10.0.0.7/24', '10.0.0.5/24'],
    },
    '10.0.0.7',
  ],
  [
    'without an agent vCenter shows which address is static',
    { guestNICs: [guestNIC(['10.0.0.4', '10.0.0.5'])], staticAddresses: ['10.0.0.5/24'] },
    '10.0.0.5',
  ],
  [
    'an interface that is no vNIC is no candidate',
    { interfaces: [nic([at('10.244.0.1')], { name: 'cni0', mac: '0a:58:0a:f4:00:01' }), nic([V4])] },
    '10.0.0.5',
  ],
  [
    'link-local and loopback are none',
    { interfaces: [nic([{ ...V6, address: 'fe80::1' }, at('127.0.0.1', { prefixLength: 8 }), V4])] },
    '10.0.0.5',
  ],
  [
    'a zone, an octal and a decimal spelling are no addresses',
    {
      interfaces: [nic([])],
      guestNICs: [guestNIC(['fd00::1%eth0', '010.0.0.5', '167772165', '10.0.0.6'])],
    },
    '10.0.0.6',
  ],
  [
    'VMware Tools stand in for an agent that sees nothing',
    { interfaces: [nic([])], guestNICs: [guestNIC(['10.0.0.6'])] },
    '10.0.0.6',
  ],
  [
    'what Tools mark as no vNIC is none',
    { interfaces: [nic([])], guestNICs: [guestNIC(['10.0.0.6'], { deviceConfigID: -1 })] },
  ],
  [
    'a MAC that no vNIC has',
    { interfaces: [nic([])], guestNICs: [guestNIC(['10.0.0.6'], { mac: '0a:00:00:00:00:01' })] },
  ],
  [
    'a running Node keeps a family that one look misses',
    { interfaces: [nic([V4])], families: BOTH, running: ['10.0.0.5', '2001:db8::5'] },
    ...['10.0.0.5', '2001:db8::5'],
  ],
  [
    'and keeps it while Tools report the other family alone, as after a reboot',
    { families: BOTH, running: ['10.0.0.5', '2001:db8::5'], guestNICs: [guestNIC(['10.0.0.5'])] },
    ...['10.0.0.5', '2001:db8::5'],
  ],
  [
    'and follows them to another address of that family',
    {
      families: BOTH,
      running: ['10.0.0.5', '2001:db8::5'],
      guestNICs: [guestNIC(['10.0.0.5', '2001:db8::6'])],
    },
    ...['10.0.0.5', '2001:db8::6'],
  ],
  [
    'a renewed lease replaces the address',
    { interfaces: [nic([at('10.0.0.8')])], running: ['10.0.0.5'] },
    '10.0.0.8',
  ],
  [
    'but not while Tools still report it, and the agent another NIC',
    {
      interfaces: [nic([], { defaultRoute: false }), { ...STORAGE, name: 'ens192' }],
      nics: TWO_NICS,
      guestNICs: [guestNIC(['10.0.0.5']), guestNIC(['192.168.9.5'], { mac: SECOND_MAC })],
      running: ['10.0.0.5'],
    },
    '10.0.0.5',
  ],
  [
    'nor while Tools still report it, and the agent a virtual IP alone',
    {
      interfaces: [nic([VIRTUAL])],
      guestNICs: [guestNIC(['10.0.0.5', '10.0.0.100'])],
      running: ['10.0.0.5'],
    },
    '10.0.0.5',
  ],
  [
    'a deprecated address gives way, though Tools report it',
    {
      interfaces: [nic([{ ...V4, deprecated: true }, at('10.0.0.8')])],
      guestNICs: [guestNIC(['10.0.0.5', '10.0.0.8'])],
      running: ['10.0.0.5'],
    },
    '10.0.0.8',
  ],
  [
    'a running Node keeps the address that another order would not have chosen',
    { interfaces: [nic([V4, at('10.0.0.8')])], running: ['10.0.0.8'] },
    '10.0.0.8',
  ],
  ['but not a virtual IP', { interfaces: [nic([V4, VIRTUAL])], running: ['10.0.0.100'] }, '10.0.0.5'],
  [
    'unless it is static',
    {
      interfaces: [nic([V4, VIRTUAL])],
      configured: ['10.0.0.5/24', '10.0.0.100/24'],
      running: ['10.0.0.100'],
    },
    '10.0.0.100',
  ],
  [
    'an IPv6 address with a host prefix comes last (DHCPv6 beside SLAAC)',
    { interfaces: [nic([DHCPV6, V6])], families: ['ipv6'] },
    '2001:db8::5',
  ],
  [
    'and moves no Node that runs on it',
    { interfaces: [nic([DHCPV6, V6])], families: ['ipv6'], running: ['2001:db8::dead'] },
    '2001:db8::dead',
  ],
  [
    'a family that is no longer configured goes',
    { interfaces: [nic([V4, V6])], running: ['10.0.0.5', '2001:db8::5'] },
    '10.0.0.5',
  ],
]

type Context = Omit<Parameters<typeof chooseAddresses>[2], 'macs'>

function chosen(spec: NodeReportSpec, vm: VirtualMachine, context: Context) {
  return chooseAddresses(spec, vm, { ...context, macs: commonMACs(spec, vm) })
}

function context(changes: Partial<Node>, families: readonly IPFamily[] = ['ipv4']): Context {
  const settings = { ...SETTINGS, ipFamilies: { vc1: families } }
  return {
    node: node(changes),
    settings,
    before: [],
    wasBound: false,
    holder: () => undefined,
    witness: () => NO_WITNESS,
  }
}

/** Another Node, which came after the one that is judged. */
function other(name: string): AddressHolder {
  const creationTimestamp = '2026-03-01T09:59:55Z'
  return {
    name,
    deletingSince: undefined,
    finalizers: [],
    creationTimestamp,
    verified: true,
    witness: NO_WITNESS,
    unseen: undefined,
  }
}

const both = (...list: string[]) =>
  ['InternalIP', 'ExternalIP'].flatMap((type) => list.map((address) => ({ type, address })))

for (const [name, row, ...expected] of ROWS) {
  t.test(name, async (t) => {
    const addresses = row.running?.flatMap((address) => both(address)) ?? []
    const running = { taints: [], providerID: `vsphere://${BIOS_UUID}`, addresses }
    const { interfaces = [], configured, nics = [{ mac: MAC }], guestNICs = [], staticAddresses = [] } = row
    const { addresses: found = [] } = chosen(
      spec({ interfaces, ...(configured && { cloudInit: { addresses: configured } }) }),
      vm({ nics, guestNICs, staticAddresses }),
      context({ providedNodeIP: row.nodeIP, ...(row.running && running) }, row.families),
    )
    const of = (type: string) => found.filter((a) => a.type === type).map(({ address }) => address)
    t.same(of('InternalIP'), expected)
    t.same(of('ExternalIP'), expected, 'external is internal where nothing is configured')
    t.equal(of('Hostname').length, expected.length > 0 ? 1 : 0)
  })
}

t.test('the hostname is the kubelet’s own, else the guest’s, else the Node’s name', async (t) => {
  const hostname = (own: { type: string; address: string }[], guest?: string, name = 'worker-1') => {
    const { hostname: _, ...rest } = spec()
    const { addresses } = chosen(
      guest === undefined ? rest : { ...rest, hostname: guest },
      vm(),
      context({ name, addresses: own }),
    )
    return addresses?.[0]?.address
  }
  t.equal(hostname([{ type: 'Hostname', address: 'kubelet' }], 'guest'), 'kubelet')
  t.equal(hostname([], 'guest'), 'guest')
  t.equal(hostname([], undefined), 'worker-1')
  t.equal(hostname([{ type: 'Hostname', address: 'x'.repeat(300) }], 'guest'), 'guest')
  t.equal(hostname([{ type: 'Hostname', address: 'a b' }], '-'), 'worker-1')
  t.equal(hostname([{ type: 'Hostname', address: '10.0.0.9' }], '10.0.0.9'), 'worker-1', 'another’s address')
  t.equal(hostname([{ type: 'Hostname', address: '10.0.0.9' }], 'guest', '10.0.0.9'), '10.0.0.9', 'its name')
  const taken = other('worker-2')
  const holder = (address: string) => (address === 'worker-2' ? taken : undefined)
  const its = [{ type: 'Hostname', address: 'Worker-2' }]
  const { addresses } = chosen(spec(), vm(), { ...context({ addresses: its }), holder })
  t.match(addresses, [{ type: 'Hostname', address: 'worker-1' }], 'another Node’s, in other letters')
})

t.test('a malformed choice of the kubelet is refused, not guessed', async (t) => {
  for (const providedNodeIP of ['10.0.0.5,10.0.0.6', 'eth0', '10.0.0.5,', '127.0.0.1']) {
    const { addresses, condition } = chosen(spec(), vm(), context({ providedNodeIP }))
    t.equal(addresses, undefined, providedNodeIP)
    t.match(condition, { status: 'False', reason: 'ProvidedIPMalformed', message: /--node-ip/ })
  }
})

t.test('of the kubelet’s choice that the machine does not show, the agent may know why', async (t) => {
  const wanted = context({ providedNodeIP: '10.0.0.9' })
  const said = (unreadable: NodeReportSpec['unreadable']) =>
    chosen(spec(unreadable === undefined ? {} : { unreadable }), vm(), wanted).condition
  t.match(said(undefined), { reason: 'ProvidedIPNotOnVM', message: /or bring the address up$/ })
  const other = { fact: 'routes', reason: 'Unreadable', message: 'no routes' }
  const cause = { fact: 'addresses[10.0.0.9]', reason: 'UnknownInterface', message: '10.0.0.9 is left out' }
  t.match(said([other, cause]), { message: /bring the address up; the agent says: 10\.0\.0\.9 is left out$/ })
})

t.test('an address that the agent leaves out is one that VMware Tools may report', async (t) => {
  const unreadable = [
    { fact: 'addresses[10.0.0.9]', reason: 'UnknownInterface', message: '10.0.0.9 is left out' },
  ]
  const internal = (report: NodeReportSpec, machine: VirtualMachine, changes: Partial<Node> = {}) =>
    chosen(report, machine, context(changes)).addresses?.find(({ type }) => type === 'InternalIP')?.address
  const asked = { providedNodeIP: '10.0.0.9' }
  const tools = (...addresses: string[]) => vm({ guestNICs: [guestNIC(addresses)] })
  const partial = spec({ unreadable, interfaces: [nic([V4])] })
  t.equal(internal(partial, tools('10.0.0.5', '10.0.0.9'), asked), '10.0.0.9')
  t.equal(internal(partial, tools('10.0.0.9', '10.0.0.5')), '10.0.0.5', 'what the agent sees comes first')
  t.equal(internal(partial, tools('10.0.0.5'), asked), undefined)
  const whole = spec({ interfaces: [nic([V4])] })
  t.equal(internal(whole, tools('10.0.0.5', '10.0.0.9'), asked), undefined, 'the agent leaves nothing out')
  const old = spec({ unreadable, interfaces: [nic([V4, { ...at('10.0.0.9'), deprecated: true }])] })
  t.equal(internal(old, tools('10.0.0.5', '10.0.0.9'), asked), undefined, 'it passes this one over')

  const running = { taints: [], providerID: `vsphere://${BIOS_UUID}`, addresses: both('10.0.0.9') }
  t.equal(internal(partial, tools('10.0.0.5', '10.0.0.9'), running), '10.0.0.9')
  t.equal(internal(partial, tools('10.0.0.5'), running), '10.0.0.5')

  const restarting = vm({ guestNICs: [] })
  t.equal(internal(partial, restarting, running), '10.0.0.9', 'Tools that report nothing move no Node')
  t.equal(
    internal(partial, restarting, { ...running, ...asked }),
    '10.0.0.9',
    'nor where the kubelet asks for it',
  )
  t.equal(internal(partial, restarting, asked), undefined, 'a new Node does not get what nobody sees')
  t.equal(internal(whole, restarting, running), '10.0.0.5', 'the agent leaves nothing out')
  const former = { ...running, addresses: both('10.0.0.7') }
  t.equal(internal(partial, restarting, former), '10.0.0.5', 'nor is another one kept')
})

t.test('an address that another Node was verified with is not taken over', async (t) => {
  const seen = (...addresses: string[]) => spec({ interfaces: [nic(addresses.map((each) => at(each)))] })
  const victim = other('victim')
  const holder = (address: string) => (address === '10.0.0.7' ? victim : undefined)
  const one = chosen(seen('10.0.0.7', '10.0.0.5'), vm(), { ...context({}), holder })
  t.equal(one.addresses?.[1]?.address, '10.0.0.5', 'another one does')
  t.match(one, {
    holders: ['victim'],
    condition: { status: 'False', reason: 'AddressOfAnotherNode', message: /victim/ },
  })

  const none = chosen(seen('10.0.0.7'), vm(), { ...context({}), holder })
  t.match(none, { addresses: undefined, holders: ['victim'], condition: { reason: 'AddressOfAnotherNode' } })

  const given = { ...context({ providedNodeIP: '10.0.0.7' }), holder }
  const wanted = chosen(seen('10.0.0.7', '10.0.0.5'), vm(), given)
  t.match(wanted, { addresses: undefined, condition: { reason: 'AddressOfAnotherNode' } }, 'nor the kubelet')

  const before = [{ type: 'InternalIP', address: '10.0.0.7' }] as const
  const kept = chosen(seen('10.0.0.7'), vm(), { ...context({}), before, holder })
  t.match(kept, { holders: [], condition: { status: 'True' } }, 'who had it before keeps it')

  const tools = vm({ guestNICs: [guestNIC(['10.0.0.7'])] })
  const byGuest = chosen(seen(), tools, { ...context({}), holder })
  t.match(byGuest, { addresses: undefined, holders: ['victim'] }, 'nor on the word of VMware Tools')

  const leaving = { ...victim, deletingSince: '2026-03-01T09:00:00Z', finalizers: ['a.io/b', 'c'] }
  const { message } = chosen(seen('10.0.0.7'), vm(), { ...context({}), holder: () => leaving }).condition
  t.match(message, '10.0.0.7 (of Node victim); deletion of Node victim was requested at 2026-03-01T09:00:00Z')
  t.match(message, /its finalizers a\.io\/b, c are not removed; .*kubectl patch node victim/)
  t.notMatch(message, /delete the other Node/, 'which changes nothing')

  const unseen = { ...victim, unseen: 'remove the clone' }
  const silent = chosen(seen('10.0.0.7'), vm(), { ...context({}), holder: () => unseen })
  t.match(
    silent.condition.message,
    /one address; vCenter does not say whether Node victim has it: remove the clone$/,
  )
})

t.test('of two Nodes that were verified with one address, the younger one lets go of it', async (t) => {
  const before = [
    { type: 'Hostname', address: 'worker-1' },
    { type: 'InternalIP', address: '10.0.0.5' },
  ] as const
  const judge = (changes: Partial<AddressHolder>) => {
    const holder = (address: string) =>
      address === '10.0.0.5' ? { ...other('worker-2'), ...changes } : undefined
    const { taints: _, ...running } = { ...node(), providerID: `vsphere://${BIOS_UUID}` }
    return chosen(spec(), vm(), { ...context({ ...running, taints: [] }), before, holder })
  }
  t.match(judge({}), { lost: [], condition: { status: 'True' } }, 'this one is older')
  t.match(judge({ creationTimestamp: '2026-03-01T09:59:50Z' }), { lost: [] }, 'or first by its name')
  const older = judge({ creationTimestamp: '2026-03-01T09:59:49Z' })
  t.match(older, {
    addresses: undefined,
    lost: ['10.0.0.5'],
    holders: ['worker-2'],
    condition: { status: 'False', reason: 'AddressOfAnotherNode', message: /worker-2/ },
  })
  const unverified = { creationTimestamp: '2026-03-01T09:59:49Z', verified: false }
  t.match(judge(unverified), { lost: [] }, 'a kubelet may write any address on its own Node')
})

t.test('an address that VMware Tools may not be asked for is said to be missing for that', (t) => {
  const { condition } = chosen(
    spec({ interfaces: [] }),
    vm({ guestNICs: [], unreadable: ['guestNICs'] }),
    context({ addresses: [] }),
  )
  t.match(condition, { reason: 'NoAddress', message: /account is not allowed to read guest\.net/ })
  t.end()
})

function resolve(changes: {
  readonly interfaces?: Interfaces
  readonly vm?: Partial<VirtualMachine>
  readonly node?: Partial<Node>
  readonly families?: readonly IPFamily[]
  readonly nodes?: Partial<NodesConfig>
}) {
  const { interfaces = [nic([V4, V6])], families, nodes, ...of } = changes
  const { settings, ...rest } = context(of.node ?? {}, families)
  return chosen(spec({ interfaces }), vm(of.vm), {
    ...rest,
    settings: { ...settings, nodes: { ...settings.nodes, ...nodes } },
  })
}

const HOSTNAME = { type: 'Hostname', address: 'worker-1' }

t.test('they stand in the order of the CPI, those of the kubelet first', async (t) => {
  const families = BOTH
  const ofSubnets = {
    internalNetworkSubnetCidr: ['10.0.0.0/8'],
    externalNetworkSubnetCidr: ['192.0.2.0/24'],
  }
  const interfaces = [nic([V4, at('192.0.2.5'), V6])]
  const cases: readonly [Parameters<typeof resolve>[0], { type: string; address: string }[]][] = [
    [{ families }, [HOSTNAME, ...both('10.0.0.5', '2001:db8::5')]],
    [{ families, node: { providedNodeIP: '10.0.0.5' } }, [...both('10.0.0.5'), HOSTNAME]],
    [
      { families, node: { providedNodeIP: '2001:db8::5,10.0.0.5' } },
      [...both('2001:db8::5', '10.0.0.5'), HOSTNAME],
    ],
    [
      { interfaces, families: ['ipv4'], nodes: ofSubnets, node: { providedNodeIP: '192.0.2.5' } },
      [{ type: 'ExternalIP', address: '192.0.2.5' }, HOSTNAME, { type: 'InternalIP', address: '10.0.0.5' }],
    ],
  ]
  for (const [changes, expected] of cases)
    t.same(resolve(changes).addresses, expected, JSON.stringify(changes.node))
})

t.test('a family that is missing is told, and a new Node waits for it unless it need not', async (t) => {
  const interfaces = [nic([V4])]
  const families = BOTH
  const waits = resolve({ interfaces, families })
  t.match(waits, { awaitsAddresses: true, condition: { status: 'False', reason: 'FamilyMissing' } })
  t.match(waits.condition.message, /10\.0\.0\.5 .*asks for IPv6 too.*waits.*nodes\.requireAllFamilies/)
  t.same(waits.addresses, [HOSTNAME, ...both('10.0.0.5')], 'the one that is there is written')
  const goes = resolve({ interfaces, families, nodes: { requireAllFamilies: false } })
  t.match(goes, { awaitsAddresses: false, condition: { reason: 'FamilyMissing', message: /is added once/ } })
  t.same(goes.addresses, waits.addresses)
  const chosen = resolve({ interfaces, families, node: { providedNodeIP: '10.0.0.5' } })
  t.match(chosen, { awaitsAddresses: false, condition: { status: 'True' } }, 'the kubelet has chosen one')
})

t.test('what ipFamily leaves out is told', async (t) => {
  t.match(resolve({}).condition, { status: 'True', message: /2001:db8::5 is left out.*IPv6/ })
  t.match(resolve({ interfaces: [nic([V6])] }), {
    addresses: undefined,
    condition: { reason: 'NoAddress', message: /no IPv4 address.*vc1.*2001:db8::5; write ipv6 there/ },
  })
})

t.test('a choice of the kubelet that the configuration forbids is refused', async (t) => {
  const other = resolve({ node: { providedNodeIP: '10.0.0.5,2001:db8::5' } })
  t.match(other, {
    addresses: undefined,
    condition: { status: 'False', reason: 'ProvidedIPOfOtherFamily', message: /2001:db8::5 .*vc1 \(ipv4\)/ },
  })
  const nodes = {
    excludeInternalNetworkSubnetCidr: ['10.0.0.0/8'],
    excludeExternalNetworkSubnetCidr: ['10.0.0.0/8'],
  }
  const node = { providedNodeIP: '10.0.0.5' }
  t.match(resolve({ node, nodes }), { addresses: undefined, condition: { reason: 'ProvidedIPExcluded' } })
  t.match(resolve({ nodes }), {
    addresses: undefined,
    condition: { reason: 'NoAddress', message: /excluded \(10\.0\.0\.5\)/ },
  })
})

t.test('against subnets the choice of the kubelet stands, where it is not excluded', async (t) => {
  const interfaces = [nic([V4, at('192.0.2.5')])]
  const node = { providedNodeIP: '192.0.2.5' }
  const nodes = { internalNetworkSubnetCidr: ['10.0.0.0/8'] }
  const internal = { type: 'InternalIP', address: '192.0.2.5' }
  t.same(resolve({ interfaces, node, nodes }).addresses, [internal, HOSTNAME])
  const excluded = { ...nodes, excludeInternalNetworkSubnetCidr: ['192.0.2.0/24'] }
  t.same(resolve({ interfaces, node, nodes: excluded }).addresses, [
    { type: 'ExternalIP', address: '192.0.2.5' },
    HOSTNAME,
    { type: 'InternalIP', address: '10.0.0.5' },
  ])
})

t.test('the choice of the kubelet moves the other kind only where it must', async (t) => {
  const interfaces = [nic([V4, at('192.0.2.5')])]
  const nodes = { excludeInternalNetworkSubnetCidr: ['10.0.0.0/8'] }
  const node = { providedNodeIP: '192.0.2.5' }
  t.same(resolve({ interfaces, node, nodes }).addresses, [
    { type: 'InternalIP', address: '192.0.2.5' },
    HOSTNAME,
    { type: 'ExternalIP', address: '10.0.0.5' },
  ])
  t.same(resolve({ interfaces, node }).addresses, [...both('192.0.2.5'), HOSTNAME])
})

t.test('the choice of the kubelet does not wait for a network', async (t) => {
  const nodes = { internalVmNetworkName: 'x' }
  const machine = { nics: [{ mac: MAC }] }
  const internal = { type: 'InternalIP', address: '10.0.0.5' }
  const chosen = { nodes, vm: machine, node: { providedNodeIP: '10.0.0.5' } }
  t.same(resolve(chosen).addresses, [internal, HOSTNAME])
  t.same(resolve({ ...chosen, families: BOTH }).addresses, [internal, HOSTNAME], 'nor for the other family')
  const addresses = [HOSTNAME, ...both('10.0.0.5')]
  const running = { ...chosen.node, taints: [], providerID: `vsphere://${BIOS_UUID}`, addresses }
  t.same(resolve({ ...chosen, node: running }).addresses, [...both('10.0.0.5'), HOSTNAME], 'both stay')
  const excluded = { ...nodes, excludeInternalNetworkSubnetCidr: ['10.0.0.0/24'] }
  const other = { interfaces: [nic([V4, at('10.1.0.5')])], nodes: excluded }
  t.match(resolve({ ...chosen, ...other }), {
    addresses: undefined,
    condition: { reason: 'NetworkUnknown' },
  })
})

t.test('what a kubelet wrote on a new Node is no choice', async (t) => {
  const interfaces = [nic([V4, at('10.0.0.8')])]
  const node = { addresses: [HOSTNAME, ...both('10.0.0.8')] }
  t.same(resolve({ interfaces, node }).addresses, [HOSTNAME, ...both('10.0.0.5')])
})

t.test('the ExternalIP of a running Node follows its InternalIP, unless it has its own', async (t) => {
  const running = { taints: [], providerID: `vsphere://${BIOS_UUID}` }
  const internal = { type: 'InternalIP', address: '10.0.0.5' }
  const external = { type: 'ExternalIP', address: '10.0.0.5' }
  const own = { type: 'ExternalIP', address: '192.168.9.5' }
  const guestNICs = [guestNIC(['192.168.9.5', '10.0.0.5'])]
  const after = (...addresses: { type: string; address: string }[]) =>
    resolve({ interfaces: [], vm: { guestNICs }, node: { ...running, addresses: [HOSTNAME, ...addresses] } })
      .addresses
  t.same(after(internal), [HOSTNAME, internal, external])
  t.same(after(internal, own), [HOSTNAME, internal, own])
  t.same(after(internal, { ...own, address: '192.168.9.6' }), [HOSTNAME, internal, external], 'gone')
})

t.test('what is not seen stays only where the configuration allows it', async (t) => {
  const addresses = [HOSTNAME, ...both('10.0.0.5')]
  const running = { taints: [], providerID: `vsphere://${BIOS_UUID}`, addresses }
  const [internal, external] = both('10.0.0.5')
  const cases: readonly [Partial<NodesConfig>, unknown][] = [
    [{}, addresses],
    [{ excludeInternalNetworkSubnetCidr: ['10.0.0.0/8'] }, [HOSTNAME, external]],
    [{ excludeExternalNetworkSubnetCidr: ['10.0.0.0/8'] }, [HOSTNAME, internal]],
    [{ externalIP: 'none' }, [HOSTNAME, internal]],
    [{ externalIP: 'none', externalNetworkSubnetCidr: ['10.0.0.0/8'] }, addresses],
    [{ externalIP: 'none', externalVmNetworkName: 'public' }, addresses],
  ]
  for (const [nodes, expected] of cases)
    t.same(resolve({ interfaces: [], node: running, nodes }).addresses, expected, JSON.stringify(nodes))
})

t.test('a kubelet that writes other addresses on a running Node brings none in', async (t) => {
  const running = {
    taints: [],
    providerID: `vsphere://${BIOS_UUID}`,
    addresses: [HOSTNAME, ...both('10.0.0.8')],
  }
  const before = [
    { type: 'InternalIP', address: '10.0.0.5' },
    { type: 'ExternalIP', address: '10.0.0.5' },
  ] as const
  const choose = (...addresses: Entry[]) =>
    chosen(spec({ interfaces: [nic(addresses)] }), vm(), { ...context(running), before }).addresses
  t.same(choose(), [HOSTNAME, ...both('10.0.0.5')], 'neither while none is seen')
  t.same(choose(at('10.0.0.8'), V4), [HOSTNAME, ...both('10.0.0.5')], 'nor by preference')
})

t.test('a network is known by VMware Tools, or by the hardware', async (t) => {
  const interfaces = [nic([V4]), nic([at('10.1.0.5')], { mac: SECOND_MAC })]
  const nodes = { internalVmNetworkName: 'net-b' }
  const internal = [HOSTNAME, { type: 'InternalIP', address: '10.1.0.5' }]
  const nics = [{ mac: MAC }, { mac: SECOND_MAC }]
  const told = [guestNIC([], { network: 'net-a' }), guestNIC([], { mac: SECOND_MAC, network: 'Net-B' })]
  t.same(resolve({ interfaces, nodes, vm: { nics, guestNICs: told } }).addresses, internal)
  const wired = [
    { mac: MAC, network: 'net-a' },
    { mac: SECOND_MAC, network: 'net-b' },
  ]
  t.same(resolve({ interfaces, nodes, vm: { nics: wired } }).addresses, internal)
  t.match(resolve({ interfaces, nodes, vm: { nics } }), {
    addresses: undefined,
    condition: { status: 'False', reason: 'NetworkUnknown', message: /10\.0\.0\.5, 10\.1\.0\.5.*Tools/ },
  })
  const neither = { internalVmNetworkName: 'net-x', externalVmNetworkName: 'net-y' }
  t.match(resolve({ interfaces, nodes: neither, vm: { nics: wired } }), {
    addresses: undefined,
    condition: { reason: 'InOtherNetworks', message: /net-a, net-b/ },
  })
})
