import t from 'tap'
import { type FileTree, makeRoot } from '../testing/root.ts'
import type { AddressTable } from './addresses.ts'
import { readInterfaces } from './interfaces.ts'
import { readDefaultRoutes } from './kernel.ts'

const NET = 'sys/class/net'
const MAC = '00:50:56:8e:3f:74'
const OTHER = '00:50:56:8e:00:02'

function nic(name: string, mac: string, physical = true): FileTree {
  return { [`${NET}/${name}/address`]: `${mac}\n`, ...(physical ? { [`${NET}/${name}/device`]: null } : {}) }
}

function on(...cidrs: string[]) {
  return cidrs.map((cidr) => ({ address: cidr.split('/')[0] ?? '', cidr }))
}

/** Names of the interfaces that are reported, with their addresses as text. */
function read(root: string, table: AddressTable): string[] {
  const { interfaces: fact } = readInterfaces(root, table, readDefaultRoutes(root).interfaces)
  if (!fact.ok) return [fact.reason]
  return fact.value.map(({ name, defaultRoute, addresses }) => {
    const texts = addresses.map((one) => {
      const { address, prefixLength, ...flags } = one
      return [`${address}/${prefixLength}`, ...Object.keys(flags)].join(':')
    })
    return [name + (defaultRoute ? '*' : ''), ...texts].join(' ')
  })
}

t.test('which interfaces', (t) => {
  const route =
    'Iface Destination Gateway Flags RefCnt Use Metric Mask\neth1 00000000 0100000A 0003 0 0 100 00000000\n'
  for (const [name, tree, table, expected] of [
    ['a NIC without an address', nic('eth0', MAC), {}, ['eth0']],
    [
      'containers, loopback and strangers stay out',
      {
        ...nic('eth0', MAC),
        ...nic('lo', '00:00:00:00:00:00', false),
        ...nic('veth12ab', '6a:01:02:03:04:05', false),
        ...nic('cni0', '6a:01:02:03:04:06', false),
        ...nic('docker0', '02:42:00:00:00:01', false),
        [`${NET}/bonding_masters`]: 'bond0\n',
      },
      { eth0: on('10.0.0.5/24'), cni0: on('10.244.0.1/24'), docker0: on('172.17.0.1/16') },
      ['eth0 10.0.0.5/24'],
    ],
    [
      'a VLAN and a bridge on the NIC',
      {
        ...nic('eth0', MAC),
        ...nic('eth0.7', MAC, false),
        ...nic('br0', MAC, false),
        ...nic('br1', MAC, false),
      },
      { 'eth0.7': on('10.7.0.5/24'), br0: on('10.0.0.5/24') },
      ['br0 10.0.0.5/24', 'eth0.7 10.7.0.5/24', 'eth0'],
    ],
    [
      'the default route comes first',
      { ...nic('eth0', MAC), ...nic('eth1', OTHER), 'proc/net/route': route },
      { eth0: on('10.0.0.5/24'), eth1: on('10.1.0.5/24') },
      ['eth1* 10.1.0.5/24', 'eth0 10.0.0.5/24'],
    ],
    [
      'an unreachable default route is none',
      { ...nic('eth1', MAC), 'proc/net/route': route.replace('0003', '0201') },
      {},
      ['eth1'],
    ],
    [
      'a default route of IPv6',
      {
        ...nic('eth0', MAC),
        'proc/net/ipv6_route':
          '00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00450003     eth0\n' +
          '00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n',
      },
      {},
      ['eth0*'],
    ],
    [
      'names that every object has',
      { ...nic('constructor', MAC), ...nic('__proto__', OTHER), ...nic('valueOf', '00:50:56:8e:00:03') },
      { valueOf: on('10.0.0.5/24') },
      ['valueOf 10.0.0.5/24', '__proto__', 'constructor'],
    ],
    [
      'garbage',
      {
        [`${NET}/eth0/device`]: null,
        [`${NET}/eth0/address`]: 'x'.repeat(65_536),
        'proc/net/route': '\u0000\n\n',
      },
      { eth0: on('10.0.0.5/24') },
      [],
    ],
  ] as [string, FileTree, AddressTable, string[]][]) {
    t.same(read(makeRoot(t, tree), table), expected, name)
  }
  t.match(readInterfaces(makeRoot(t), {}, new Set()).interfaces, {
    ok: false,
    reason: 'Unreadable',
    message: /ENOENT$/,
  })
  t.end()
})

