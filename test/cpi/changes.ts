/** What happens to machines and Nodes after both providers have initialized them. */
import type { Cluster } from '../servers/cluster.ts'
import { isShutDown, type NodeObject } from '../world/objects.ts'
import { providerIDOf } from './kubelet-node.ts'
import { PLACES } from './places.ts'
import type { Change, ScenarioCase } from './scenario.ts'
import type { CPIStage, StagedMachine } from './stage.ts'

/** Has a change happen in vCenter, and on the Node in the cluster of each provider. */
export async function makeChange(
  { nics, powerState, place, ready, labels, providerID }: Change,
  { name, home, vm, hostName }: StagedMachine,
  clusters: CPIStage['clusters'],
): Promise<void> {
  if (nics !== undefined) await home.setGuest({ vm: vm.ref, hostName, nics: [...nics] })
  if (powerState !== undefined) await home.setState({ vm: vm.ref, powerState })
  if (place !== undefined) await home.move({ vm: vm.ref, host: PLACES[place].compute[0] })
  const path = `/api/v1/nodes/${name}`
  for (const cluster of Object.values(clusters)) {
    if (labels !== undefined) await patch(cluster, path, { metadata: { labels } })
    if (providerID !== undefined)
      await patch(cluster, path, { spec: { providerID: providerIDOf(providerID, vm, undefined) } })
    if (ready !== undefined)
      await patch(cluster, `${path}/status`, { status: { conditions: [{ type: 'Ready', status: ready }] } })
  }
}

async function patch(cluster: Cluster, path: string, change: object): Promise<void> {
  const { status, body } = await cluster.request<{ message?: string }>('PATCH', path, change, {
    contentType: 'application/strategic-merge-patch+json',
  })
  if (status !== 200) throw new Error(`${path} is not changed (${status}): ${body.message}`)
}

/** The case as it is with a change, from the Node as it was before: initialized, with its provider ID. */
export function afterChange(one: ScenarioCase, change: Change, before: NodeObject): ScenarioCase {
  const { powerState: _, ...vm } = one.vm ?? {}
  const { ready: __, shutdownTaint: ___, ...node } = one.node ?? {}
  const powerState = change.powerState ?? one.vm?.powerState ?? 'poweredOn'
  const ready = change.ready ?? one.node?.ready ?? 'True'
  const providerID = node.providerID ?? change.providerID
  const { labels } = withChange(before, change).metadata
  return {
    ...one,
    name: `${one.name}, then ${change.name}`,
    vm: {
      ...vm,
      ...(powerState === 'poweredOn' ? {} : { powerState }),
      ...(change.nics === undefined ? {} : { nics: change.nics }),
      ...(change.place === undefined ? {} : { place: change.place }),
    },
    node: {
      ...node,
      untainted: true,
      labels,
      shutdownTaint: isShutDown(before),
      ...(ready === 'True' ? {} : { ready }),
      ...(providerID === undefined && before.spec.providerID === undefined
        ? {}
        : { providerID: providerID ?? 'plain' }),
    },
  }
}

/** The Node with what a person writes on it. */
export function withChange(node: NodeObject, { labels = {} }: Change): NodeObject {
  const written = Object.entries({ ...node.metadata.labels, ...labels }).flatMap(([key, value]) =>
    value === null ? [] : [[key, value] as const],
  )
  return { ...node, metadata: { ...node.metadata, labels: Object.fromEntries(written) } }
}
