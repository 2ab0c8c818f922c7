import t from 'tap'
import { startAgent } from '../world/agent.ts'
import type { MemberOptions } from '../world/member.ts'
import { condition, isInitialized } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 12 })
const { nodes, reports } = stage
await stage.controller({
  ipFamily: ['ipv4', 'ipv6'],
  nodes: { requireAllFamilies: false, excludeExternalNetworkSubnetCidr: '10.3.0.0/16, 192.0.2.0/24' },
})

const both = (...list: string[]) =>
  ['InternalIP', 'ExternalIP'].flatMap((type) => list.map((address) => ({ type, address })))

t.test('what each machine has, and what its kubelet chose, make the addresses of its Node', async (t) => {
  /** `first`: the kubelet's own choice stands before the Hostname. */
  type Case = MemberOptions & { expected: readonly { type: string; address: string }[]; first?: true }
  const cases: Record<string, Case> = {
    'vip-first': { addresses: ['10.0.0.100/32', '10.0.0.5/24'], expected: both('10.0.0.5') },
    'vip-of-the-subnet-second': { addresses: ['10.0.0.6/24', '10.0.0.100/24'], expected: both('10.0.0.6') },
    'kubelet-chose-the-second': {
      addresses: ['10.0.0.7/24', '10.1.0.7/24'],
      nodeIP: '10.1.0.7',
      expected: both('10.1.0.7'),
      first: true,
    },
    'dual-stack': { addresses: ['10.0.0.8/24', 'fd00::8/64'], expected: both('10.0.0.8', 'fd00::8') },
    'dual-stack-the-other-way': {
      addresses: ['10.0.0.9/24', 'fd00::9/64'],
      nodeIP: 'fd00::9,10.0.0.9',
      first: true,
      expected: both('fd00::9', '10.0.0.9'),
    },
    'excluded-outside': {
      addresses: ['10.3.0.8/24', '10.4.0.8/24'],
      expected: [
        { type: 'InternalIP', address: '10.3.0.8' },
        { type: 'ExternalIP', address: '10.4.0.8' },
      ],
    },
    'ipv6-only': { addresses: ['fe80::1/64', 'fd00::a/64'], expected: both('fd00::a') },
  }
  for (const [name, { expected: _, first: __, ...options }] of Object.entries(cases)) {
    const member = await stage.member(name, options)
    await member.agent()
  }
  for (const [name, { expected, first }] of Object.entries(cases)) {
    await t.test(name, async (t) => {
      await nodes.until('it is initialized', () => isInitialized(nodes.last(name)))
      const hostname = { type: 'Hostname', address: name }
      const addresses = first ? [...expected, hostname] : [hostname, ...expected]
      t.same(nodes.last(name)?.status.addresses, addresses)
      await reports.until(
        'the report says the same',
        () => reports.last(name)?.status?.addresses !== undefined,
      )
      t.same(reports.last(name)?.status?.addresses, addresses)
    })
  }
})

t.test('what the agent prints before there is a kubelet is what the Node gets', async (t) => {
  const [vm] = stage.vms
  const [nodeIP, providerID] = ['10.0.0.13', `vsphere://${vm?.uuid}`]
  const addresses = ['10.0.0.100/32', `${nodeIP}/24`]
  const member = await stage.member('before-the-kubelet', { addresses, nodeIP, providerID })
  const printed = await startAgent({
    kubeconfig: '/nowhere',
    root: member.root,
    args: ['--print', '--kubelet-args'],
  })
  t.equal((await printed.ended).code, 0)
  t.same(printed.stdout, [`--provider-id=${providerID} --node-ip=${nodeIP}`])
  await member.agent()
  await nodes.until('it is initialized', () => isInitialized(nodes.last(member.name)))
  t.equal(nodes.last(member.name)?.spec.providerID, providerID)
  t.match(nodes.last(member.name)?.status.addresses, both(nodeIP))
})

t.test("the kubelet's choice is not on the machine: refused until it is", async (t) => {
  const member = await stage.member('not-mine', { addresses: ['10.0.0.11/24'], nodeIP: '10.0.0.250' })
  await member.agent('--look=1s')
  await reports.until(
    'it is refused',
    () => condition(reports.last(member.name), 'AddressesResolved') !== undefined,
  )
  t.match(condition(reports.last(member.name), 'AddressesResolved'), {
    status: 'False',
    reason: 'ProvidedIPNotOnVM',
    message: /--node-ip 10\.0\.0\.250 .*seen: 10\.0\.0\.11/,
  })
  t.notOk(isInitialized(nodes.last(member.name)))
  await member.setAddresses('10.0.0.11/24', '10.0.0.250/24')
  await nodes.until('it is initialized', () => isInitialized(nodes.last(member.name)))
  t.match(nodes.last(member.name)?.status.addresses, both('10.0.0.250'))
})

t.test('no address yet: refused until Tools or the agent see one', async (t) => {
  const member = await stage.member('no-address', { addresses: [] })
  await member.agent()
  await reports.until(
    'it is refused',
    () => condition(reports.last(member.name), 'AddressesResolved') !== undefined,
  )
  t.match(condition(reports.last(member.name), 'AddressesResolved'), { status: 'False', reason: 'NoAddress' })
  await stage.vcsim.setGuest({ vm: member.vm.ref, hostName: 'x', nics: [{ addresses: ['10.0.0.12/24'] }] })
  await nodes.until('it is initialized', () => isInitialized(nodes.last(member.name)))
  t.match(nodes.last(member.name)?.status.addresses?.slice(1), both('10.0.0.12'))
})
