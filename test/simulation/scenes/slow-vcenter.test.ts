// A vCenter that is slow to let anybody in, behind a proxy that ends silent calls, or whose name is hard to find; and what becomes
// of a VM in its first seconds.
import { LABEL_ZONE, TAINT_SHUTDOWN } from '../../../controller/types/well-known.ts'
import type { Machine } from '../model/machine.ts'
import { CATEGORIES } from '../model/tagging.ts'
import { scenario } from '../scenario.ts'
import type { FixedScene } from '../scene.ts'
import { brakeEvents, DELETED } from './common.ts'

const calls = (operation: string, outcome = 'ok') =>
  `rollcall_vcenter_calls_total{vcenter="vc-1",operation="${operation}",outcome="${outcome}"}`
/** What vanishes within a minute vanishes at once; milliseconds. */
const BETWEEN = 80_000
/** A change is pushed at once; milliseconds. */
const AT_ONCE = 1_000

const isTainted = (scene: FixedScene<string>, name: string) =>
  scene.node(name)?.spec.taints.some(({ key }) => key === TAINT_SHUTDOWN) === true

scenario('a login that takes minutes', { nodes: ['worker', 'canary'] }, async (scene, t) => {
  const { vCenter } = scene
  vCenter.slowLogin = 280_000
  vCenter.endSessions()
  await scene.nextLeader()
  scene.joins('new')
  await scene.settled('new')
  t.equal(await scene.count(calls('Login', 'TimedOut')), undefined, 'it is waited for')
  t.equal([...vCenter.sessions.values()].filter((each) => each.alive()).length, 1)
})

scenario(
  'calls that set up a session take most of a minute',
  { nodes: ['worker', 'canary'] },
  async (scene, t) => {
    const { vCenter } = scene
    vCenter.slowSetUp = 55_000
    vCenter.endSessions()
    await scene.nextLeader()
    scene.joins('new')
    await scene.settled('new')
    for (const operation of ['CreateListView', 'CreateContainerView'])
      t.equal(await scene.count(calls(operation, 'TimedOut')), undefined, `${operation} is waited for`)
  },
)

scenario(
  'the answers to REST logins are lost',
  { nodes: ['worker', 'canary'], labels: CATEGORIES },
  async (scene, t) => {
    const { vCenter } = scene
    vCenter.losesLogins = 'REST'
    await scene.nextLeader()
    scene.joins('new')
    await scene.settled('new')
    await scene.pass(1_500_000)
    t.equal(await scene.count(calls('REST POST session', 'TimedOut')), 2, 'no more are tried')
    vCenter.losesLogins = undefined
    await scene.until('it has its zone', () => scene.node('new')?.metadata.labels[LABEL_ZONE] !== undefined)
  },
)

scenario('the answers to all logins are lost', { nodes: ['worker', 'canary'] }, async (scene, t) => {
  const { vCenter } = scene
  vCenter.losesLogins = 'SOAP'
  vCenter.endSessions()
  await scene.nextLeader()
  await scene.pass(1_500_000)
  t.equal(await scene.count(calls('Login', 'TimedOut')), 10, 'five in a quarter of an hour')
  vCenter.losesLogins = undefined
  scene.joins('new')
  await scene.until('it is initialized', () => scene.isInitialized('new'))
  await scene.pass(600_000)
  t.equal([...vCenter.sessions.values()].filter((each) => each.alive()).length, 1)
})

scenario('polls that a proxy ends after 30 s', { nodes: ['worker', 'canary'] }, async (scene, t) => {
  const { vCenter, cast, world } = scene
  vCenter.silence = 30_000
  await scene.nextLeader()
  await scene.counted(calls('CreateListView'), 1)
  await scene.pass(600_000)
  t.equal(await scene.count(calls('CreateListView')), 1, 'nothing is read anew')
  world.machines.halt(cast.worker, 'poweredOff')
  await scene.pass(AT_ONCE)
  t.ok(isTainted(scene, 'worker'), 'and changes are told at once')
})

scenario('no name server answers any more', { nodes: ['worker', 'canary'] }, async (scene, t) => {
  const { vCenter, cast, world } = scene
  vCenter.resolving = Number.POSITIVE_INFINITY
  vCenter.breakWaits()
  await scene.pass(60_000)
  t.equal(scene.condition('worker', 'VMFound')?.status, 'True', 'the last good address is used')
  world.machines.halt(cast.worker, 'poweredOff')
  await scene.until('the taint is there', () => isTainted(scene, 'worker'))

  // The next leader has never had an address.
  await scene.nextLeader()
  world.machines.boot(cast.worker)
  await scene.pass(120_000)
  t.equal(await scene.count(calls('Login')), undefined, 'it gets nowhere')
  t.ok(isTainted(scene, 'worker'), 'and it concludes nothing')
  vCenter.resolving = 3_000
  await scene.until('the taint is gone', () => !isTainted(scene, 'worker'))
})

/** Destroys the VM of a machine when it is put on the list of those that are watched, before anything is told of it, or ever is. */
function destroyOnceListed({ vCenter, destroy }: FixedScene<string>, machine: Machine): void {
  for (const session of vCenter.sessions.values()) {
    const { change } = session
    session.change = (view, added, removed) => {
      change(view, added, removed)
      if (!added.some(({ value }) => value === machine.vm?.moref)) return
      vCenter.pushLost = 1
      destroy(machine)
      vCenter.pushLost = 0
    }
  }
}

scenario(
  'two VMs are destroyed in their first seconds, one a while after the other',
  { nodes: ['node-0', 'node-1', 'node-2', 'node-3', 'node-4', 'node-5', 'node-6'] },
  async (scene, t) => {
    const { vCenter } = scene
    const gone: Machine[] = []
    for (const name of ['first', 'second']) {
      // Its Node is initialized before its VM is on the list.
      vCenter.slow = 4_000
      const machine = scene.joins(name)
      destroyOnceListed(scene, machine)
      await scene.until('it is destroyed', () => machine.destroyed)
      t.ok(scene.isInitialized(name), `${name} was initialized`)
      vCenter.slow = 0
      gone.push(machine)
      await scene.pass(BETWEEN)
    }
    await scene.ends(...gone)
    for (const { nodeName } of gone) t.same(brakeEvents(scene, nodeName), [], nodeName)
    t.same(scene.latched(), [], 'the brake never engages')
    await scene.counted(DELETED, 2)
  },
)

scenario('a VM goes off as soon as its Node is initialized', { nodes: ['canary'] }, async (scene, t) => {
  const machine = scene.joins('new')
  await scene.until('it is initialized', () => scene.isInitialized('new'))
  scene.world.machines.halt(machine, 'poweredOff')
  await scene.pass(AT_ONCE)
  t.ok(isTainted(scene, 'new'))
})
