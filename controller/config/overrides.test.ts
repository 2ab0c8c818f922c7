import t from 'tap'
import type { Environment, GivenArguments } from './overrides.ts'
import { file, load, refusal } from './testing/load.ts'

const GLOBAL = 'global: {user: file-user, password: file-pw}\n'
const BARE = 'vcenter: {vc1: {server: vc.example.com}}\n'

/** What it comes to, passwords in clear, and the warnings. */
async function read(text: string, environment: Environment) {
  const { config, warnings } = await load(text, {}, environment)
  const vCenters = config.vCenters.map(({ password, ...rest }) => ({ ...rest, password: password.reveal() }))
  return { ...config, vCenters, warnings }
}

t.test('what overrides the settings under global, labels and nodes', async (t) => {
  const environment = {
    VSPHERE_USER: 'u',
    VSPHERE_PASSWORD: 'p=q',
    VSPHERE_VCENTER_PORT: '8443',
    VSPHERE_DATACENTER: 'a, b',
    VSPHERE_INSECURE: '1',
    VSPHERE_LABEL_ZONE: 'z',
    VSPHERE_LABEL_REGION: 'r',
  }
  const { vCenters, labels, warnings } = await read(BARE, environment)
  t.match(vCenters, [
    {
      name: 'vc1',
      user: 'u',
      password: 'p=q',
      port: 8443,
      datacenters: ['a', 'b'],
      trust: { kind: 'insecure' },
    },
  ])
  t.same(labels, { zone: 'z', region: 'r' })
  t.match(warnings, [/^environment: VSPHERE_INSECURE: no certificate is checked/])

  const both = await read(`${GLOBAL}${BARE}`, { VSPHERE_USER: 'u', VSPHERE_PASSWORD: '' })
  t.match(both.vCenters, [{ user: 'u', password: 'file-pw' }], 'an empty one counts as not set')
  t.same(both.warnings, [
    'environment: VSPHERE_USER: overrides global.user in the file: write it there, and remove this',
  ])
  t.match((await read(file(), { VSPHERE_USER: 'u' })).vCenters, [{ user: 'ops@vsphere.local' }], 'a default')
  t.match((await read(GLOBAL, { VSPHERE_VCENTER: 'vc-3' })).vCenters, [{ name: 'vc-3', user: 'file-user' }])
})

t.test('vCenters that variables name', async (t) => {
  const { vCenters, warnings } = await read(GLOBAL, {
    VSPHERE_VCENTER_1: 'vc.example.com',
    VCENTER_1_USERNAME: 'one',
    VCENTER_1_PASSWORD: 'a=b',
    VCENTER_1_INSECURE: 'true',
    VSPHERE_VCENTER_B: 'tenant',
    VCENTER_B_SERVER: '10.0.0.1',
    VCENTER_B_PORT: '1443',
    VCENTER_B_DATACENTERS: 'x,y',
    VCENTER_B_THUMBPRINT: 'ab'.repeat(20),
    VSPHERE_VCENTER_C: '',
  })
  t.match(vCenters, [
    {
      name: 'vc.example.com',
      server: 'vc.example.com',
      user: 'one',
      password: 'a=b',
      trust: { kind: 'insecure' },
    },
    {
      name: 'tenant',
      server: '10.0.0.1',
      port: 1443,
      user: 'file-user',
      password: 'file-pw',
      datacenters: ['x', 'y'],
      trust: { thumbprints: ['ab'.repeat(20)] },
    },
  ])
  t.equal(vCenters.length, 2)
  t.match(warnings, [/^environment: VCENTER_1_INSECURE: no certificate is checked/])

  const same = await read(file('    datacenters: [a]\n    port: 444'), {
    VSPHERE_VCENTER_X: 'vc1',
    VCENTER_X_PASSWORD: 'new',
    VCENTER_X_PORT: '445',
  })
  t.match(same.vCenters, [
    { name: 'vc1', server: 'vc.example.com', password: 'new', port: 445, datacenters: ['a'] },
  ])
  t.match(same.warnings, [
    'environment: VCENTER_X_PORT: overrides vcenter.vc1.port in the file',
    'environment: VCENTER_X_PASSWORD: overrides vcenter.vc1.password in the file',
  ])
})

