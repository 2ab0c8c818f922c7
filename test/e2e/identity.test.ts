import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { LABEL_IDENTITY_LEVEL } from '../../controller/types/well-known.ts'
import { until } from '../fixtures/until.ts'
import { serverBinary } from '../servers/build.ts'
import { productUUID } from '../world/machine.ts'
import type { MemberOptions } from '../world/member.ts'
import { address, condition, eventsOf, isInitialized, level } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

// One controller for all: a level rises and falls without a restart.
const stage = await openStage(t, { vms: 14 })
const { cluster, vcsim, nodes, reports, events } = stage
const controller = await stage.controller({ exempt: 'kubernetes.io/os=windows' })

const verified = (name: string) => condition(reports.last(name), 'IdentityVerified')
const reaches = (name: string, wanted: string) =>
  nodes.until(`${name} is ${wanted}`, () => level(nodes.last(name)) === wanted)
const eventReasons = (name: string) => eventsOf(events, name).map(({ type, reason }) => `${type} ${reason}`)

t.test('a level that rises is shown in condition, column, label, Event and metric', async (t) => {
  const member = await stage.reported('riser', { rpctool: { deny: ['info-set'] } })
  await reaches(member.name, 'reported')
  await until('a metric says so', async () =>
    (await controller.metrics()).includes('rollcall_nodes_verified{level="reported"} 1\n'),
  )
  await member.claim()
  await reaches(member.name, 'proven')
  await reports.until('the report says so', () => verified(member.name)?.reason === 'Proven')
  await events.until('an Event says so', () => eventReasons(member.name).includes('Normal Proven'))
  await until('a metric says so', async () =>
    (await controller.metrics()).includes('rollcall_nodes_verified{level="proven"} 1\n'),
  )
  const columns = await kubectl('get', 'nodereport', member.name)
  t.match(columns, /LEVEL.*\n.*proven/)
  t.match(await kubectl('get', 'nodes', '-l', `${LABEL_IDENTITY_LEVEL}=proven`), member.name)
})

t.test('the condition survives a reboot, and the new claim takes the place of the old one', async (t) => {
  const member = await stage.reported('rebooted')
  await reaches(member.name, 'proven')
  const before = nodes.of(member.name).length
  const bootID = randomUUID()
  await writeFile(join(member.root, 'proc/sys/kernel/random/boot_id'), `${bootID}\n`)
  // The tool has not come up yet, so the new boot is reported before it can be claimed.
  const late = await member.agent('--once', '--rpctool=/nowhere/vmware-rpctool')
  t.equal((await late.ended).code, 0)
  await reports.until(
    'the old claim is seen for what it is',
    () => verified(member.name)?.reason === 'ProvenBefore',
  )
  t.match(verified(member.name), { status: 'True', message: /ClaimOfEarlierBoot/ })
  t.match(reports.last(member.name)?.status, { identityLevel: 'proven', provenUntil: /^20/ })
  await member.reportOnce()
  await reports.until('it is proven anew', () => verified(member.name)?.reason === 'Proven')
  t.equal(reports.last(member.name)?.status?.provenUntil, undefined)
  t.equal(nodes.of(member.name).length, before, 'the Node was not touched')
})

t.test('the condition survives vMotion', async (t) => {
  const member = await stage.reported('moved')
  await reaches(member.name, 'proven')
  const { host } = member.vm
  const target = `DC0_C0_H${host === 'DC0_C0_H0' ? 1 : 0}`
  await vcsim.govc('vm.migrate', '-host', target, member.vm.name)
  await reports.until('the new host is known', () => reports.last(member.name)?.status?.vm?.host === target)
  t.equal(verified(member.name)?.reason, 'Proven')
  t.equal(level(nodes.last(member.name)), 'proven')
})

