// VMs are gone, or vCenter says so, and its answers are such that nobody can know.
import { SETTINGS } from '../../fixtures/facts.ts'
import { scenario } from '../scenario.ts'
import { DELETED, MISSING, NO_BRAKE } from './common.ts'

const { absentFor } = SETTINGS.lifecycle
const LOGINS = 'rollcall_vcenter_calls_total{vcenter="vc-1",operation="Login",outcome="InvalidLogin"}'

// kubernetes/cloud-provider-vsphere#479
scenario(
  'the password is refused',
  { nodes: ['worker-0', 'worker-1', 'gone'], lifecycle: NO_BRAKE },
  async (scene, t) => {
    const { vCenter, members, world } = scene
    const names = members.map(({ nodeName }) => nodeName)

    /** Keeps all for longer than a deletion takes, with one attempt. */
    async function areKept(events: number): Promise<void> {
      for (const name of names) {
        const { message } = await scene.said(name, { status: 'Unknown', reason: 'InvalidLogin' })
        t.match(message, /^vCenter cannot be asked whether its VM is gone, so the Node is kept: .*password/)
      }
      await scene.pass(2 * absentFor)
      t.equal(await scene.count(LOGINS), 1, 'one attempt')
      t.equal(scene.kept(), 3, 'all are kept')
      for (const name of names) {
        await scene.told(name, 'InvalidLogin')
        t.match(scene.events(name, 'InvalidLogin'), [{ type: 'Warning' }])
        t.equal(scene.events(name, 'InvalidLogin').length, events)
      }
    }

    // It expires while the controller runs, and the session ends.
    scene.silence(...members)
    vCenter.passwordWrong = true
    vCenter.endSessions()
    scene.hide(scene.cast.gone)
    await areKept(1)

    // It is wrong, too, with which the next leader starts.
    world.api.forgetLogins()
    await scene.nextLeader()
    await areKept(1)

    // It is right.
    vCenter.passwordWrong = false
    world.api.forgetLogins()
    await scene.nextLeader()
    for (const name of ['worker-0', 'worker-1']) {
      await scene.said(name, { status: 'False', reason: 'VMExists' })
      t.equal(scene.condition(name, 'VMFound')?.status, 'True')
    }
    await scene.ends(scene.cast.gone)
    t.equal(scene.kept(), 2)
  },
)

const TEN = Array.from({ length: 10 }, (_, index) => `node-${index}`)

// To an account that may not read, vCenter's search answers "nothing found", not "denied":
// kubernetes-sigs/vsphere-csi-driver#2475
for (const refuses of [true, false])
  scenario(
    `all privileges are lost (${refuses ? 'fault' : 'missingSet'}), no Node is ready, and the controller starts anew`,
    { nodes: TEN, lifecycle: NO_BRAKE },
    async (scene, t) => {
      const { vCenter, members } = scene
      const writes = () => TEN.map(scene.nodeWrites)
      vCenter.refusesCalls = refuses
      scene.silence(...members)
      await scene.until('all are silent', () => TEN.every((name) => scene.ready(name) === 'Unknown'))
      for (const { moref } of vCenter.folders) vCenter.denied.add(moref)
      vCenter.changedAll()
      const before = writes()
      await scene.nextLeader()
      for (const { nodeName, vm } of members) {
        const { message } = await scene.said(nodeName, { status: 'Unknown', reason: 'PrivilegeMissing' })
        t.match(message, `the account lacks System.View and System.Read on Folder "${vm?.folder.name}"`)
      }
      await scene.probed(5, ...TEN)
      t.equal(scene.kept(), 10, 'all are kept')
      t.same(writes(), before, 'and none was written')
      await scene.counted(DELETED, 0)

      vCenter.denied.clear()
      vCenter.changedAll()
      for (const name of TEN) {
        await scene.said(name, { status: 'False', reason: 'VMExists' })
        await scene.said(name, { status: 'True' }, 'VMFound')
      }
      t.equal(scene.kept(), 10)
      t.same(writes(), before)
    },
  )

