// That an account could never prove an absence is said while the VMs exist; an empty vCenter, and one without any other VM,
// keep nobody.
import { ROOT } from '../model/values.ts'
import { scenario } from '../scenario.ts'
import { DELETED, NO_BRAKE } from './common.ts'

scenario(
  'a VM that is destroyed keeps its Node until the account may read the root of every vCenter',
  { nodes: ['first', 'second', 'last'], lifecycle: NO_BRAKE, second: 'empty' },
  async (scene, t) => {
    const { first, second, last } = scene.cast
    const [, empty] = scene.world.vCenters
    if (empty === undefined) throw new Error('there are two')
    const provable = (vCenter: string) => `rollcall_vcenter_absence_provable{vcenter="${vCenter}"}`
    // It asks again with each session, and every five minutes.
    empty.denied.add(ROOT)
    empty.endSessions()
    const message =
      /^if its VM vanished, that could not be proven.* vCenter vc-2: the account lacks System\.View and System\.Read on the root folder/
    for (const { nodeName } of scene.members)
      await scene.said(nodeName, { status: 'False', reason: 'PrivilegeMissing', message }, 'DeletionPossible')
    await scene.told('first', 'PrivilegeMissing')
    t.match(scene.events('first', 'PrivilegeMissing'), [{ type: 'Warning' }])
    t.equal(scene.events('first', 'PrivilegeMissing').length, 1)
    await scene.counted(provable('vc-1'), 1)
    await scene.counted(provable('vc-2'), 0)

    scene.destroy(first)
    const pending = await scene.said('first', { status: 'Unknown', reason: 'PrivilegeMissing' })
    t.match(pending.message, /vCenter vc-2: the account lacks .* on the root folder/)
    await scene.probed(5, 'first')
    t.ok(scene.node('first'), 'kept, though asked often enough')
    empty.denied.delete(ROOT)
    await scene.ends(first)
    empty.endSessions()
    await scene.said('last', { status: 'True', reason: 'AbsenceProvable' }, 'DeletionPossible')
    await scene.counted(provable('vc-2'), 1)

    // No vCenter has any VM in the end.
    for (const vm of scene.vCenter.vms.values()) if (vm.machine === undefined) scene.vCenter.unregister(vm)
    scene.destroy(second)
    await scene.ends(second)
    t.ok(scene.node('last'))
    scene.destroy(last)
    t.equal(scene.vCenter.vms.size, 0)
    await scene.ends(last)
    await scene.counted(DELETED, 3)
  },
)