t.test('no deletion', async (t) => {
  for (const value of ['', '0', 'true']) {
    const { lifecycle, warnings } = await read(file('', 'lifecycle: {deletion: on}'), {
      SKIP_NODE_DELETION: value,
    })
    t.equal(lifecycle.deletion, 'off')
    t.match(warnings, [/^environment: SKIP_NODE_DELETION: is set, so no Nodes are deleted, whatever/])
  }
})

t.test('what has no effect draws a warning, and what is anybody’s does not', async (t) => {
  const cases: readonly [Environment, string[]][] = [
    [{ VSPHERE_ROUNDTRIP_COUNT: '3' }, ['VSPHERE_ROUNDTRIP_COUNT: has no effect because calls to vCenter']],
    [{ ENABLE_ALPHA_DUAL_STACK: '1' }, ['ENABLE_ALPHA_DUAL_STACK: has no effect because two families']],
    [{ NSXT_PASSWORD: 'x', NSXT_USERNAME: '' }, ['NSXT_PASSWORD: has no effect because Rollcall']],
    [
      { VCENTER_A_PASSWORD: 'x' },
      ['VCENTER_A_PASSWORD: has no effect while VSPHERE_VCENTER_A names no vCenter'],
    ],
    [
      { VSPHERE_PASWORD: 'x' },
      ['VSPHERE_PASWORD: is not known and has no effect: did you mean VSPHERE_PASSWORD?'],
    ],
    [{ SKIP_NODES_DELETION: '' }, ['did you mean SKIP_NODE_DELETION?']],
    [{ VSPHERE_CLOUD_CONTROLLER_MANAGER_SERVICE_HOST: '10.0.0.1', VSPHERE_CSI_PORT: 'tcp://10.0.0.1:1' }, []],
    [{ PATH: '/bin', VCENTER: 'x', VSPHERE_: 'y', VSPHERE_VCENTER_: 'z', VCENTER_PASSWORD: 'x' }, []],
  ]
  for (const [environment, expected] of cases) {
    const { warnings } = await read(file(), environment)
    t.equal(warnings.length, expected.length, warnings.join(' | '))
    for (const [index, words] of expected.entries()) t.match(warnings[index], words)
  }
})

t.test('what is wrong is refused, by the name of the variable', async (t) => {
  const cases: readonly [string, Environment, string[]][] = [
    [
      GLOBAL,
      { VSPHERE_VCENTER_1: 'https://vc' },
      [
        'environment: VSPHERE_VCENTER_1: expected a host name or IP address, got one with a scheme',
        'is missing',
      ],
    ],
    [
      file(),
      { VSPHERE_VCENTER_PORT: 'tcp://10.0.0.1:443' },
      ['environment: VSPHERE_VCENTER_PORT: expected a number from 1 to 65535'],
    ],
    [file(), { VSPHERE_INSECURE: 'maybe' }, ['environment: VSPHERE_INSECURE: expected true or false']],
    [
      file(),
      { VSPHERE_SECRET_NAME: 'x y' },
      ['environment: VSPHERE_SECRET_NAME: expected the name of a Secret'],
    ],
    [
      file(),
      { VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR: '10.0.0.0' },
      ['environment: VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR: expected a subnet such as'],
    ],
    [
      GLOBAL,
      { VSPHERE_VCENTER_1: 'a', VSPHERE_VCENTER_2: 'a' },
      ['environment: VSPHERE_VCENTER_2: names the same vCenter as another variable'],
    ],
    [
      BARE,
      { VSPHERE_VCENTER_1: 'a', VCENTER_1_USERNAME: 'b' },
      ['vc1.user: is missing', 'vc1.password: is missing', 'environment: vcenter.a.password: is missing'],
    ],
    [
      file(),
      { VCENTER_Z_CAFILE: 'x', VSPHERE_VCENTER_Z: 'vc1' },
      ['environment: VCENTER_Z_CAFILE: x does not exist'],
    ],
  ]
  for (const [text, environment, expected] of cases) {
    const lines = await refusal(text, {}, environment)
    t.equal(lines.length, expected.length, lines.join(' | '))
    for (const words of expected)
      t.ok(
        lines.some((line) => line.includes(words)),
        `${words} in ${lines.join(' | ')}`,
      )
  }
})

