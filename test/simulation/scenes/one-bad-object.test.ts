// One VM for which calls fail, one tag or category that may not be read, one report that is slow to write: all else goes on.
import { LABEL_ZONE } from '../../../controller/types/well-known.ts'
import { CATEGORIES, FOREIGN_CATEGORIES, zoneOf } from '../model/tagging.ts'
import { scenario } from '../scenario.ts'
import type { FixedScene } from '../scene.ts'

const calls = (operation: string) =>
  `rollcall_vcenter_calls_total{vcenter="vc-1",operation="${operation}",outcome="ok"}`
const READ = 'RetrievePropertiesEx'
/** Longer than until everything is read again; milliseconds. */
const READ_AGAIN = 700_000

const zoneLabel = (scene: FixedScene<string>, name: string) => scene.node(name)?.metadata.labels[LABEL_ZONE]

function hostOf(scene: FixedScene<string>, name: string): string {
  const { vm } = scene.members.find(({ nodeName }) => nodeName === name) ?? {}
  if (vm === undefined) throw new Error(`${name} has a VM`)
  return vm.host
}

for (const fault of ['read', 'search', 'session', 'poll'] as const)
  scenario(
    `a call about one VM fails: ${fault}`,
    { nodes: ['bad', 'worker', 'gone', 'canary'] },
    async (scene, t) => {
      const { vCenter, cast } = scene
      const before = await scene.count(calls('CreateListView'))
      vCenter.faults.set(cast.bad.vm?.moref ?? '', fault)
      await scene.pass(READ_AGAIN)
      t.equal(await scene.count(calls('CreateListView')), before, 'nothing is made anew')
      await scene.nextLeader()
      scene.joins('new')
      await scene.settled('new')
      scene.destroy(cast.gone)
      await scene.ends(cast.gone)
      scene.joins('newer')
      await scene.settled('newer')
      t.equal(await scene.count(calls('Login')), 1, 'nobody logs in again')
      t.equal(await scene.count(calls('CreateListView')), 1)
      t.equal(scene.status('bad')?.identityLevel, 'proven', 'what was verified stands')
    },
  )

scenario(
  'reads of one VM are not answered for an hour',
  { nodes: ['bad', 'worker', 'gone', 'canary'] },
  async (scene, t) => {
    const { vCenter, cast } = scene
    const { moref = '' } = cast.bad.vm ?? {}
    vCenter.faults.set(moref, 'silent')
    await scene.nextLeader()
    scene.joins('new')
    await scene.settled('new')
    scene.destroy(cast.gone)
    await scene.ends(cast.gone)
    const count = async (operation: string) => (await scene.count(calls(operation))) ?? 0
    const before = { reads: await count(READ), searches: await count('FindAllByUuid') }
    await scene.pass(3_600_000)
    // Each ten minutes, and each half minute.
    t.ok((await count(READ)) - before.reads < 30)
    t.ok((await count('FindAllByUuid')) - before.searches < 130)
    t.equal(await scene.count(calls('CreateListView')), 1, 'nothing is made anew')
    t.match(scene.condition('bad', 'VMFound'), {
      status: 'Unknown',
      message: /none about the VM .*asked for again/,
    })
    t.equal(scene.status('bad')?.identityLevel, 'proven', 'what was verified stands')
    vCenter.faults.delete(moref)
    await scene.said('bad', { status: 'True' }, 'VMFound')
    scene.destroy(cast.bad)
    await scene.ends(cast.bad)
  },
)

for (const [what, status] of [
  ['may not be read', 403],
  ['are not answered for', 503],
] as const)
  scenario(
    `categories of somebody else ${what}`,
    { nodes: ['worker', 'canary'], labels: CATEGORIES },
    async (scene, t) => {
      for (const category of FOREIGN_CATEGORIES) scene.vCenter.tagsDenied.set(category, status)
      await scene.nextLeader()
      const { vm } = scene.joins('new')
      await scene.settled('new')
      await scene.said('new', { status: 'True', reason: 'Resolved' }, 'TopologyResolved')
      t.equal(zoneLabel(scene, 'new'), zoneOf(vm?.host ?? ''))
    },
  )

for (const what of ['host', 'tag'] as const)
  scenario(
    `the tags of a nearer object may not be read: ${what}`,
    { nodes: ['worker', 'canary'], labels: CATEGORIES },
    async (scene, t) => {
      const { vCenter } = scene
      for (const host of ['host-0', 'host-1', 'host-2', 'host-3'])
        for (const datacenter of ['dc-1', 'dc-2'])
          vCenter.tagsDenied.set(what === 'tag' ? zoneOf(host) : `${host}.${datacenter}`, 403)
      const before = zoneLabel(scene, 'worker')
      t.equal(before, zoneOf(hostOf(scene, 'worker')))
      await scene.nextLeader()
      scene.joins('new')
      await scene.settled('new')
      await scene.said('new', { status: 'False', reason: 'TagsUnreadable' }, 'TopologyResolved')
      t.equal(zoneLabel(scene, 'new'), undefined, 'no farther tag is taken')
      t.equal(zoneLabel(scene, 'worker'), before, 'what stands stays')
      vCenter.tagsDenied.clear()
      await scene.said('new', { status: 'True' }, 'TopologyResolved')
      t.match(zoneLabel(scene, 'new'), /^zone-of-host-/)
    },
  )

scenario(
  'the report by which a new leader would prove the policy is slow to write',
  { nodes: ['worker', 'canary'] },
  async (scene) => {
    const { burdens, reports } = scene.world.api
    const [slow = ''] = reports.keys()
    burdens.set(slow, { slow: 90_000, lost: false, denied: false })
    await scene.nextLeader()
    scene.joins('new')
    await scene.settled('new')
  },
)