scenario(
  'privileges on one folder are lost, and the VM in it is gone',
  { nodes: ['in-folder', 'canary'], lifecycle: NO_BRAKE },
  async (scene, t) => {
    const { vCenter } = scene
    const [workers] = vCenter.folders
    const { vm } = scene.cast['in-folder']
    if (workers === undefined || vm === undefined) throw new Error('there is a folder, and a VM')
    vm.folder = workers
    vCenter.changed(vm)
    await scene.pass(absentFor)
    vCenter.denied.add(workers.moref)
    vCenter.changedAll()
    scene.vanish(scene.cast['in-folder'])
    const { message } = await scene.said('in-folder', { status: 'Unknown', reason: 'PrivilegeMissing' })
    t.match(
      message,
      /lacks System\.View and System\.Read on Folder "folder-0" \(group-v\d+\): give it the role/,
    )
    await scene.probed(5, 'in-folder')
    t.equal(scene.kept(), 2, 'what is not proven is kept')

    vCenter.denied.clear()
    vCenter.changedAll()
    await scene.ends(scene.cast['in-folder'])
    t.equal(scene.kept(), 1)
  },
)

// kubernetes/cloud-provider-vsphere#642, #650
scenario(
  'a storage outage, in which the controller restarts',
  { nodes: ['worker', 'other'] },
  async (scene, t) => {
    const { worker } = scene.cast
    const { vm } = worker
    if (vm === undefined) throw new Error('it has a VM')
    const found = () => scene.condition('worker', 'VMFound')
    const before = scene.nodeWrites('worker')
    vm.connectionState = 'inaccessible'
    vm.shownPower = 'poweredOff'
    vm.vCenter.changed(vm)
    scene.silence(worker)

    // The controller that knew it says so, and concludes nothing.
    await scene.said('worker', { reason: 'VMNotConnected' }, 'VMFound')
    t.match(found(), { status: 'Unknown', message: /inaccessible.*the Node is kept/ })
    await scene.counted(MISSING, 0)
    await scene.until('it is silent', () => scene.ready('worker') === 'Unknown')

    // The next, whose search does not find it, asks for it by reference.
    await scene.nextLeader()
    const { message } = await scene.said('worker', { status: 'False', reason: 'VMExists' })
    t.match(message, /is kept: VM ".+" \(vm-\d+, inaccessible\) is found by reference/)
    t.match(found(), { status: 'Unknown', reason: 'VMNotSearchable', message: /inaccessible/ })
    await scene.probed(5, 'worker')
    t.ok(scene.node('worker'), 'kept, though asked often enough')
    t.equal(await scene.count(MISSING), 0, 'it counts for no brake')
    t.equal(await scene.count(DELETED), 0)

    // The storage is back.
    vm.connectionState = 'connected'
    vm.shownPower = undefined
    vm.vCenter.changed(vm)
    await scene.said('worker', { status: 'True' }, 'VMFound')
    t.equal(scene.status('worker')?.identityLevel, 'proven')
    t.equal(scene.nodeWrites('worker'), before, 'no taint but the first')
    t.equal(scene.condition('other'), undefined)
  },
)

scenario(
  'a vCenter has loaded no VM yet, and the only Node that runs there has left an entry in another one',
  { nodes: ['moved', 'canary'], lifecycle: NO_BRAKE, second: 'empty' },
  async (scene, t) => {
    const { moved } = scene.cast
    const { machines, vCenters } = scene.world
    const [, other] = vCenters
    const [folder] = other?.folders ?? []
    if (other === undefined || folder === undefined) throw new Error('there is a second vCenter')
    const silent = machines.create('silent', other, folder)
    silent.claims = 'with-nonce'
    await scene.settled('silent')

    // It fails over, and keeps its instance UUID.
    machines.halt(moved, 'poweredOff')
    await scene.said('moved', { reason: 'VMPoweredOff' }, 'VMFound')
    machines.leave(moved)
    machines.register(moved, other)
    machines.boot(moved)
    await scene.until('it is bound there', () => scene.status('moved')?.vm?.vCenter === other.name)

    scene.silence(silent)
    await scene.until('it is silent', () => scene.ready('silent') === 'Unknown')
    other.loaded = new Set()
    other.endSessions()
    const message = /vCenter vc-2 shows no VM at all, .* Node moved is Ready and had its VM there/
    await scene.said('silent', { status: 'Unknown', reason: 'CanaryNotFound', message })
    await scene.probed(1, 'moved')
    await scene.pass(2 * absentFor)
    t.ok(scene.node('silent'), 'its VM exists')
    await scene.said('silent', { status: 'Unknown', reason: 'CanaryNotFound', message })

    other.loaded = undefined
    other.changedAll()
    await scene.said('silent', { status: 'False', reason: 'VMExists' })
    await scene.said('moved', { status: 'True' }, 'VMFound')
  },
)
