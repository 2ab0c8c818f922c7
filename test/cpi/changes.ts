/** What happens to machines and Nodes after both providers have dealt with them. */
import type { Cluster } from '../servers/cluster.ts'
import { UNINITIALIZED } from '../world/kubelet.ts'
import { hasTaint, isInitialized, isShutDown, type NodeObject } from '../world/objects.ts'
import { OTHER_TAINT, providerIDOf, SHUTDOWN_TAINT } from './kubelet-node.ts'
import { PLACES } from './places.ts'
import type { Change, Label, ScenarioCase } from './scenario.ts'
import type { CPIStage, StagedMachine, StagedScenario } from './stage.ts'

const TAINTS = { other: OTHER_TAINT, shutdown: SHUTDOWN_TAINT, uninitialized: UNINITIALIZED } as const
const BOTH: readonly Label[] = ['zone', 'region']

/**
 * Has a change happen in vCenter, and on the Node in the cluster of each provider.
 *
 * @param one the case before it
 */
export async function makeChange(
  change: Change,
  one: ScenarioCase,
  machine: StagedMachine,
  { category, clusters }: Pick<StagedScenario, 'category'> & Pick<CPIStage, 'clusters'>,
): Promise<void> {
  await changeMachine(change, one, machine, category)
  const { taint, labels, providerID, ready } = change
  const path = `/api/v1/nodes/${machine.name}`
  for (const cluster of Object.values(clusters)) {
    if (taint !== undefined) await putTaint(cluster, path, TAINTS[taint])
    if (labels !== undefined) await patch(cluster, path, { metadata: { labels } })
    if (providerID !== undefined)
      await patch(cluster, path, { spec: { providerID: providerIDOf(providerID, machine.vm, undefined) } })
    if (ready !== undefined)
      await patch(cluster, `${path}/status`, { status: { conditions: [{ type: 'Ready', status: ready }] } })
  }
}

async function changeMachine(
  { nics, hostName, powerState, cpus, memoryMB, place, tags, gone }: Change,
  { vm: had = {} }: ScenarioCase,
  { home, vm, hostName: firstName, nics: firstNICs }: StagedMachine,
  category: StagedScenario['category'],
): Promise<void> {
  if (nics !== undefined || hostName !== undefined)
    await home.setGuest({
      vm: vm.ref,
      hostName: hostName ?? had.hostName ?? firstName,
      nics: [...(nics ?? had.nics ?? firstNICs)],
    })
  if ((powerState ?? cpus ?? memoryMB) !== undefined)
    await home.setState({
      vm: vm.ref,
      ...(powerState === undefined ? {} : { powerState }),
      ...(cpus === undefined ? {} : { cpus }),
      ...(memoryMB === undefined ? {} : { memoryMB }),
    })
  if (place !== undefined) await home.move({ vm: vm.ref, host: PLACES[place].compute[0] })
  for (const label of BOTH) {
    const [before, after] = [had.tags?.[label], tags?.[label]]
    if (after === undefined || after === before) continue
    const of = (tag: string) => ({ category: category(label), tag, object: vm.ref })
    if (before !== undefined) await home.tag({ ...of(before), detach: true })
    if (after !== null) await home.tag(of(after))
  }
  if (gone === true) await home.unregister(vm.ref)
}

async function putTaint(
  cluster: Cluster,
  path: string,
  taint: (typeof TAINTS)[keyof typeof TAINTS],
): Promise<void> {
  const { status, body } = await cluster.request<NodeObject>('GET', path)
  if (status === 404 || hasTaint(body, taint)) return
  await patch(cluster, path, { spec: { taints: [...(body.spec.taints ?? []), taint] } })
}

async function patch(cluster: Cluster, path: string, change: object): Promise<void> {
  const { status, body } = await cluster.request<{ message?: string }>('PATCH', path, change, {
    contentType: 'application/strategic-merge-patch+json',
  })
  // The CPI deletes some Nodes.
  if (status !== 200 && status !== 404) throw new Error(`${path} is not changed (${status}): ${body.message}`)
}

/** Whether no provider is told of it: Rollcall reads tags and sizes every five minutes, and when it starts. */
export function isReadAtStart({ tags, cpus, memoryMB }: Change): boolean {
  return tags !== undefined || cpus !== undefined || memoryMB !== undefined
}

/** The case as it is with a change, from the Node as Rollcall had it before. */
export function afterChange(one: ScenarioCase, change: Change, before: NodeObject): ScenarioCase {
  const { powerState: _, tags: had = {}, ...vm } = one.vm ?? {}
  const { ready: __, ...node } = one.node ?? {}
  const { nics, hostName, cpus, memoryMB, place, gone } = change
  const powerState = change.powerState ?? one.vm?.powerState ?? 'poweredOn'
  const ready = change.ready ?? one.node?.ready ?? 'True'
  const providerID = node.providerID ?? change.providerID
  const changed = withChange(before, change)
  const tags = withoutNulls({ ...had, ...change.tags })
  return {
    ...one,
    name: `${one.name}, then ${change.name}`,
    vm: {
      ...vm,
      ...(powerState === 'poweredOn' ? {} : { powerState }),
      tags,
      ...(nics === undefined ? {} : { nics }),
      ...(hostName === undefined ? {} : { hostName }),
      ...(cpus === undefined ? {} : { cpus }),
      ...(memoryMB === undefined ? {} : { memoryMB }),
      ...(place === undefined ? {} : { place }),
      ...(gone === undefined ? {} : { gone }),
    },
    node: {
      ...node,
      untainted: isInitialized(changed),
      labels: changed.metadata.labels,
      otherTaint: hasTaint(changed, OTHER_TAINT),
      shutdownTaint: isShutDown(changed),
      ...(ready === 'True' ? {} : { ready }),
      ...(providerID === undefined && before.spec.providerID === undefined
        ? {}
        : { providerID: providerID ?? 'plain' }),
    },
  }
}

/** The Node with what a person writes on it. */
export function withChange(node: NodeObject, { labels = {}, taint }: Change): NodeObject {
  const { taints = [] } = node.spec
  const put = taint === undefined || hasTaint(node, TAINTS[taint]) ? [] : [TAINTS[taint]]
  return {
    ...node,
    metadata: { ...node.metadata, labels: withoutNulls({ ...node.metadata.labels, ...labels }) },
    spec: { ...node.spec, taints: [...taints, ...put] },
  }
}

function withoutNulls(values: Readonly<Record<string, string | null>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([key, value]) => (value === null ? [] : [[key, value]])),
  )
}