t.test('addresses with a label are those of their interface', (t) => {
  const head = 'Iface Destination Gateway Flags RefCnt Use Metric Mask\n'
  const connected = (name: string, destination: string, mask: string) =>
    `${name} ${destination} 00000000 0001 0 0 0 ${mask} 0 0 0\n`
  const table = [
    connected('eth0', '0008000A', '00FFFFFF'), // 10.0.8.0/24
    `eth1 0008000A 0100000A 0003 0 0 0 00FFFFFF 0 0 0\n`, // the same by a gateway
    connected('eth0', '0009000A', '00FFFFFF'), // 10.0.9.0/24, on both
    connected('eth1', '0009000A', '00FFFFFF'),
    connected('cni0', '0000F40A', '00FFFFFF'), // 10.244.0.0/24
    connected('eth1', '00000A0A', '0000FFFF'), // 10.10.0.0/16
    `eth1 00000B0A 00000000 0201 0 0 0 00FFFFFF 0 0 0\n`, // 10.11.0.0/24, rejected
    `eth1 00000C0A 00000000 0000 0 0 0 00FFFFFF 0 0 0\n`, // 10.12.0.0/24, down
  ]
  const root = makeRoot(t, {
    ...nic('eth0', MAC),
    ...nic('eth1', OTHER),
    ...nic('enp11s0f15.4000', MAC, false),
    ...nic('enp11s0f15', MAC, false),
    ...nic('enp1', MAC, false),
    ...nic('lo', '00:00:00:00:00:00', false),
    ...nic('cni0', '6a:01:02:03:04:06', false),
    'proc/net/route': head + table.join(''),
  })
  for (const [name, addresses, expected] of [
    [
      'as ifupdown writes them',
      { eth0: on('10.0.0.5/24'), 'eth0:0': on('10.1.0.5/24'), 'eth0:1': on('10.1.0.6/24') },
      ['eth0 10.0.0.5/24 10.1.0.5/24 10.1.0.6/24:secondary', 'eth1'],
    ],
    [
      'also where the first one has a label, as with netplan',
      { 'eth0:node': on('10.0.0.5/24'), eth0: on('10.0.0.9/24', '2001:db8::5/64') },
      ['eth0 10.0.0.5/24 2001:db8::5/64 10.0.0.9/24:secondary', 'eth1'],
    ],
    ['with two colons', { 'eth0:0:1': on('10.1.0.5/24') }, ['eth0 10.1.0.5/24', 'eth1']],
    [
      'that begins with the name, as ip took it for long',
      { eth0vip: on('10.1.0.5/32'), 'eth1-0:0': on('10.0.8.5/24') },
      ['eth0 10.1.0.5/32', 'eth1 10.0.8.5/24'],
    ],
    [
      'that begins with two names: the longer',
      { enp11s0f15a: on('10.1.0.5/32') },
      ['enp11s0f15 10.1.0.5/32', 'eth0', 'eth1'],
    ],
    [
      'of any form, by the network',
      { management: on('10.0.8.5/24'), 'e:0': on('10.0.8.6/24'), local: on('10.0.8.7/24') },
      ['eth0 10.0.8.5/24 10.0.8.6/24:secondary 10.0.8.7/24:secondary', 'eth1'],
    ],
    ['not where two interfaces are in the network', { management: on('10.0.9.5/24') }, ['eth0', 'eth1']],
    [
      'nor where the route is of a larger network, or is not in use',
      { one: on('10.10.0.5/24'), two: on('10.11.0.5/24'), three: on('10.12.0.5/24') },
      ['eth0', 'eth1'],
    ],
    ['but of that network', { one: on('10.10.0.5/16') }, ['eth1 10.10.0.5/16', 'eth0']],
    [
      'not of an interface with a number that has gone just now',
      {
        eth12: on('10.1.0.5/32', '2001:db8::6/64'),
        'eth0.7': on('10.1.0.6/32'),
        eth1vip: on('2001:db8::5/64'),
      },
      ['eth0', 'eth1'],
    ],
    ['nor where it is nowhere', { vip: on('10.7.0.5/32'), v6: on('2001:db8::5/64') }, ['eth0', 'eth1']],
    [
      'of a container interface or loopback',
      { 'cni0:0': on('10.1.0.5/24'), pods: on('10.244.0.1/24'), 'lo:0': on('10.1.0.6/32') },
      ['eth0', 'eth1'],
    ],
    [
      'with the longest name',
      { 'enp11s0f15.4000': on('10.1.0.5/24') },
      ['enp11s0f15.4000 10.1.0.5/24', 'eth0', 'eth1'],
    ],
  ] as [string, AddressTable, string[]][]) {
    t.same(read(root, addresses), expected, name)
  }
  t.end()
})