t.test('a Node registered anew starts from nothing', async (t) => {
  const member = await stage.reported('again')
  await reaches(member.name, 'proven')
  await stage.remove(member.name)
  const again = await stage.register(member)
  t.not(again.uid, member.uid)
  // Nobody collects garbage here: the old report stands, and is about another Node.
  await reports.until(
    'the old report is not believed',
    () => verified(member.name)?.reason === 'ReportOfFormerNode',
  )
  t.notOk(isInitialized(nodes.last(member.name)))
  t.match(reports.last(member.name)?.status, { nodeUID: again.uid, identityLevel: undefined, vm: undefined })
  await member.reportOnce()
  await reaches(member.name, 'proven')
  t.ok(isInitialized(nodes.last(member.name)))
})

t.test('a Node that cannot run an agent is asserted, until an agent comes', async (t) => {
  const labels = { 'kubernetes.io/os': 'windows' }
  const member = await stage.member('windows', { tools: true, addresses: ['10.7.0.1/24'], labels })
  await reaches(member.name, 'asserted')
  t.ok(isInitialized(nodes.last(member.name)))
  t.equal(address(nodes.last(member.name), 'InternalIP'), '10.7.0.1', 'by VMware Tools')
  t.equal(nodes.last(member.name)?.spec.providerID, `vsphere://${member.vm.uuid}`)
  await reports.until('a report says so', () => verified(member.name)?.reason === 'Asserted')
  t.match(reports.last(member.name), {
    metadata: { ownerReferences: [{ kind: 'Node', name: member.name, uid: member.uid }] },
    spec: { agentVersion: 'none', machine: { productUUID: productUUID(member.vm.uuid) } },
    status: { identityLevel: 'asserted', vm: { moref: member.vm.ref } },
  })
  await member.reportOnce()
  await reaches(member.name, 'proven')
  t.ok((reports.last(member.name)?.spec.agentVersion ?? 'none') !== 'none', 'the agent took its report over')
})

t.test('a Node that was registered without the taint waits until somebody asks for it', async (t) => {
  const member = await stage.reported('untainted', { taints: [] })
  await stage.says(member.name, 'Initialized', { reason: 'RegisteredUntainted' })
  const [, command = ''] =
    /kubectl (.*)$/.exec(condition(reports.last(member.name), 'Initialized')?.message ?? '') ?? []
  await events.until('an Event says so', () =>
    eventReasons(member.name).includes('Warning RegisteredUntainted'),
  )
  t.equal(eventsOf(events, member.name).find(({ reason }) => reason === 'RegisteredUntainted')?.count, 1)
  t.equal(nodes.of(member.name).length, 1, 'the Node is as its kubelet left it')

  await kubectl(...command.split(' '))
  await reaches(member.name, 'proven')
  t.equal(nodes.last(member.name)?.spec.providerID, `vsphere://${member.vm.uuid}`)
})

t.test('each way to guestinfo proves it, or the report says what is in the way', async (t) => {
  const deny = ['info-set']
  const ways: readonly [string, MemberOptions['rpctool'] & object, string, RegExp][] = [
    ['plain', {}, 'proven', /itself names this Node/],
    ['privileged', { deny, vmtoolsd: 'works' }, 'proven', /itself names this Node/],
    ['no-vmtoolsd', { deny }, 'reported', /ClaimPermissionDenied/],
    ['refused', { deny, vmtoolsd: 'refused' }, 'reported', /ClaimPrivilegedChannelRefused/],
    ['failing', { deny, vmtoolsd: 'fails' }, 'reported', /ClaimPrivilegedChannelFailed/],
    ['switched-off', { disable: ['info-set'] }, 'reported', /ClaimDisabled/],
  ]
  for (const [name, rpctool, level, message] of ways) {
    await t.test(name, async (t) => {
      await stage.reported(name, { rpctool })
      await reaches(name, level)
      await reports.until('the report says so', () => verified(name)?.status === 'True')
      t.match(verified(name)?.message, message)
    })
  }
})

async function kubectl(...args: string[]): Promise<string> {
  const command = await serverBinary('kubectl')
  const { stdout } = await promisify(execFile)(command, [`--kubeconfig=${cluster.adminKubeconfig}`, ...args])
  return stdout
}
