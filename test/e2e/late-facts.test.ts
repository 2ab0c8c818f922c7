import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { writeRpctool } from '../servers/rpctool.ts'
import { writeMachine } from '../world/machine.ts'
import { address, condition, eventsOf, isInitialized, level } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

// One controller serves all of these, and is never restarted.
const stage = await openStage(t, { vms: 8 })
const { nodes, reports, vcsim } = stage
await stage.controller()

const initialized = (name: string) =>
  nodes.until(`${name} is initialized`, () => isInitialized(nodes.last(name)))

t.test('a late report', async (t) => {
  const member = await stage.member('late-report')
  // A Node without a report is not touched; nothing can be seen of that but that nothing happens.
  await new Promise((resolve) => setTimeout(resolve, 1500))
  t.equal(nodes.of(member.name).length, 1)
  await member.agent()
  await initialized(member.name)
  t.equal(nodes.of(member.name).length, 3)
})

t.test('a late VM', async (t) => {
  const member = await stage.member('late-vm')
  const uuid = randomUUID()
  await writeMachine(member.root, {
    vm: { uuid },
    hostname: member.name,
    bootID: member.bootID,
    nics: member.vm.vnics.map(({ mac }) => ({ name: 'ens192', mac, addresses: [`${member.address}/24`] })),
  })
  await member.agent()
  await stage.says(member.name, 'VMFound', { status: 'False' })
  t.match(condition(reports.last(member.name), 'VMFound'), {
    reason: 'NoVMWithUUID',
    message: new RegExp(`${uuid}.*vCenter main.*System.Read`),
  })
  t.equal(condition(reports.last(member.name), 'Initialized')?.status, 'False')
  t.equal(nodes.of(member.name).length, 1)

  await vcsim.setState({ vm: member.vm.ref, uuid })
  await initialized(member.name)
  t.equal(nodes.last(member.name)?.spec.providerID, `vsphere://${uuid}`)
  await stage.events.until('Events tell both', () => eventsOf(stage.events, member.name).length >= 3)
  t.match(
    eventsOf(stage.events, member.name).map(({ type, reason, count }) => ({ type, reason, count })),
    [
      { type: 'Warning', reason: 'NoVMWithUUID', count: 1 },
      { type: 'Normal', reason: 'Initialized', count: 1 },
      { type: 'Normal', reason: 'Synced', count: 1 },
    ],
  )
})

t.test('a late claim proves what was only reported', async (t) => {
  const member = await stage.member('late-claim', { rpctool: { deny: ['info-set'] } })
  await member.agent()
  await initialized(member.name)
  await reports.until(
    'the level is there',
    () => reports.last(member.name)?.status?.identityLevel !== undefined,
  )
  t.equal(reports.last(member.name)?.status?.identityLevel, 'reported')
  t.match(reports.last(member.name)?.spec.claim, { written: false, reason: /Denied|Refused|Forbidden/ })
  t.match(condition(reports.last(member.name), 'IdentityVerified'), {
    status: 'True',
    reason: 'Reported',
    message: /not proven/,
  })
  const before = nodes.of(member.name).length
  await member.claim()
  await reports.until('it is proven', () => reports.last(member.name)?.status?.identityLevel === 'proven')
  await nodes.until('the label says so', () => level(nodes.last(member.name)) === 'proven')
  t.equal(nodes.of(member.name).length, before + 1, 'one write, for the label')
})

t.test('no guest RPC tool: reported, with the reason', async (t) => {
  const member = await stage.member('no-tool', { rpctool: null })
  await mkdir(join(member.root, 'usr/bin'), { recursive: true })
  const agent = await member.agent('--rpctool=/nowhere/vmware-rpctool')
  await initialized(member.name)
  await reports.until(
    'the level is there',
    () => reports.last(member.name)?.status?.identityLevel !== undefined,
  )
  t.equal(reports.last(member.name)?.status?.identityLevel, 'reported')
  const { claim, tools } = reports.last(member.name)?.spec ?? {}
  t.match(claim, { written: false, reason: /^\w+$/, message: /vmware-rpctool/ })
  t.same(tools, { guestinfoReadable: false, guestinfoWritable: false })
  t.match(condition(reports.last(member.name), 'IdentityVerified')?.message, claim?.message ?? 'a claim')
  t.match(await agent.says(/"the claim is not written"/), /claim/)
})

t.test('a tool that hangs delays the report by its time-out and no more', async (t) => {
  const member = await stage.member('tool-hangs', { rpctool: { hang: true } })
  const start = performance.now()
  await member.agent()
  await initialized(member.name)
  t.comment(`${Math.round(performance.now() - start)} ms`)
  t.match(reports.last(member.name)?.spec.claim, { written: false, reason: /Time/ })
  // The tool is there again: the next agent, as after an upgrade or a boot, proves it.
  await writeRpctool(join(member.root, 'usr/bin'), { vcsim, vm: member.vm.ref })
  await member.reportOnce()
  await reports.until('it is proven', () => reports.last(member.name)?.status?.identityLevel === 'proven')
})

t.test('an address changes: patched within seconds of the look', async (t) => {
  const member = await stage.member('new-lease')
  await member.agent('--look=1s')
  await initialized(member.name)
  t.equal(address(nodes.last(member.name), 'InternalIP'), member.address)
  const start = performance.now()
  await member.setAddresses('10.9.0.7/24')
  await nodes.until(
    'the Node has the new address',
    () => address(nodes.last(member.name), 'InternalIP') === '10.9.0.7',
  )
  t.comment(`${Math.round(performance.now() - start)} ms, of which up to 1000 are the agent's look`)
  t.equal(address(nodes.last(member.name), 'ExternalIP'), '10.9.0.7')
  t.equal(nodes.of(member.name).length, 4, 'one write')

  await t.test('it takes none away in one look', async (t) => {
    await member.setAddresses()
    await reports.until(
      'the report has none',
      () => reports.last(member.name)?.spec.interfaces[0]?.addresses.length === 0,
    )
    await new Promise((resolve) => setTimeout(resolve, 500))
    t.equal(address(nodes.last(member.name), 'InternalIP'), '10.9.0.7')
  })
})
