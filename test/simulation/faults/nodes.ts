/** What is wrong with a Node object itself: finalizers that nobody removes, and what it costs the API server to write it. */
import {
  BETA_LABELS,
  LABEL_INSTANCE_TYPE,
  LABEL_REGION,
  LABEL_ZONE,
} from '../../../controller/types/well-known.ts'
import type { Burden } from '../model/api-server.ts'
import type { World } from '../world.ts'
import type { Fault, Faults, Focus } from './fault.ts'

const FINALIZER = 'example.com/nobody-removes-it'

/** Whoever deletes the Node waits for somebody who removes the finalizer: at the end, or never. */
function finalizer(then: (world: World, focus: Focus) => void): Fault {
  return (world, focus) => {
    const { api, machines, random } = world
    const { nodeName } = focus.machine
    api.setFinalizers(nodeName, [FINALIZER])
    then(world, focus)
    return () => {
      if (random.chance(0.5)) return
      api.setFinalizers(nodeName, [])
      // Somebody restarts the kubelet of a machine that has no Node any more.
      if (api.nodes.has(nodeName)) return
      const machine = machines.all.findLast((each) => each.nodeName === nodeName && !each.destroyed)
      if (machine !== undefined && random.chance(0.7)) machines.kubelets.start(machine)
    }
  }
}

/** What etcd takes of labels in one object, about; few are as huge, for the sake of the simulation's own time. */
const LABELS = [1_001, 1_001, 1_001, 1_001, 1_001, 1_001, 1_001, 20_000]

function labels(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`example.com/l${index}`, '']))
}

/** A kubelet gives its own Node what it likes; the API server takes its time for it, or a webhook will not have it. */
function burdened(draw: (world: World) => Burden, huge: boolean): Fault {
  return (world, { machine: { nodeName } }) => {
    const { api, random } = world
    const node = api.nodes.get(nodeName)
    if (node === undefined) return undefined
    if (huge) {
      const { metadata } = node
      const more = labels(random.pick(LABELS))
      api.putNode(nodeName, { ...node, metadata: { ...metadata, labels: { ...metadata.labels, ...more } } })
    }
    api.burdens.set(nodeName, draw(world))
    return () => {
      api.burdens.delete(nodeName)
      const left = api.nodes.get(nodeName)
      if (!huge || left === undefined) return
      const { metadata } = left
      const own = Object.entries(metadata.labels).filter(([key]) => !key.startsWith('example.com/l'))
      api.putNode(nodeName, { ...left, metadata: { ...metadata, labels: Object.fromEntries(own) } })
    }
  }
}

const slow = ({ random }: World): Burden => ({
  slow: random.pick([3_000, 8_000, 25_000, 90_000]),
  lost: random.chance(0.3),
  denied: false,
})
const denied = (): Burden => ({ slow: 0, lost: false, denied: true })

/** What somebody may write as a provider ID that names no VM. */
const MALFORMED = (biosUUID: string): readonly string[] => [
  'vsphere://',
  'vsphere://$UUID',
  `vsphere://${biosUUID.replaceAll('-', '')}`,
  biosUUID,
]

export const NODE_FAULTS: Faults = {
  /** A person writes a label that follows vCenter by rule, and takes it away. */
  'label-by-rule-changed'({ api, settings, random }, { machine: { nodeName } }) {
    if (settings.labelRules.length === 0) return undefined
    const { label } = random.pick(settings.labelRules)
    const write = (value: string | undefined): void => {
      const node = api.nodes.get(nodeName)
      if (node === undefined || api.away) return
      const { [label]: _, ...others } = node.metadata.labels
      const labels = value === undefined ? others : { ...others, [label]: value }
      api.putNode(nodeName, { ...node, metadata: { ...node.metadata, labels } })
    }
    write('a-persons')
    return () => write(undefined)
  },
  /** An older provider or a person has written another value under a label's beta name, most often under that alone. */
  'beta-label-otherwise'({ api, random }, { machine: { nodeName } }) {
    const label = random.pick([LABEL_ZONE, LABEL_REGION, LABEL_INSTANCE_TYPE])
    const beta = BETA_LABELS[label] ?? label
    const write = (value: string | undefined, keeps: boolean): void => {
      const node = api.nodes.get(nodeName)
      if (node === undefined) return
      const { [label]: own = '', [beta]: _, ...others } = node.metadata.labels
      const labels = {
        ...others,
        ...(keeps && own !== '' ? { [label]: own } : {}),
        ...(value === undefined ? {} : { [beta]: value }),
      }
      api.putNode(nodeName, { ...node, metadata: { ...node.metadata, labels } })
    }
    write('elsewhere', random.chance(0.2))
    return () => {
      if (random.chance(0.5)) write(undefined, true)
    }
  },
  /** A new machine whose kubelet gives its Node a provider ID that names no VM; a person corrects it, and starts it anew. */
  'provider-id-malformed'({ machines, api, random }, { machine: { nodeName }, vCenter }) {
    const name = `${nodeName}-${machines.all.length}`
    const made = machines.create(name, vCenter, random.pick(vCenter.folders))
    made.providerID = random.pick(MALFORMED(made.biosUUID))
    return () => {
      made.providerID = undefined
      api.putNode(name, undefined)
      machines.kubelets.start(made)
      machines.report(made)
    }
  },
  'node-has-finalizer': finalizer(() => undefined),
  'node-deleted-with-finalizer': finalizer(({ api }, { machine: { nodeName } }) =>
    api.putNode(nodeName, undefined),
  ),
  /** A worker is replaced at its address, and its Node is deleted but does not go. */
  'departing-node-has-address': finalizer(({ api, machines, random, timeline }, { machine, vCenter }) => {
    const { vm, nodeName, address } = machine
    api.putNode(nodeName, undefined)
    machines.destroy(machine)
    timeline.after(random.pick([0, 10_000]), `another takes the place of ${nodeName}`, () => {
      // By a name that nobody has taken until then.
      if (vm !== undefined)
        machines.create(`${nodeName}-${machines.all.length}`, vCenter, vm.folder, { address })
    })
  }),
  'node-huge': burdened(slow, true),
  'node-huge-and-denied': burdened(denied, true),
  'node-writes-slow': burdened(slow, false),
}
