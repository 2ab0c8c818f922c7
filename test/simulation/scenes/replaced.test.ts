// Cluster API replaces all workers, one after the other; most Nodes are deleted by it, some by Rollcall before it.
import { SETTINGS } from '../../fixtures/facts.ts'
import { scenario } from '../scenario.ts'
import { BRAKE, brakeEvents } from './common.ts'

const WORKERS = ['worker-1', 'worker-2', 'worker-3', 'worker-4'] as const
/** Those whose Machines wait for long: their Nodes are missing at the same time, and are for Rollcall to delete. */
const SLOW: readonly string[] = ['worker-2', 'worker-3']
/** What vanishes within a fourth of absentFor vanishes at once. A new machine takes longer. */
const APART = SETTINGS.lifecycle.absentFor / 4

scenario(
  'all workers are replaced without a person',
  { nodes: ['control-plane', ...WORKERS] },
  async (scene, t) => {
    const { api, machines } = scene.world
    const old = scene.members.slice(1)
    for (const [index, machine] of old.entries()) {
      const { nodeName } = machine
      if (index > 0) await scene.pass(APART)
      scene.joins(`new-${index + 1}`)
      await scene.settled(`new-${index + 1}`)
      // In the order of Cluster API's Machine controller (`reconcileDelete`): its Node is drained, its VM is powered off and
      // destroyed, and when that is gone its Node is deleted.
      const node = scene.node(nodeName)
      if (node === undefined) throw new Error(`Node ${nodeName} is not there`)
      const taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }
      api.putNode(nodeName, { ...node, spec: { ...node.spec, taints: [...node.spec.taints, taint] } })
      machines.halt(machine, 'poweredOff')
      scene.destroy(machine)
      if (SLOW.includes(nodeName)) {
        await scene.missing(nodeName)
        continue
      }
      if (nodeName !== 'worker-1') await scene.said(nodeName, { reason: 'NotConfirmed' })
      api.putNode(nodeName, undefined)
    }
    await scene.ends(...old)
    for (const name of SLOW) await scene.told(name, 'NodeDeleted')
    for (const name of SLOW) t.equal(scene.events(name, 'NodeDeleted').length, 1, name)
    for (const index of old.keys()) t.ok(scene.isInitialized(`new-${index + 1}`), `new-${index + 1} stays`)
    t.ok(scene.node('control-plane'))

    t.same(scene.latched(), [])
    for (const { nodeName } of old) t.same(brakeEvents(scene, nodeName), [], nodeName)
    await scene.counted(BRAKE, 0)
  },
)
