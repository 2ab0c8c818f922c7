// kubernetes-sigs/vsphere-csi-driver#221
import { TAINT_OUT_OF_SERVICE } from '../../../controller/types/well-known.ts'
import { wallTime } from '../model/process.ts'
import { scenario } from '../scenario.ts'
import { NO_BRAKE } from './common.ts'

const WAIT = 120_000
const OUT_AFTER = 60_000

scenario(
  'a Node with volumes is called out of service first, and held until they are detached, or for so long',
  { nodes: ['detached', 'stuck', 'bare', 'canary'], lifecycle: { ...NO_BRAKE, waitForVolumes: WAIT } },
  async (scene, t) => {
    const { detached, stuck, bare, canary } = scene.cast
    const { api, machines } = scene.world
    const outOfService = (name: string) =>
      scene.node(name)?.spec.taints.find(({ key }) => key === TAINT_OUT_OF_SERVICE)
    api.attachments.set('detached', 2)
    api.attachments.set('stuck', 1)
    api.attachments.set('canary', 1)
    scene.vanish(detached, stuck, bare)
    await scene.until('they are seen to be silent', () =>
      ['detached', 'stuck', 'bare'].every((name) => scene.ready(name) === 'Unknown'),
    )
    // Nobody detaches anything on his own: the driver is stuck.
    machines.kubelets.watched = false

    // Without volumes nothing is waited for, and no volume taken.
    await scene.ends(bare)
    t.same(scene.events('bare', 'OutOfService'), [])
    t.ok(scene.node('stuck'), 'while the others are held')

    await scene.until('the taint is there', () =>
      ['detached', 'stuck'].every((name) => outOfService(name) !== undefined),
    )
    t.match(outOfService('detached'), { value: 'rollcall', effect: 'NoExecute' })
    t.ok(outOfService('detached')?.timeAdded)
    const { timeAdded = '' } = outOfService('stuck') ?? {}
    await scene.told('detached', 'OutOfService')
    for (const [name, count] of [
      ['detached', 2],
      ['stuck', 1],
    ] as const) {
      const message = new RegExp(
        `for now: ${count} VolumeAttachments? still names? Node ${name}; the taint .* has (them|it) detached; the Node waits 2m at most`,
      )
      await scene.said(name, { status: 'True', reason: 'VolumesAttached', message })
      t.ok(scene.node(name))
    }
    // What kube-controller-manager and the driver do for a Node with that taint.
    api.attachments.delete('detached')
    await scene.ends(detached)
    t.ok(scene.node('stuck'))

    await scene.ends(stuck)
    const waited = Date.parse(wallTime(scene.deletedAt(stuck) ?? 0)) - Date.parse(timeAdded)
    t.ok(waited >= WAIT, `${waited} ms`)
    t.ok(scene.node('canary'))
    t.equal(outOfService(canary.nodeName), undefined)
  },
)

// A backup of it, or a replica: its agent, of an older release, can prove nothing there.
scenario(
  'a machine that goes on as another VM is not called out of service while that runs',
  {
    nodes: ['restored', 'canary'],
    lifecycle: { outOfServiceAfter: OUT_AFTER },
  },
  async (scene, t) => {
    const { restored } = scene.cast
    const { machines, timeline, random } = scene.world
    const isOut = () =>
      scene.node('restored')?.spec.taints.some(({ key }) => key === TAINT_OUT_OF_SERVICE) === true
    restored.claims = 'nothing'
    machines.halt(restored, 'poweredOff')
    await scene.said('restored', { reason: 'VMPoweredOff' }, 'VMFound')
    machines.leave(restored)
    machines.register(restored, scene.vCenter, { instanceUUID: random.uuid() })
    machines.boot(restored)
    await scene.said('restored', { reason: 'CopyFound' }, 'VMUnique')
    await scene.until('it is Ready again', () => scene.ready('restored') === 'True')
    await scene.pass(2 * OUT_AFTER)

    scene.silence(restored)
    await scene.until('it is seen to be silent', () => scene.ready('restored') === 'Unknown')
    await scene.pass(3 * OUT_AFTER)
    t.equal(isOut(), false)

    machines.halt(restored, 'poweredOff')
    const since = timeline.now
    await scene.until('it is out of service', isOut)
    const waited = timeline.now - since
    t.ok(waited >= OUT_AFTER, `${waited} ms after that is off, too`)
  },
)
