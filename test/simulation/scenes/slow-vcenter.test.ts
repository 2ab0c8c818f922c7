// A vCenter that is slow to let anybody in, behind a proxy that ends silent calls, or whose name is hard to find; and what becomes
// of a VM in its first seconds.
import { TAINT_SHUTDOWN } from '../../../controller/types/well-known.ts'
import { scenario } from '../scenario.ts'
import type { FixedScene } from '../scene.ts'

const calls = (operation: string, outcome = 'ok') =>
  `rollcall_vcenter_calls_total{vcenter="vc-1",operation="${operation}",outcome="${outcome}"}`
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

scenario('a VM goes off as soon as its Node is initialized', { nodes: ['canary'] }, async (scene, t) => {
  const machine = scene.joins('new')
  await scene.until('it is initialized', () => scene.isInitialized('new'))
  scene.world.machines.halt(machine, 'poweredOff')
  await scene.pass(AT_ONCE)
  t.ok(isTainted(scene, 'new'))
})
