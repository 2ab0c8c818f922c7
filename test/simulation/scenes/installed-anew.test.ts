// A vCenter is installed anew, and its VMs are registered there again: nobody can be asked any more about those that it had.
import { installAnew } from '../faults/moves.ts'
import type { Machine } from '../model/machine.ts'
import { scenario } from '../scenario.ts'
import type { FixedScene } from '../scene.ts'
import { ALL_LABEL_RULES } from '../settings.ts'
import { NO_BRAKE } from './common.ts'

const lifecycle = NO_BRAKE
const MOREF = (machine: Machine) => machine.vm?.moref

/** For a moment nobody answers there. */
async function replace(scene: FixedScene<string>): Promise<void> {
  const { vCenter, world } = scene
  vCenter.reach = 'down'
  vCenter.endSessions()
  await scene.pass(20_000)
  vCenter.reach = 'works'
  installAnew(world, vCenter)
}

/** A machine whose agent draws no nonce. */
async function joinsWithoutNonce(scene: FixedScene<string>, name: string): Promise<Machine> {
  const machine = scene.joins(name)
  machine.claims = 'without-nonce'
  await scene.settled(name)
  return machine
}

const isBound = (scene: FixedScene<string>, machine: Machine) => () =>
  scene.status(machine.nodeName)?.vm?.moref === MOREF(machine)

scenario(
  'each Node is the VM that shows its claim, or has its instance UUID where its agent writes none',
  { nodes: ['worker', 'canary'], lifecycle },
  async (scene, t) => {
    const old = await joinsWithoutNonce(scene, 'old')
    const before = MOREF(old)
    await replace(scene)
    for (const each of [scene.cast.worker, old]) await scene.until('it is bound there', isBound(scene, each))
    t.not(MOREF(old), before)
    t.equal(scene.status('worker')?.identityLevel, 'proven')
    t.equal(scene.status('old')?.identityLevel, 'reported')
  },
)

scenario(
  'without a claim and with another instance UUID it is said what a person can do, and that does it',
  { nodes: ['canary'], lifecycle },
  async (scene, t) => {
    const old = await joinsWithoutNonce(scene, 'old')
    const { instanceUUID } = old
    await replace(scene)
    const { vm } = old
    if (vm === undefined) throw new Error('it is registered there')
    vm.instanceUUID = scene.world.random.uuid()
    vm.vCenter.changed(vm)
    const { message } = await scene.said(
      'old',
      { reason: 'UUIDOfAnotherVM', message: /is no longer configured.*install one of this release/ },
      'VMFound',
    )
    t.not(instanceUUID, vm.instanceUUID)
    const [, named] = /kubectl annotate node old rollcall.dev\/vm=(\S+)$/.exec(message) ?? []
    scene.world.nameVM('old', named)
    await scene.until('it is bound there', isBound(scene, old))
  },
)

scenario(
  'another vCenter answers: what the one before has shown says nothing of it',
  { nodes: ['worker', 'canary'], lifecycle, labelRules: ALL_LABEL_RULES },
  async (scene, t) => {
    const { vCenter, world } = scene
    const before = scene.status('worker')?.vm
    const bound = () => scene.status('worker')?.vm
    t.equal(before?.vCenterInstanceUUID, vCenter.instanceUUID)
    vCenter.impostor = world.anotherVCenter(vCenter.name, world.random)
    vCenter.breakWaits()
    await scene.until(
      'it is said, or the Node is taken for a VM there',
      () =>
        scene.condition('worker', 'VMFound')?.status === 'False' ||
        bound()?.vCenterInstanceUUID !== before?.vCenterInstanceUUID,
    )
    await scene.pass(60_000)
    t.same(bound(), before)
    t.equal(scene.status('worker')?.namedVM, undefined, 'nor is it shown there')
    vCenter.breakWaits()
    vCenter.impostor = undefined
    await scene.said('worker', { status: 'True' }, 'VMFound')
    t.same(bound(), before)
  },
)

scenario(
  'it shows nothing for want of rights, while a Node runs that was its own: no vCenter is believed to be empty',
  { nodes: ['gone', 'canary'], lifecycle, second: 'empty' },
  async (scene, t) => {
    const { world, cast } = scene
    const [, second] = world.vCenters
    const [folder] = second?.folders ?? []
    if (second === undefined || folder === undefined) throw new Error('there is a second vCenter')
    world.machines.create('other', second, folder).claims = 'with-nonce'
    await scene.settled('other')

    second.reach = 'down'
    second.endSessions()
    await scene.pass(20_000)
    for (const { moref } of second.folders) second.denied.add(moref)
    second.reach = 'works'
    installAnew(world, second)
    scene.destroy(cast.gone)
    scene.silence(cast.gone)
    const message = /vCenter vc-2 shows no VM at all, .* Node other is Ready and no vCenter shows its VM/
    await scene.said('gone', { status: 'Unknown', reason: 'CanaryNotFound', message })
    await scene.pass(600_000)
    t.ok(scene.node('gone'), 'its VM may be there')

    second.denied.clear()
    second.changedAll()
    await scene.ends(cast.gone)
    t.ok(scene.node('other'))
  },
)

// Its VM was in no inventory when the others were registered there, and may be in the vCenter that shows nothing.
for (const [what, release] of [
  ['registered again', (scene) => scene.show(scene.cast.unlisted)],
  ['let go', ({ world }) => world.annotate('unlisted', 'proceed')],
  ['deleted', ({ world }) => world.api.putNode('unlisted', undefined)],
  ['silent', (scene) => scene.silence(scene.cast.unlisted)],
] satisfies [string, (scene: FixedScene<'gone' | 'unlisted' | 'canary'>) => void][])
  scenario(
    `a Node runs that nobody registers there: no Node goes while another vCenter is empty, until that one is ${what}`,
    { nodes: ['gone', 'unlisted', 'canary'], lifecycle, second: 'empty' },
    async (scene, t) => {
      const { cast } = scene
      scene.hide(cast.unlisted)
      await replace(scene)
      for (const each of [cast.gone, cast.canary])
        await scene.until('it is bound there', isBound(scene, each))
      scene.destroy(cast.gone)
      const message =
        /vCenter vc-2 shows no VM at all, .* Node unlisted is Ready and no vCenter shows its VM.* register that VM again, .* kubectl delete node unlisted, or kubectl annotate node unlisted rollcall.dev\/deletion=proceed/
      await scene.said('gone', { status: 'Unknown', reason: 'CanaryNotFound', message })
      await scene.pass(600_000)
      t.ok(scene.node('gone'), 'its VM may be there')

      release(scene)
      await scene.ends(cast.gone)
      t.equal(scene.node('unlisted') === undefined, what === 'deleted')
    },
  )
