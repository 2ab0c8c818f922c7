import t from 'tap'
import { until } from '../fixtures/until.ts'
import type { VMState } from '../servers/control.ts'
import type { CrowdMember } from '../world/crowd.ts'
import { heartbeat, loseHeartbeats } from '../world/kubelet.ts'
import { condition, hasTaint, isShutDown } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const OURS = { key: 'node.kubernetes.io/out-of-service', value: 'rollcall', effect: 'NoExecute' }
const A_PERSONS = { ...OURS, value: 'nodeshutdown' }
/** Milliseconds that a VM must be off. */
const AFTER = 2_000
const QUICK = { outOfServiceAfter: `${AFTER}ms`, leaderAge: '0s' }

const tasks = new Map<string, string>()

/** Each is enough to wait. */
const OBSTACLES = obstacles()
const stage = await openStage(t, { vms: OBSTACLES.length + 4 })
const { cluster, nodes, reports, vcsim } = stage
const outOfService = ({ name }: CrowdMember) => hasTaint(nodes.last(name), OURS)
const names = (members: readonly CrowdMember[]) => members.map(({ name }) => name)

const byDefault = await stage.controller()
const [plain, controlPlane, person, returning, ...others] = await stage.crowd([
  'plain',
  'control-plane',
  'person',
  'returning',
  ...OBSTACLES.map((_, i) => `obstacle-${i}`),
])
await vcsim.fault({
  operation: 'FindAllByUuid',
  object: plain.vm.instanceUuid,
  kind: 'delay',
  milliseconds: 1,
})
const scenes = others.flatMap((member, i) =>
  OBSTACLES.slice(i, i + 1).map((obstacle) => ({ member, obstacle })),
)

t.test('off by default: nobody even asks', async (t) => {
  await loseHeartbeats(cluster, plain.name)
  await power('poweredOff', plain)
  await nodes.until('it is shut down', () => isShutDown(nodes.last(plain.name)))
  t.notOk(outOfService(plain))
  await byDefault.stop()
  t.notOk(outOfService(plain))
  t.equal(await asked(), 0)
})

t.test('off for long enough, and nothing in the way', async (t) => {
  await stage.patch(controlPlane.name, {
    metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } },
  })
  await stage.patch(person.name, { spec: { taints: [A_PERSONS] } })
  await power('poweredOn', plain)
  await stage.controller({ lifecycle: QUICK }, t)
  await nodes.until('it runs', () => !isShutDown(nodes.last(plain.name)))

  for (const { member, obstacle } of scenes) {
    if (obstacle.what !== 'its host is away') await obstacle.set(member)
  }
  const silent = scenes.filter(({ obstacle }) => obstacle.what !== 'the Node is Ready')
  const all = [plain, controlPlane, person, returning, ...others]
  await loseHeartbeats(
    cluster,
    ...names([plain, controlPlane, person, returning]),
    ...names(silent.map(({ member }) => member)),
  )
  await power('poweredOff', ...all.filter((member) => member !== plain))
  await nodes.until('all others are shut down', () =>
    all.every(({ name }) => name === plain.name || isShutDown(nodes.last(name))),
  )
  // A VM that was off when its host went is not known to be off any more.
  for (const { member, obstacle } of scenes) {
    if (obstacle.what === 'its host is away') await obstacle.set(member)
  }
  await power('poweredOn', returning)
  const start = performance.now()
  await power('poweredOff', plain)
  await tainted(plain)
  const took = Math.round(performance.now() - start)
  t.ok(took >= AFTER, `not before its time: ${took} ms`)
  t.comment(`out of service ${took} ms after it went off, where it has to be off for ${AFTER} ms`)
  t.ok(isShutDown(nodes.last(plain.name)))
  t.ok((await asked()) > 0)
  t.match(await stage.told(plain.name, 'OutOfService'), [
    { type: 'Warning', count: 1, message: /node\.kubernetes\.io\/out-of-service:NoExecute/ },
  ])

  for (const { member, obstacle } of scenes) {
    t.notOk(outOfService(member), `not while ${obstacle.what}`)
    t.ok(isShutDown(nodes.last(member.name)))
  }
  await Promise.all(scenes.map(({ member, obstacle }) => obstacle.clear(member)))
  for (const { member, obstacle } of scenes) {
    t.test(`not any more: ${obstacle.what}`, () => tainted(member))
  }

  t.test('not on a control-plane Node, nor on one that runs again, nor over a person’s', async (t) => {
    t.notOk(outOfService(controlPlane))
    t.notOk(outOfService(returning))
    t.notOk(isShutDown(nodes.last(returning.name)))
    t.notOk(outOfService(person))
    t.ok(hasTaint(nodes.last(person.name), A_PERSONS))
  })
})

