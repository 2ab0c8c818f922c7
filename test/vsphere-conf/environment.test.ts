/** What the CPI's own reader makes of its environment variables, against ours: the table of the docs, tried out. */
import t from 'tap'
import {
  GLOBAL_VARIABLES,
  IDLE_SUFFIX,
  IDLE_VARIABLES,
  LABEL_VARIABLES,
  NODE_VARIABLES,
  SKIP_DELETION,
  VCENTER_VARIABLES,
} from '../../controller/config/settings/environment.ts'
import { compare } from './compare.ts'
import type { ComparisonOutcome } from './differences.ts'

const TEXT = `global: {user: file-user, password: file-pw}
vcenter: {vc1: {server: vc.example.com}}
labels: {zone: k8s-zone}
`
/** Names a vCenter besides. The CPI leaves it no IP family unless that is set, to whatever. */
const NAMED = { VSPHERE_VCENTER_1: 'vc-2.example.com', VCENTER_1_IP_FAMILY: 'ipv4' }
const SHA1 = '5E:A4:E3:51:C8:5B:F9:1F:8D:5D:D2:25:12:DD:17:C0:37:D2:C0:5C'

const CASES: readonly [Readonly<Record<string, string>>, ComparisonOutcome][] = [
  [{}, 'same'],
  [NAMED, 'same'],
  // Meant for all, but the CPI has made its vCenters by then.
  [{ VSPHERE_VCENTER: 'vc-3.example.com' }, 'other values'],
  [{ VSPHERE_VCENTER_PORT: '8443' }, 'other values'],
  [{ VSPHERE_USER: 'u' }, 'other values'],
  [{ VSPHERE_PASSWORD: 'p' }, 'other values'],
  [{ VSPHERE_DATACENTER: 'a,b' }, 'other values'],
  [{ VSPHERE_CAFILE: '/etc/cloud/ca.pem' }, 'other values'],
  [{ VSPHERE_THUMBPRINT: SHA1 }, 'other values'],
  [{ VSPHERE_INSECURE: 'true' }, 'other values'],
  [{ VSPHERE_SECRET_NAME: 's', VSPHERE_SECRET_NAMESPACE: 'n' }, 'other values'],
  [{ VSPHERE_SECRETS_DIRECTORY: '/nowhere' }, 'other values'],
  [{ VSPHERE_LABEL_ZONE: 'z', VSPHERE_LABEL_REGION: 'r' }, 'same'],
  [
    {
      VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR: '192.0.2.0/24',
      VSPHERE_NODES_EXTERNAL_NETWORK_SUBNET_CIDR: '198.51.100.0/24,2001:db8::/32',
      VSPHERE_NODES_INTERNAL_VM_NETWORK_NAME: 'VM Network',
      VSPHERE_NODES_EXTERNAL_VM_NETWORK_NAME: 'Outside',
    },
    'same',
  ],
  [{ ...NAMED, VCENTER_1_SERVER: '10.0.0.1', VCENTER_1_PORT: '8443', VCENTER_1_DATACENTERS: 'a,b' }, 'same'],
  [{ ...NAMED, VCENTER_1_USERNAME: 'u', VCENTER_1_PASSWORD: 'p' }, 'same'],
  [{ ...NAMED, VCENTER_1_CAFILE: '/etc/cloud/ca.pem' }, 'same'],
  [{ ...NAMED, VCENTER_1_THUMBPRINT: SHA1 }, 'same'],
  // A value with an equals sign is not found.
  [{ ...NAMED, VCENTER_1_PASSWORD: 'p=q' }, 'other values'],
  [{ ...NAMED, VCENTER_1_INSECURE: 'true' }, 'other values'],
  [{ VSPHERE_VCENTER_1: 'vc-2.example.com' }, 'other values'],
  [{ ...NAMED, VCENTER_1_IP_FAMILY: 'ipv6' }, 'other values'],
  // The CPI keeps the global account beside a Secret here, and refers to the Secret by the vCenter's name.
  [{ ...NAMED, VCENTER_1_SECRET_NAME: 's', VCENTER_1_SECRET_NAMESPACE: 'n' }, 'other values'],
  [{ ...NAMED, VCENTER_1_ROUNDTRIP: '7' }, 'same'],
  [Object.fromEntries([...IDLE_VARIABLES, SKIP_DELETION].map(({ name }) => [name, '1'])), 'same'],
]

await t.test('each variable does what the docs say', async (t) => {
  const compared = await compare(CASES.map(([environment]) => ({ text: TEXT, environment })))
  for (const [index, [environment, expected]] of CASES.entries()) {
    const { outcome, cpi, rollcall } = compared[index] ?? {}
    t.equal(outcome, expected, JSON.stringify({ environment, cpi, rollcall }))
  }
})

await t.test('each variable of the table is tried', async (t) => {
  const tried = new Set(CASES.flatMap(([environment]) => Object.keys(environment)))
  const fixed = [GLOBAL_VARIABLES, LABEL_VARIABLES, NODE_VARIABLES].flatMap((some) => Object.values(some))
  const suffixes = [...Object.values(VCENTER_VARIABLES), IDLE_SUFFIX].map(({ name }) => `VCENTER_1_${name}`)
  for (const name of [...fixed.map(({ name }) => name), ...suffixes]) t.ok(tried.has(name), name)
})
