// A VM is destroyed and created again under its name. A new Node of that name appears at once, or the old one stays and the
// kubelet of the new VM takes it over (Terraform, kubespray, Talos): kubernetes/cloud-provider-vsphere#381, #397
import { SETTINGS } from '../../fixtures/facts.ts'
import type { Machine } from '../model/machine.ts'
import { scenario } from '../scenario.ts'
import type { FixedScene } from '../scene.ts'
import { NO_BRAKE } from './common.ts'

const lifecycle = NO_BRAKE
const LEVEL = 'rollcall.node-restriction.kubernetes.io/identity-level'

/** Destroys a machine and creates it again; the kubelet of the new one takes over the Node. */
function rebuild(scene: FixedScene<string>, machine: Machine, withAgent = true): Machine {
  scene.destroy(machine)
  return scene.joins(machine.nodeName, withAgent ? {} : { migrated: true, swapped: false })
}

const saidOfAnother = (scene: FixedScene<string>, name: string, message?: RegExp) =>
  scene.said(
    name,
    { status: 'False', reason: 'ProviderIDOfAnotherVM', ...(message && { message }) },
    'IdentityVerified',
  )

scenario(
  'a new Node of that name, after the old one was deleted',
  { nodes: ['after', 'canary'], lifecycle },
  async (scene, t) => {
    const { after } = scene.cast
    const { nodeUID } = after
    const next = rebuild(scene, after)
    next.linked = false
    await scene.ends(after)
    next.linked = true
    await scene.settled('after')
    t.match(scene.node('after'), {
      metadata: { uid: next.nodeUID },
      spec: { providerID: `vsphere://${next.biosUUID}` },
    })
    t.not(next.nodeUID, nodeUID)
    t.match(scene.status('after'), { vm: { moref: next.vm?.moref }, identityLevel: 'proven' })
    t.equal(scene.condition('after'), undefined, 'that was said of the old one')
    t.match(scene.events('after', 'NodeDeleted'), [{ regarding: { uid: nodeUID } }])
  },
)

scenario(
  'a new Node while the old one is being confirmed, which is not ready, nor has it reported',
  { nodes: ['during', 'clock', 'canary'], lifecycle },
  async (scene, t) => {
    const { during, clock } = scene.cast
    scene.destroy(during)
    scene.silence(clock)
    await scene.said('during', { status: 'True', reason: 'NotConfirmed' })
    scene.hide(clock)
    scene.world.api.putNode('during', undefined)
    const next = scene.joins('during')
    next.agent = false
    next.ready = false
    // It went missing later.
    await scene.ends(clock)
    t.equal(scene.node('during')?.metadata.uid, next.nodeUID, 'kept')
    next.agent = true
    scene.world.machines.report(next)
    await scene.settled('during')
    t.equal(scene.node('during')?.spec.providerID, `vsphere://${next.biosUUID}`)
  },
)

scenario(
  'the Node is taken over: it is said in one condition, with what mends it',
  { nodes: ['mended', 'canary'], lifecycle },
  async (scene, t) => {
    const { nodeUID } = scene.cast.mended
    const next = rebuild(scene, scene.cast.mended)
    await saidOfAnother(scene, 'mended', /kubectl delete node mended, then restart the kubelet/)
    await scene.told('mended', 'ProviderIDOfAnotherVM')
    t.not(scene.condition('mended')?.status, 'True', 'and nothing else is wanted')
    await scene.until(
      'it is not called verified',
      () => scene.node('mended')?.metadata.labels[LEVEL] === undefined,
    )
    t.equal(scene.node('mended')?.metadata.uid, nodeUID, 'a machine that lives loses no Node')

    scene.world.api.putNode('mended', undefined)
    next.nodeUID = undefined
    await scene.until('it registers', () => scene.node('mended') !== undefined)
    scene.world.machines.report(next)
    await scene.settled('mended')
    t.equal(scene.node('mended')?.spec.providerID, `vsphere://${next.biosUUID}`, 'that has mended it')
  },
)

