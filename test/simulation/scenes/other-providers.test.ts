// Nodes of other providers, and those without any, are left alone, whatever becomes of them:
// kubernetes/cloud-provider-vsphere#538, #677, #1636

import { wallTime } from '../model/process.ts'
import { scenario } from '../scenario.ts'
import type { World } from '../world.ts'
import { DELETED, NO_BRAKE } from './common.ts'

const PROVIDERS = ['kubemark://hollow-1', 'metal3://bmh/1', 'rke2://rke2-1', undefined]

/** A Node that another provider has initialized; its kubelet has renewed its Lease once. */
function register({ api, timeline, random }: World, name: string, providerID: string | undefined): void {
  const time = wallTime(timeline.now)
  api.putNode(name, {
    metadata: {
      name,
      uid: random.uuid(),
      resourceVersion: '',
      creationTimestamp: time,
      labels: {},
      annotations: {},
    },
    spec: { taints: [], providerID },
    status: {
      addresses: [{ type: 'Hostname', address: name }],
      conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: time, lastTransitionTime: time }],
      nodeInfo: { systemUUID: random.uuid() },
    },
  })
  api.heartbeats.set(name, timeline.now)
}

scenario(
  'their VMs are nowhere, and they are not ready',
  { nodes: ['gone', 'canary'], lifecycle: NO_BRAKE },
  async (scene, t) => {
    const { gone } = scene.cast
    const foreign = PROVIDERS.map((providerID, index) => ({ name: `foreign-${index}`, providerID }))
    for (const { name, providerID } of foreign) register(scene.world, name, providerID)
    // One on a VM of ours, with an agent, and a provider ID that another provider gave it (k3s-io/k3s#1049).
    register(scene.world, 'blocked', 'k3s://blocked')
    const blocked = scene.joins('blocked')
    await scene.said('blocked', { reason: 'ForeignProviderID' }, 'IdentityVerified')

    scene.vanish(gone, blocked)
    await scene.ends(gone)
    for (const { name, providerID = 'without a provider ID' } of foreign) {
      t.equal(scene.ready(name), 'Unknown')
      t.equal(scene.nodeWrites(name), 0, `${providerID}: as others left it`)
      t.same(scene.events(name), [])
      t.equal(scene.world.api.reports.get(name), undefined)
    }
    await scene.counted('rollcall_nodes{state="refused"}', 1)
    await scene.counted('rollcall_nodes{state="initialized"}', 1)
    await scene.counted('rollcall_nodes{state="waiting"}', 0)
    await scene.counted(DELETED, 1)

    // One that an agent speaks for is told once why it is left alone.
    t.match(scene.events('blocked'), [
      { type: 'Warning', reason: 'ForeignProviderID', message: /k3s:\/\/blocked.*cannot change/ },
    ])
    t.equal(scene.events('blocked').length, 1)
    t.equal(scene.nodeWrites('blocked'), 0)
    t.equal(scene.condition('blocked'), undefined)
  },
)
