import t from 'tap'
import { settled } from '../world/deletion.ts'
import { condition, eventsOf, isInitialized, type NodeObject } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 4, cpus: 4, memoryMB: 16_384, guestId: 'ubuntu64Guest' })
const { nodes, reports, vcsim } = stage
const controller = await stage.controller()

const names = ['worker-1', 'worker-2', 'worker-3', 'worker-4'] as const
const members = await stage.machines(...names)
for (const member of members) await member.agent()
await settled(stage, ...names)

t.test('each Node', async (t) => {
  for (const { name, vm, address } of members) {
    await t.test(`${name} as users of the CPI expect it`, async (t) => {
      const [, , node] = history(name)
      const zone = vm.cluster === 'DC0_C0' ? 'zone-a' : 'zone-b'
      t.equal(node.spec.providerID, `vsphere://${vm.uuid}`)
      t.same(
        node.spec.taints,
        [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }],
        'not ours to remove',
      )
      t.match(node.metadata.labels, {
        'topology.kubernetes.io/zone': zone,
        'topology.kubernetes.io/region': 'region-1',
        'failure-domain.beta.kubernetes.io/zone': zone,
        'failure-domain.beta.kubernetes.io/region': 'region-1',
        'node.kubernetes.io/instance-type': 'vsphere-vm.cpu-4.mem-16gb.os-ubuntu',
        'beta.kubernetes.io/instance-type': 'vsphere-vm.cpu-4.mem-16gb.os-ubuntu',
        'kubernetes.io/hostname': name,
      })
      t.same(node.status.addresses, [
        { type: 'Hostname', address: name },
        { type: 'InternalIP', address },
        { type: 'ExternalIP', address },
      ])
    })

    await t.test(`${name} was written twice, addresses first`, async (t) => {
      const [registered, first, second] = history(name)
      t.notOk(isInitialized(registered))
      t.notOk(isInitialized(first), 'the addresses are there before the taint goes')
      t.same(first.status, { ...registered.status, addresses: second.status.addresses })
      t.same(first.spec, registered.spec)
      t.same(first.metadata.labels, registered.metadata.labels)
      t.same(second.status, first.status)
      const writers = new Set(second.metadata.managedFields?.map(({ manager }) => manager))
      t.same([...writers].filter((manager) => manager.startsWith('rollcall')).length, 1)
      t.notOk(writers.has('rollcall-agent'), 'the agent writes no Node')
    })
  }
})

t.test('the report shows the binding and why', async (t) => {
  for (const { name, vm, address } of members) {
    const report = reports.last(name)
    t.match(report?.status, {
      observedGeneration: 1,
      identityLevel: 'proven',
      instanceType: 'vsphere-vm.cpu-4.mem-16gb.os-ubuntu',
      topology: { zone: /^zone-[ab]$/, region: 'region-1' },
      addresses: [{ type: 'Hostname' }, { type: 'InternalIP', address }],
      vm: {
        vCenter: 'main',
        vCenterInstanceUUID: /^[0-9a-f-]{36}$/,
        moref: vm.ref,
        name: vm.name,
        instanceUUID: vm.instanceUuid,
        biosUUID: vm.uuid,
        host: vm.host,
        cluster: vm.cluster,
        datacenter: 'DC0',
      },
    })
    for (const type of [
      'VMFound',
      'IdentityVerified',
      'TopologyResolved',
      'AddressesResolved',
      'Initialized',
    ] as const) {
      t.match(
        condition(report, type),
        { status: 'True', reason: /^[A-Z]\w+$/, message: /\w/ },
        `${name} ${type}`,
      )
    }
    t.equal(condition(report, 'IdentityVerified')?.reason, 'Proven')
  }
})

t.test('an Event on each Node says so, once, and one in the words of the CPI', async (t) => {
  await stage.events.until('the Events are there', () =>
    names.every((name) => eventsOf(stage.events, name).length > 1),
  )
  for (const { name, uid, vm } of members) {
    const events = eventsOf(stage.events, name)
    t.match(events, [
      {
        type: 'Normal',
        reason: 'Initialized',
        message: new RegExp(vm.name),
        count: 1,
        involvedObject: { kind: 'Node', name, uid },
        source: { component: 'rollcall-controller' },
      },
      { reason: 'Synced', count: 1, source: { component: 'cloud-node-controller' } },
    ])
    t.equal(events.length, 2)
  }
})

t.test('metrics, health and readiness', async (t) => {
  const get = async (path: string) => {
    const response = await fetch(`${controller.url}${path}`)
    return { status: response.status, text: await response.text() }
  }
  t.match(await get('/healthz'), { status: 200, text: 'ok' })
  t.match(await get('/readyz'), { status: 200, text: 'leading' })
  const { text } = await get('/metrics')
  for (const line of [
    'rollcall_leader 1',
    'rollcall_nodes{state="initialized"} 4',
    'rollcall_nodes{state="waiting"} 0',
    'rollcall_nodes_verified{level="proven"} 4',
    'rollcall_vcenter_up{vcenter="main"} 1',
    'rollcall_vcenter_calls_total{vcenter="main",operation="Login",outcome="ok"} 1',
    'rollcall_node_initialization_seconds_count 4',
  ]) {
    t.ok(text.includes(`${line}\n`), line)
  }
})

t.test('one session on each side, and no secret anywhere', async (t) => {
  t.same(await vcsim.sessions(), { soap: 1, rest: 1 })
  t.notOk(controller.output().includes(vcsim.password))
  for (const line of controller.stderr) t.match(JSON.parse(line), { level: /info|debug/ }, line)
})

/** Two writes, and what the kubelet had registered before them. */
function history(name: string): [NodeObject, NodeObject, NodeObject] {
  const [registered, first, second, ...more] = nodes.of(name).map(({ object }) => object)
  if (!registered || !first || !second || more.length > 0)
    throw new Error(`Node ${name} has ${nodes.of(name).length} versions instead of 3`)
  return [registered, first, second]
}