t.test('of an address whose interface nothing tells, the next step is said', (t) => {
  const root = makeRoot(t, { ...nic('eth0', MAC), ...nic('lo', '00:00:00:00:00:00', false) })
  const unplaced = (table: AddressTable) => readInterfaces(root, table, new Set()).unplaced
  t.same(unplaced({ vip: on('10.0.0.5/32') }), [
    {
      address: '10.0.0.5',
      why: {
        ok: false,
        reason: 'UnknownInterface',
        message:
          "10.0.0.5 is left out: the label vip does not tell on which interface it is; begin the label with the interface's name and a " +
          'colon, as in eth0:0',
      },
    },
  ])
  const named = (table: AddressTable) => unplaced(table).map(({ address }) => address)
  t.same(named({ vip: on('10.0.0.5/32', '10.0.0.6/32'), local: on('10.1.0.5/24') }), [
    '10.0.0.5',
    '10.0.0.6',
    '10.1.0.5',
  ])
  const many = unplaced({ vip: on(...[1, 2, 3, 4, 5, 6].map((last) => `10.0.0.${last}/32`)) })
  t.equal(many.length, 4)
  t.match(many[0]?.why, { message: /^10\.0\.0\.1 is left out, and 2 more: / })
  t.match(many[3]?.why, { message: '10.0.0.4 is left out too: label vip' })
  t.same(unplaced({ 'eth0:0': on('10.0.0.5/32'), 'lo:0': on('10.0.0.6/32') }), [])
  t.same(
    unplaced({ gone: on('2001:db8::5/64', '127.0.0.2/8', '169.254.1.1/32') }),
    [],
    'it would not be reported',
  )
  t.end()
})

t.test('the members of a bond have their own MAC addresses', (t) => {
  const root = makeRoot(t, {
    ...nic('eth0', MAC),
    ...nic('eth1', MAC),
    [`${NET}/eth0/bonding_slave/perm_hwaddr`]: `${MAC}\n`,
    [`${NET}/eth1/bonding_slave/perm_hwaddr`]: `${OTHER.toUpperCase()}\n`,
    ...nic('bond0', MAC, false),
  })
  const { interfaces: fact } = readInterfaces(root, { bond0: on('10.0.0.5/24') }, new Set())
  t.match(fact, {
    value: [
      { name: 'bond0', mac: MAC },
      { name: 'eth0', mac: MAC },
      { name: 'eth1', mac: OTHER },
    ],
  })
  t.end()
})

t.test('which addresses', (t) => {
  const if_inet6 = [
    '20010db8000000000000000000000005 02 40 00 80     eth0',
    '20010db80000000000000000000000a1 02 40 00 01     eth0',
    '20010db80000000000000000000000a2 02 40 00 21     eth0',
    '20010db80000000000000000000000b1 02 40 00 a0     eth0',
    '20010db80000000000000000000000c1 02 40 00 40     eth0',
    '20010db80000000000000000000000c2 02 40 00 88     eth0',
    'fe80000000000000025056fffe8e3f74 02 40 20 80     eth0',
  ]
  const root = makeRoot(t, { ...nic('eth0', MAC), 'proc/net/if_inet6': `${if_inet6.join('\n')}\nrubbish\n` })
  for (const [name, cidrs, expected] of [
    [
      'link-local and loopback',
      ['169.254.1.1/16', '127.0.0.2/8', 'fe80::1/64', '::1/128', '224.0.0.1/4'],
      [],
    ],
    ['one', ['10.0.0.5/24'], ['10.0.0.5/24']],
    ['two masks', ['10.0.0.5/24', '5.0.0.5/25'], ['10.0.0.5/24', '5.0.0.5/25']],
    [
      'the second of a subnet, and one of another mask',
      ['10.0.0.5/24', '10.0.0.6/24', '10.0.0.7/32', '10.0.1.5/24'],
      ['10.0.0.5/24', '10.0.0.7/32', '10.0.1.5/24', '10.0.0.6/24:secondary'],
    ],
    [
      'temporary and deprecated',
      ['2001:db8::a1/64', '2001:db8::a2/64', '2001:db8::b1/64', '2001:db8::5/64'],
      [
        '2001:db8::5/64',
        '2001:db8::a1/64:temporary',
        '2001:db8::a2/64:temporary:deprecated',
        '2001:db8::b1/64:deprecated',
      ],
    ],
    ['tentative and failed', ['2001:db8::c1/64', '2001:db8::c2/64'], []],
    ['with IPv4 in it', ['::ffff:10.0.0.1/128'], ['::ffff:10.0.0.1/128']],
    ['not addresses', ['10.0.0/24', '10.0.0.5/33', '10.0.0.5', 'fe80::1%eth0/64', '/'], []],
  ] as const) {
    t.same(read(root, { eth0: on(...cidrs) }), [['eth0', ...expected].join(' ')], name)
  }
  t.end()
})
