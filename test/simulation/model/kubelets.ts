/** What kubelets write, and the node lifecycle controller of those that do not. */
import { TAINT_OUT_OF_SERVICE, TAINT_UNINITIALIZED } from '../../../controller/types/well-known.ts'
import type { Timeline } from '../timeline.ts'
import type { ApiServer } from './api-server.ts'
import { canSpeak, type Machine, swapBytes } from './machine.ts'
import { readyOf, type StoredNode } from './objects.ts'
import { wallTime } from './process.ts'

export interface Kubelets {
  /** Whether the node lifecycle controller looks after the Nodes. */
  watched: boolean
  /** Milliseconds of its `--node-monitor-grace-period`. */
  gracePeriod: number
  /** One that starts takes the Node of its name as its own, or makes it. */
  start(machine: Machine): void
  /** One renews its Lease, and gets no further. */
  renewLease(machine: Machine): void
  /** A heartbeat at this moment. */
  beat(machine: Machine): void
  /** One look of all kubelets and of the node lifecycle controller. */
  tick(): void
}

export interface KubeletsOptions {
  readonly machines: readonly Machine[]
  readonly api: ApiServer
  readonly timeline: Timeline
  /** Milliseconds between heartbeats that are written though nothing changed. */
  readonly heartbeat: number
  /** See {@link Kubelets.gracePeriod}. */
  readonly gracePeriod: number
}

/** So many signs of life are remembered. */
export const SIGNS = 20

const UNREACHABLE = 'node.kubernetes.io/unreachable'

export function createKubelets(options: KubeletsOptions): Kubelets {
  const { api, timeline, machines } = options

  function nodeOf({ nodeName, nodeUID }: Machine): StoredNode | undefined {
    const node = api.nodes.get(nodeName)
    return node?.metadata.uid === nodeUID ? node : undefined
  }

  function start(machine: Machine): void {
    if (!machine.kubelet || !canSpeak(machine) || api.away) return
    const { nodeName, biosUUID, migrated, swapped, providerID } = machine
    const found = api.nodes.get(nodeName)
    if (found === undefined) {
      machine.nodeUID = machine.random.uuid()
      api.putNode(nodeName, {
        metadata: {
          name: nodeName,
          uid: machine.nodeUID,
          resourceVersion: '',
          creationTimestamp: wallTime(timeline.now),
          labels: {},
          annotations: {},
        },
        spec: migrated
          ? { taints: [], providerID: `vsphere://${swapped ? swapBytes(biosUUID) : biosUUID}` }
          : { taints: [{ key: TAINT_UNINITIALIZED, value: 'true', effect: 'NoSchedule' }], providerID },
        status: {
          addresses: [{ type: 'Hostname', address: nodeName }],
          conditions: [
            {
              type: 'Ready',
              status: 'True',
              lastHeartbeatTime: wallTime(timeline.now),
              lastTransitionTime: wallTime(timeline.now),
            },
          ],
          nodeInfo: { systemUUID: biosUUID },
        },
      })
    } else {
      machine.nodeUID = found.metadata.uid
      if (found.status.nodeInfo.systemUUID !== biosUUID)
        api.putNode(nodeName, {
          ...found,
          status: { ...found.status, nodeInfo: { systemUUID: biosUUID } },
        })
    }
    beat(machine)
  }

  function setReady(node: StoredNode, status: string, heartbeat?: string): void {
    const conditions = node.status.conditions.map((each) =>
      each.type === 'Ready'
        ? {
            ...each,
            status,
            lastHeartbeatTime: heartbeat ?? each.lastHeartbeatTime,
            lastTransitionTime: each.status === status ? each.lastTransitionTime : wallTime(timeline.now),
          }
        : each,
    )
    const others = node.spec.taints.filter(({ key }) => key !== UNREACHABLE)
    const taints = status === 'Unknown' ? [...others, { key: UNREACHABLE, effect: 'NoExecute' }] : others
    api.putNode(node.metadata.name, {
      ...node,
      spec: { ...node.spec, taints },
      status: { ...node.status, conditions },
    })
  }

  function renewLease(machine: Machine): void {
    machine.renewals = [timeline.now, ...machine.renewals.slice(0, SIGNS - 1)]
    api.heartbeats.set(machine.nodeName, timeline.now)
  }

  function beat(machine: Machine): void {
    const node = nodeOf(machine)
    if (node === undefined || !machine.kubelet || !canSpeak(machine)) return
    renewLease(machine)
    const heartbeat = Date.parse(node.status.conditions[0]?.lastHeartbeatTime ?? '')
    const old = Date.parse(wallTime(timeline.now)) - heartbeat >= options.heartbeat
    const status = machine.ready ? 'True' : 'False'
    if (old || readyOf(node) !== status) setReady(node, status, wallTime(timeline.now))
  }

  const self: Kubelets = {
    watched: true,
    gracePeriod: options.gracePeriod,
    start,
    renewLease,
    beat,
    tick() {
      if (api.away) return
      for (const machine of machines) {
        // One that found no API server when it started tries again.
        if (machine.nodeUID === undefined) start(machine)
        else beat(machine)
      }
      if (!self.watched) return
      for (const node of api.nodes.values()) {
        const silent =
          timeline.now - (api.heartbeats.get(node.metadata.name) ?? timeline.now) > self.gracePeriod
        if (silent && readyOf(node) !== 'Unknown') setReady(node, 'Unknown')
        // As the attach-detach controller does, when the pods are gone.
        if (node.spec.taints.some(({ key }) => key === TAINT_OUT_OF_SERVICE))
          api.attachments.delete(node.metadata.name)
      }
    },
  }
  return self
}
