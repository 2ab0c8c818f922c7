/** The written set: what each setting does, and where the two are meant to differ. */
import type { Verdict } from './compare.ts'
import type { Configured, ReportedMachine } from './oracle.ts'

interface AddressCase extends Configured {
  readonly name: string
  readonly verdict: Verdict
  /** Of what `docs/differences.md` says it is an example, by the words of its first column. */
  readonly shows?: string
}

const NODE_IP = '`--node-ip` on the VM that subnets, networks or order would not choose'
const STATIC = "Static addresses of cloud-init's metadata"

/** A configuration in YAML with these settings of a vCenter and under `nodes`. */
export function fileOf(ipFamily: string, nodes: Readonly<Record<string, string>> = {}): string {
  const lines = Object.entries(nodes).map(([key, value]) => `  ${key}: ${JSON.stringify(value)}`)
  return [
    'global:',
    '  insecureFlag: true',
    '  port: @PORT@',
    'vcenter:',
    '  main:',
    '    server: @HOST@',
    '    user: u',
    '    password: p',
    ...(ipFamily === '' ? [] : [`    ipFamily: ${ipFamily}`]),
    ...(lines.length === 0 ? [] : ['nodes:', ...lines]),
    '',
  ].join('\n')
}

export function nic(place: number, network: string, ...addresses: string[]): ReportedMachine['nics'][number] {
  return { mac: `00:50:56:8e:00:0${place}`, network, deviceConfigID: 4000 + place, addresses }
}

export function metadata(text: string, encoding = 'base64'): NonNullable<ReportedMachine['guestinfo']> {
  return {
    'guestinfo.metadata': encoding === '' ? text : Buffer.from(text).toString('base64'),
    ...(encoding === '' ? {} : { 'guestinfo.metadata.encoding': encoding }),
  }
}

const ONE: ReportedMachine = { nics: [nic(0, 'net-a', '10.0.0.5')] }
const TWO: ReportedMachine = {
  nics: [nic(0, 'net-a', '10.0.0.5', 'fd00::5'), nic(1, 'net-b', '10.1.0.5', '192.0.2.5')],
}
const fixed = (...list: string[]) =>
  `network: {ethernets: {id0: {addresses: [${list.map((one) => `"${one}/24"`).join()}]}}}`
const BOTH = '[ipv4, ipv6]'
const same = (name: string, text: string, ...machines: ReportedMachine[]): AddressCase => ({
  name,
  text,
  machines,
  verdict: 'same',
})
const wait = (name: string, text: string, ...machines: ReportedMachine[]): AddressCase => ({
  name,
  text,
  machines,
  verdict: 'neither',
})
const only = (shows: string, text: string, ...machines: ReportedMachine[]): AddressCase => ({
  name: shows,
  text,
  machines,
  verdict: 'only Rollcall',
  shows,
})