t.test('no value of a variable is ever told', async (t) => {
  const marker = 'hunter2marker'
  for (const name of [
    'VSPHERE_VCENTER_PORT',
    'VSPHERE_INSECURE',
    'VSPHERE_THUMBPRINT',
    'VSPHERE_PASSWORD',
    'VSPHERE_PASWORD',
    'NSXT_PASSWORD',
    'VCENTER_A_PASSWORD',
    'VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR',
    'VSPHERE_SECRET_NAME',
  ]) {
    const said = await load(`${GLOBAL}${BARE}`, {}, { [name]: `${marker} x` }).then(
      ({ warnings }) => warnings.join('\n'),
      (error: unknown) => String(error),
    )
    t.notMatch(said, marker, name)
    t.match(said, name)
  }
})

const ALL: GivenArguments = { initializes: true, endsNodes: true, nodeLabels: {} }

async function withArguments(rest: string, given?: GivenArguments) {
  const { config, warnings, requireGiven } = await load(file('', rest), {}, {}, given)
  return { ...config, warnings, requireGiven }
}

t.test('a file that does not say how much a Node must prove', async (t) => {
  const plain = await withArguments('')
  t.equal(plain.identity.require, 'reported')
  t.equal(plain.requireGiven, false)
  t.same(plain.warnings, [])
  const cpi = await withArguments('', ALL)
  t.equal(cpi.identity.require, 'asserted')
  t.equal(cpi.requireGiven, true)
  t.match(cpi.warnings, [
    /^command line: identity\.require: is not set, .*"require: reported" under "identity"$/,
    /^command line: identity\.require: is for migration only/,
  ])
  const said = await withArguments('identity: {require: proven}', ALL)
  t.equal(said.identity.require, 'proven')
  t.equal(said.requireGiven, true)
  t.same(said.warnings, [])
})

t.test('without the lifecycle controller no Node is deleted or tainted', async (t) => {
  const given = { ...ALL, endsNodes: false }
  const plain = await withArguments('identity: {require: proven}', given)
  t.match(plain.lifecycle, { deletion: 'off', shutdownTaint: false, outOfServiceAfter: undefined })
  t.same(plain.warnings, [])
  const both = await withArguments(
    'identity: {require: proven}\nlifecycle: {deletion: dry-run, shutdownTaint: true, outOfServiceAfter: 10m}',
    given,
  )
  t.match(both.lifecycle, { deletion: 'off', shutdownTaint: false, outOfServiceAfter: undefined })
  t.same(
    both.warnings.map((warning) => /overrides (\S+)/.exec(warning)?.[1]),
    ['lifecycle.deletion', 'lifecycle.shutdownTaint', 'lifecycle.outOfServiceAfter'],
  )
  t.match((await withArguments('', ALL)).lifecycle, { deletion: 'on', shutdownTaint: true })
})

t.test('what the command line alone can say', async (t) => {
  t.same((await withArguments('')).initialization, { on: true, labels: {} })
  const given = { ...ALL, initializes: false, nodeLabels: { a: 'b' } }
  t.same((await withArguments('', given)).initialization, { on: false, labels: { a: 'b' } })
})