t.test('on a control-plane Node where that is asked for', async (t) => {
  const lifecycle = { ...QUICK, outOfServiceControlPlane: true }
  await stage.controller({ lifecycle }, t)
  await tainted(controlPlane)
  t.notOk(outOfService(person))
})

t.test('it ends when the VM is back, also where that happened while nobody looked', async (t) => {
  await power('poweredOn', person, plain)
  await stage.controller({ lifecycle: QUICK }, t)
  await nodes.until('it is back', () => !isShutDown(nodes.last(plain.name)) && !outOfService(plain))
  await nodes.until('so is the other', () => !isShutDown(nodes.last(person.name)))
  t.ok(hasTaint(nodes.last(person.name), A_PERSONS), 'what a person put there is left to persons')
  await until('vCenter watches them', async () => {
    const { operations } = await vcsim.calls()
    return (operations.ModifyListView ?? 0) > 0
  })
  await power('poweredOn', controlPlane, ...others)
  await nodes.until('so are all', () => [controlPlane, ...others].every((member) => !outOfService(member)))
  for (const { name, uid } of [plain, controlPlane, person, returning, ...others]) {
    t.equal(nodes.last(name)?.metadata.uid, uid)
    t.equal(condition(reports.last(name), 'DeletionPending'), undefined)
  }
})

function state(what: string, set: Omit<VMState, 'vm'>, clear: Omit<VMState, 'vm'>): Obstacle {
  return {
    what,
    set: ({ vm }) => vcsim.setState({ vm: vm.ref, ...set }),
    clear: ({ vm }) => vcsim.setState({ vm: vm.ref, ...clear }),
  }
}

function task(descriptionId: string, state: 'running' | 'queued'): Obstacle {
  return {
    what: `a task ${descriptionId} is ${state}`,
    async set({ name, vm }) {
      tasks.set(name, await vcsim.startTask({ vm: vm.ref, descriptionId, state }))
    },
    clear: ({ name }) => vcsim.endTask(tasks.get(name) ?? ''),
  }
}

interface Obstacle {
  readonly what: string
  readonly set: (member: CrowdMember) => Promise<unknown>
  readonly clear: (member: CrowdMember) => Promise<unknown>
}

async function power(powerState: NonNullable<VMState['powerState']>, ...members: readonly CrowdMember[]) {
  await vcsim.setState(...members.map(({ vm }) => ({ vm: vm.ref, powerState })))
}

/** How often vCenter was asked about one VM on purpose: only then it is searched for by its instance UUID. */
async function asked(): Promise<number> {
  return (await vcsim.faults()).reduce((sum, { hits }) => sum + hits, 0)
}

async function tainted(...members: readonly CrowdMember[]): Promise<void> {
  await nodes.until('they are out of service', () => members.every(outOfService))
}

function obstacles(): readonly Obstacle[] {
  return [
    {
      what: 'the Node is Ready',
      set: ({ name }) => heartbeat(cluster, name),
      clear: ({ name }) => loseHeartbeats(cluster, name),
    },
    state('vSphere HA protects it', { dasProtected: true }, { dasProtected: false }),
    state(
      'its fault tolerance runs',
      { faultToleranceState: 'running' },
      { faultToleranceState: 'notConfigured' },
    ),
    state(
      'its fault tolerance needs a secondary',
      { faultToleranceState: 'needSecondary' },
      { faultToleranceState: 'disabled' },
    ),
    task('VirtualMachine.powerOn', 'running'),
    task('VirtualMachine.migrate', 'queued'),
    state('its host is away', { connectionState: 'disconnected' }, { connectionState: 'connected' }),
  ]
}