export const CASES: readonly AddressCase[] = [
  same('nothing configured', fileOf(''), ONE, TWO),
  same('IPv4 alone', fileOf('[ipv4]'), ONE, TWO),
  same('IPv6 alone', fileOf('[ipv6]'), TWO),
  same('both families', fileOf(BOTH), TWO),
  same('both, the other way', fileOf('[ipv6, ipv4]'), TWO),
  wait('a family that is missing', fileOf(BOTH), ONE),
  wait('no IPv4 address', fileOf(''), { nics: [nic(0, 'net-a', 'fd00::5')] }),
  wait('nothing reported', fileOf(''), { nics: [] }),
  wait('no address', fileOf(''), { nics: [nic(0, 'net-a')] }),
  wait('local addresses alone', fileOf(BOTH), {
    nics: [nic(0, 'net-a', '127.0.0.1', '169.254.1.1', 'fe80::1', '::1')],
  }),
  same('local ones first', fileOf(''), { nics: [nic(0, 'net-a', '169.254.1.1', '10.0.0.5')] }),
  same('what is no vNIC', fileOf(''), {
    nics: [{ ...nic(1, 'net-a', '10.244.0.1'), deviceConfigID: -1 }, nic(0, 'net-a', '10.0.0.5')],
  }),
  same('an internal subnet', fileOf('', { internalNetworkSubnetCidr: '10.1.0.0/16' }), TWO),
  same('an external subnet', fileOf('', { externalNetworkSubnetCidr: '192.0.2.0/24' }), TWO),
  same(
    'a subnet each',
    fileOf('', { internalNetworkSubnetCidr: '10.1.0.0/16', externalNetworkSubnetCidr: '192.0.2.0/24' }),
    TWO,
  ),
  same('subnets in their order', fileOf('', { internalNetworkSubnetCidr: '192.0.2.0/24,10.0.0.0/8' }), TWO),
  same('a subnet of the other family', fileOf(BOTH, { internalNetworkSubnetCidr: 'fd00::/8' }), TWO),
  same('a mapped subnet', fileOf('', { internalNetworkSubnetCidr: '::ffff:10.1.0.0/112' }), TWO),
  same('a subnet in which nothing is', fileOf('', { internalNetworkSubnetCidr: '172.16.0.0/12' }), TWO),
  same('an internal network', fileOf('', { internalVmNetworkName: 'NET-B' }), TWO),
  same('an external network', fileOf('', { externalVmNetworkName: 'net-b' }), TWO),
  same('a network each', fileOf('', { internalVmNetworkName: 'net-a', externalVmNetworkName: 'net-b' }), TWO),
  same('a network in which nothing is', fileOf('', { internalVmNetworkName: 'net-x' }), TWO),
  wait(
    'two networks in which nothing is',
    fileOf('', {
      internalVmNetworkName: 'net-x',
      externalVmNetworkName: 'net-y',
      internalNetworkSubnetCidr: '10.0.0.0/8',
    }),
    TWO,
  ),
  same(
    'a subnet and a network',
    fileOf('', { internalNetworkSubnetCidr: '10.1.0.0/16', externalVmNetworkName: 'net-a' }),
    TWO,
  ),
  same('excluded inside', fileOf('', { excludeInternalNetworkSubnetCidr: '10.0.0.0/16' }), TWO),
  same('excluded outside', fileOf('', { excludeExternalNetworkSubnetCidr: '10.0.0.0/8' }), TWO),
  same('excluded on one side alone', fileOf('', { excludeInternalNetworkSubnetCidr: '0.0.0.0/0' }), ONE),
  wait(
    'excluded on both sides',
    fileOf('', {
      excludeInternalNetworkSubnetCidr: '10.0.0.0/8',
      excludeExternalNetworkSubnetCidr: '10.0.0.0/8',
    }),
    ONE,
  ),
  same('the kubelet names what would be chosen', fileOf(''), { ...TWO, nodeIP: '10.0.0.5' }),
  same('the kubelet names one family of two', fileOf(BOTH), { ...TWO, nodeIP: 'fd00::5' }),
  same('the kubelet names two families', fileOf(BOTH), { ...TWO, nodeIP: 'fd00::5,10.0.0.5' }),
  same(
    'the kubelet names the external one',
    fileOf('', { internalNetworkSubnetCidr: '10.0.0.0/8', externalNetworkSubnetCidr: '192.0.2.0/24' }),
    { ...TWO, nodeIP: '192.0.2.5' },
  ),
  same(
    'the kubelet names the internal one, where the external one is another',
    fileOf('', { excludeInternalNetworkSubnetCidr: '10.0.0.0/24' }),
    { ...TWO, nodeIP: '10.1.0.5' },
  ),
  wait('the kubelet names what is not there', fileOf(''), { ...ONE, nodeIP: '10.9.9.9' }),
  wait('the kubelet names another family', fileOf(''), { ...TWO, nodeIP: 'fd00::5' }),
  wait('the kubelet names another family besides', fileOf(''), { ...TWO, nodeIP: '10.0.0.5,fd00::5' }),
  wait('the kubelet names nonsense', fileOf(''), { ...ONE, nodeIP: 'eth0' }),
  same('static ones first', fileOf(''), { ...TWO, guestinfo: metadata(fixed('192.0.2.5', '10.1.0.5')) }),
  same('static ones with an impossible prefix', fileOf(''), {
    ...TWO,
    guestinfo: metadata('network: {ethernets: {id0: {addresses: [192.0.2.5/64, 10.1.0.5/255.255.0.0]}}}'),
  }),
  same('static ones that are not there', fileOf(''), { ...TWO, guestinfo: metadata(fixed('10.9.9.9')) }),
  same('static ones below a subnet', fileOf('', { internalNetworkSubnetCidr: '10.0.0.0/8' }), {
    ...TWO,
    guestinfo: metadata(fixed('192.0.2.5', '10.1.0.5')),
  }),
  only(NODE_IP, fileOf(''), { ...TWO, nodeIP: '192.0.2.5' }),
  only(NODE_IP, fileOf('', { internalNetworkSubnetCidr: '10.0.0.0/8' }), { ...TWO, nodeIP: '192.0.2.5' }),
  only('The same, with `--node-ip` of the other family alone', fileOf(BOTH), {
    ...ONE,
    nodeIP: '10.0.0.5',
  }),
  only('`--node-ip` with a space after the comma, or empty', fileOf(BOTH), {
    ...TWO,
    nodeIP: '10.0.0.5, fd00::5',
  }),
  only('`--node-ip` with a space after the comma, or empty', fileOf(''), { ...TWO, nodeIP: '' }),
  only(
    'Spaces in a list of subnets: `10.0.0.0/8, fd00::/8`',
    fileOf('', { internalNetworkSubnetCidr: '10.0.0.0/8, fd00::/8' }),
    ONE,
  ),
  only(STATIC, fileOf(''), { ...TWO, guestinfo: metadata('\t{') }),
  {
    ...same(STATIC, fileOf(''), { ...TWO, guestinfo: metadata(fixed('192.0.2.5'), '') }),
    verdict: 'different',
    shows: STATIC,
  },
  {
    ...wait('Multicast and broadcast addresses', fileOf(''), { nics: [nic(0, 'net-a', '239.1.1.1')] }),
    verdict: 'only the CPI',
    shows: 'Multicast and broadcast addresses',
  },
]
