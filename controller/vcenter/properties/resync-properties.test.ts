import t from 'tap'
import { child, childrenOf, readXML, textOf, type XMLElement } from '../wire/xml.ts'
import { CLAIM_PATH, METADATA_PATH, readName } from './property-values.ts'
import { changeMachine, enterMachine } from './pushed-properties.ts'
import { readMachine } from './resync-properties.ts'

/** Properties by name, from the XML of their values. */
async function values(properties: Record<string, string>): Promise<Map<string, XMLElement>> {
  const text = Object.entries(properties)
    .map(([name, value]) => `<p><name>${name.replaceAll('"', '&quot;')}</name>${value}</p>`)
    .join('')
  const document = await readXML(
    (async function* () {
      yield new TextEncoder().encode(`<a xmlns:x="http://www.w3.org/2001/XMLSchema-instance">${text}</a>`)
    })(),
    'a',
  )
  return new Map(
    childrenOf(document, 'p').flatMap((each) => {
      const name = textOf(each, 'name')
      const value = child(each, 'val')
      return name === undefined || value === undefined ? [] : [[name, value] as const]
    }),
  )
}

const HEALTHY = {
  name: '<val>web%2f1</val>',
  'config.uuid': '<val>1E100000-0000-4000-8000-000000000001</val>',
  'config.instanceUuid': '<val>50000000-0000-4000-8000-000000000001</val>',
  'config.template': '<val>false</val>',
  'config.guestId': '<val>ubuntu64Guest</val>',
  'config.hardware.numCPU': '<val>4</val>',
  'config.hardware.memoryMB': '<val>8192</val>',
  'config.hardware.device':
    '<val><VirtualDevice x:type="VirtualVmxnet3"><key>4000</key><backing><deviceName>VM Network</deviceName></backing>' +
    '<macAddress>00:50:56:AB:00:01</macAddress></VirtualDevice>' +
    '<VirtualDevice x:type="VirtualDisk"><key>2000</key></VirtualDevice></val>',
  'runtime.connectionState': '<val>connected</val>',
  'runtime.powerState': '<val>poweredOn</val>',
  'runtime.host': '<val type="HostSystem">host-1</val>',
  [CLAIM_PATH]: '<val x:type="OptionValue"><key>guestinfo.rollcall.claim</key><value>c1</value></val>',
  [METADATA_PATH]:
    '<val x:type="OptionValue"><key>guestinfo.metadata</key>' +
    '<value>network: {ethernets: {a: {addresses: [10.0.0.5/24]}}}</value></val>',
}

t.test('a healthy VM', async (t) => {
  t.match(readMachine('vm-1', await values(HEALTHY), undefined), {
    moref: 'vm-1',
    name: 'web/1',
    biosUUID: '1e100000-0000-4000-8000-000000000001',
    template: false,
    cpus: 4,
    memoryMB: 8192,
    nics: [{ mac: '00:50:56:ab:00:01', network: 'VM Network' }],
    staticAddresses: ['10.0.0.5/24'],
    guestNICs: [],
    claim: 'c1',
    host: { type: 'HostSystem', value: 'host-1' },
    parent: undefined,
  })
})

t.test('an inaccessible VM keeps what was known, but not its UUID', async (t) => {
  const before = readMachine('vm-1', await values(HEALTHY), undefined)
  const now = readMachine(
    'vm-1',
    await values({ 'runtime.connectionState': '<val>inaccessible</val>' }),
    before,
  )
  t.match(now, {
    name: 'web/1',
    biosUUID: undefined,
    cpus: 4,
    guestID: 'ubuntu64Guest',
    connectionState: 'inaccessible',
  })
  t.same(now.nics, before.nics)
  t.equal(now.instanceUUID, before.instanceUUID)
  const { 'config.uuid': _uuid, 'config.instanceUuid': _instance, ...rest } = HEALTHY
  t.same(readMachine('vm-1', await values(rest), before), { ...before, biosUUID: undefined })
  t.match(readMachine('vm-2', await values({}), undefined), {
    name: 'vm-2',
    cpus: 0,
    connectionState: 'invalid',
  })
})

t.test('states that are unknown look neither healthy nor shut down', async (t) => {
  const odd = { 'runtime.connectionState': '<val>resting</val>', 'runtime.powerState': '<val>dozing</val>' }
  t.match(readMachine('vm-1', await values(odd), undefined), {
    connectionState: 'invalid',
    powerState: 'poweredOn',
  })
})