scenario(
  'a new machine that is silent keeps the Node, and when it goes as well, the Node goes',
  { nodes: ['both', 'canary'], lifecycle },
  async (scene, t) => {
    const { both } = scene.cast
    const former = both.vm?.moref ?? ''
    const next = rebuild(scene, both)
    const { vm } = next
    if (vm === undefined) throw new Error('it is listed')
    await saidOfAnother(scene, 'both')
    scene.silence(next)
    await scene.until('vCenter is followed', () => scene.status('both')?.namedVM?.moref === vm.moref)
    vm.connectionState = 'inaccessible'
    vm.shownPower = 'poweredOff'
    vm.vCenter.changed(vm)
    await scene.nextLeader()
    const { message } = await scene.said('both', { reason: 'VMExists' })
    t.ok(message.includes(vm.moref), 'it is said which machine is there')
    await scene.probed(3, 'both')
    t.ok(scene.node('both'), 'no search finds it in an outage of its datastore, and it is there')
    vm.connectionState = 'connected'
    vm.shownPower = undefined
    vm.vCenter.changed(vm)
    scene.hide(next)
    await scene.ends(next)
    await scene.told('both', 'NodeDeleted')
    t.match(scene.events('both', 'NodeDeleted'), [{ message: new RegExp(former) }])
  },
)

scenario(
  'so it is where no agent speaks for the new machine',
  { nodes: ['agentless', 'canary'], lifecycle },
  async (scene, t) => {
    const next = rebuild(scene, scene.cast.agentless, false)
    await scene.until(
      'it was seen under the UUID that its kubelet names',
      () => scene.status('agentless')?.namedVM?.moref === next.vm?.moref,
    )
    scene.silence(next)
    await scene.until('it is silent', () => scene.ready('agentless') === 'Unknown')
    t.ok(scene.node('agentless'), 'its machine is there')
    scene.hide(next)
    await scene.ends(next)
  },
)

for (const unbound of ['report', 'delete'] as const)
  scenario(
    `a new machine that no vCenter has ever shown keeps it, with lifecycle.unbound: ${unbound}: it may run elsewhere`,
    { nodes: ['unseen', 'canary'], lifecycle: { ...NO_BRAKE, unbound } },
    async (scene, t) => {
      const next = rebuild(scene, scene.cast.unseen, false)
      scene.hide(next)
      await scene.until('its kubelet has the Node', () => next.nodeUID !== undefined)
      scene.silence(next)
      const said = () =>
        scene.said('unseen', {
          status: 'True',
          reason: 'NotBound',
          message: new RegExp(`${next.biosUUID}.*kubectl delete node unseen`),
        })
      await said()
      // Longer than a machine is waited for that was never seen.
      await scene.pass(7 * SETTINGS.lifecycle.absentFor)
      await said()
      t.ok(scene.node('unseen'))
    },
  )

scenario('one that has become a template', { nodes: ['template', 'canary'], lifecycle }, async (scene, t) => {
  const { template } = scene.cast
  const { vm } = template
  if (vm === undefined) throw new Error('it has a VM')
  scene.world.machines.halt(template, 'poweredOff')
  vm.template = true
  vm.vCenter.changed(vm)
  await scene.said('template', { reason: 'VMIsTemplate' }, 'VMFound')
  await scene.until('it is silent', () => scene.ready('template') === 'Unknown')
  t.ok(scene.node('template'), 'a template is there')
  scene.hide(template)
  await scene.ends(template)
})

scenario(
  'one whose report came from elsewhere',
  { nodes: ['macs', 'canary'], lifecycle },
  async (scene, t) => {
    const { macs } = scene.cast
    macs.forged = true
    scene.world.machines.report(macs)
    await scene.said('macs', { reason: 'MACsContradict' }, 'IdentityVerified')
    scene.silence(macs)
    await scene.until('it is silent', () => scene.ready('macs') === 'Unknown')
    t.ok(scene.node('macs'))
    scene.hide(macs)
    await scene.ends(macs)
  },
)