t.test('guest.net', async (t) => {
  const nic = (inside: string) => `<GuestNicInfo>${inside}</GuestNicInfo>`
  const guest = nic(
    '<network>net</network><ipAddress>10.0.0.1</ipAddress><ipAddress>fe80::1</ipAddress><macAddress>00:50:56:AB:00:01</macAddress>' +
      '<deviceConfigId>4000</deviceConfigId><ipConfig><ipAddress><ipAddress>10.0.0.1</ipAddress><prefixLength>24</prefixLength></ipAddress></ipConfig>',
  )
  const bridge = nic('<deviceConfigId>-1</deviceConfigId>')
  const { guestNICs } = readMachine(
    'vm-1',
    await values({ 'guest.net': `<val>${guest}${bridge}</val>` }),
    undefined,
  )
  t.same(guestNICs, [
    {
      mac: '00:50:56:ab:00:01',
      network: 'net',
      deviceConfigID: 4000,
      addresses: [
        { address: '10.0.0.1', prefixLength: 24 },
        { address: 'fe80::1', prefixLength: undefined },
      ],
    },
    { mac: undefined, network: undefined, deviceConfigID: -1, addresses: [] },
  ])
})

t.test('changes touch what they name; entering replaces all that is watched', async (t) => {
  const before = readMachine('vm-1', await values(HEALTHY), undefined)
  const claimValue = await values({
    [CLAIM_PATH]: '<val>c2</val>',
    'guest.hostName': '<val>n</val>',
  })
  t.same(changeMachine(before, claimValue), { ...before, claim: 'c2' })
  t.same(changeMachine(before, new Map([[CLAIM_PATH, undefined]])), { ...before, claim: undefined })
  t.match(changeMachine(before, await values({ 'runtime.powerState': '<val>suspended</val>' })), {
    powerState: 'suspended',
    claim: 'c1',
  })
  const entered = enterMachine(before, await values({ 'runtime.connectionState': '<val>connected</val>' }))
  t.match(entered, { claim: undefined, biosUUID: undefined, host: undefined, cpus: 4 })
})

t.test('a claim is cut at 256 characters', async (t) => {
  for (const [written, claim] of [
    ['c'.repeat(256), 'c'.repeat(256)],
    [`${'c'.repeat(256)}d`, 'c'.repeat(256)],
    [`${'c'.repeat(255)}\u{1F600}`, `${'c'.repeat(255)}\uFFFD`],
  ] as const) {
    const claimed = await values({ [CLAIM_PATH]: `<val><key>k</key><value>${written}</value></val>` })
    t.equal(readMachine('vm-1', claimed, undefined).claim, claim)
  }
})

t.test('names', async (t) => {
  for (const [written, name] of [
    ['a%2Fb', 'a/b'],
    ['100%25', '100%'],
    ['a%5cb', 'a\\b'],
    ['a%20b', 'a%20b'],
    ['%252f', '%2f'],
  ] as const) {
    t.equal(readName((await values({ n: `<val>${written}</val>` })).get('n')), name)
  }
})

t.test('which of a Fault Tolerance group a VM is, and that it changes', async (t) => {
  const info = (type: string, role: number) =>
    `<val x:type="FaultTolerance${type}ConfigInfo"><role>${role}</role>` +
    '<instanceUuids>50000000-0000-4000-8000-00000000000A</instanceUuids>' +
    '<instanceUuids>50000000-0000-4000-8000-00000000000b</instanceUuids>' +
    '<configPaths>[ds] a/a.vmx</configPaths><configPaths>[ds] a_1/a.vmx</configPaths></val>'
  const instanceUUIDs = ['50000000-0000-4000-8000-00000000000a', '50000000-0000-4000-8000-00000000000b']
  const alone = readMachine('vm-1', await values(HEALTHY), undefined)
  t.equal(alone.faultTolerance, undefined)
  const primary = readMachine(
    'vm-1',
    await values({ ...HEALTHY, 'config.ftInfo': info('Primary', 1) }),
    undefined,
  )
  t.same(primary.faultTolerance, { role: 1, instanceUUIDs })
  const secondary = changeMachine(primary, await values({ 'config.ftInfo': info('Secondary', 2) }))
  t.same(secondary.faultTolerance, { role: 2, instanceUUIDs })
  t.equal(changeMachine(secondary, new Map([['config.ftInfo', undefined]])).faultTolerance, undefined)
  t.same(
    enterMachine(alone, await values({ ...HEALTHY, 'config.ftInfo': info('Primary', 1) })).faultTolerance,
    {
      role: 1,
      instanceUUIDs,
    },
  )
})
