/** Cloned vCenters, and Nodes that cannot go or can hardly be written. */
import { edit, type Mutation } from './mutation.ts'

const DECIDE = 'controller/loops/node/decide'

export const NODE_MUTATIONS: readonly Mutation[] = [
  {
    name: 'clones: what one of two vCenters alone says is not believed',
    edits: [
      edit(
        'controller/loops/node/gather/across-vcenters.ts',
        'doubtTwins(all, vm, inventories, settings.servers)',
        'all',
      ),
    ],
  },
  {
    name: 'clones: each is doubted by the other, whichever stands first in the file',
    about: ['vcenter-cloned', 'vcenter-cloned-alive'],
    edits: [
      edit(
        'controller/loops/node/gather/twin-vcenters.ts',
        '!areTwins(vCenter, other.vCenter)) continue',
        '!areTwins(vCenter, other.vCenter) || lookups.indexOf(other) > lookups.indexOf(one)) continue',
      ),
    ],
  },
  {
    name: 'clones: what one shows of a VM that the other has lost is not believed',
    inSceneAlone: true,
    edits: [
      edit(
        'controller/loops/node/gather/twin-vcenters.ts',
        'isItself(boundTo, vm) && boundTo?.vCenter === other.vCenter',
        'boundTo === null',
      ),
    ],
  },
  {
    name: 'clones: who waits for an address is told that one of them keeps him waiting',
    about: ['vcenter-cloned', 'vcenter-cloned-alive'],
    edits: [
      edit(
        'controller/loops/node/gather/address-holders.ts',
        'boundTo === undefined || vm !== undefined ? undefined : whyUnseen(lookups)',
        'vm && undefined',
      ),
    ],
  },
  {
    name: 'clones: of a VM of which both show the same, what one shows counts',
    about: ['vcenter-cloned', 'vcenter-cloned-alive'],
    edits: [
      edit(
        'controller/loops/node/gather/address-holders.ts',
        'vm === undefined ? NO_WITNESS',
        'vm === undefined || new Set(inventories.map((each) => each.instanceUUID())).size < inventories.length ? NO_WITNESS',
      ),
    ],
  },
  {
    name: 'departing: nothing is written to a Node that is being deleted',
    edits: [edit('controller/loops/node/decide/decide.ts', 'if (facts.node.deleting)', 'if (false)')],
  },
  {
    name: 'departing: one whose machine is proven gone holds no address',
    edits: [edit('controller/loops/node/decide/decide.ts', ', ...judgeDepartingNode(facts) }', ' }')],
  },
  {
    name: 'departing: a vCenter that was taken out keeps nothing',
    about: ['vcenter-installed-anew'],
    edits: [
      edit(
        'controller/loops/node/decide/lifecycle/evidence.ts',
        '(node.deleting && unmet',
        '(false && unmet',
      ),
    ],
  },
  {
    name: 'topology: a farther tag does not count where a nearer one may be unread',
    edits: [
      edit('controller/loops/node/decide/topology/zone-from-tags.ts', 'unread.push(each.why)', 'continue'),
    ],
    about: ['host-tags-denied'],
  },
  {
    name: 'addresses: of two Nodes with one address, one lets go of it',
    about: ['two-at-one-address'],
    edits: [
      // Either of the two is enough.
      edit('controller/loops/node/reconcile.ts', 'reservations.set(name, reserved)', 'void reserved'),
      edit(
        'controller/loops/node/decide/addresses/usable-addresses.ts',
        '? !holder.verified || comesFirst',
        '? true',
      ),
    ],
  },
  {
    name: 'addresses: what a Node is given is reserved until it is written',
    inSceneAlone: true,
    edits: [edit('controller/loops/node/reconcile.ts', 'reservations.set(name, reserved)', 'void reserved')],
  },
  {
    name: 'labels: those of a running Node stay, whatever its beta names say',
    about: ['beta-label-otherwise'],
    edits: [
      edit(
        `${DECIDE}/node-patch.ts`,
        'const contradicted = names.some(',
        'const contradicted = [label].some(',
      ),
    ],
  },
  {
    name: 'labels: none is written beside its beta name with another value',
    about: ['beta-label-otherwise'],
    edits: [
      edit(
        `${DECIDE}/node-patch.ts`,
        'const contradicted = names.some(',
        'const contradicted = [label].some(',
      ),
      edit(
        `${DECIDE}/node-patch.ts`,
        'for (const name of names) if (node.labels[name] !== value)',
        'for (const name of names) if (node.labels[name] === undefined)',
      ),
    ],
  },
  {
    name: 'labels: one that is not written because of its beta name is told of',
    about: ['beta-label-otherwise'],
    edits: [
      edit(
        `${DECIDE}/topology/moved-labels.ts`,
        'for (const label of [standard, BETA_LABELS[standard] ?? standard]) {',
        'for (const label of [standard]) {',
      ),
    ],
  },
  {
    name: 'provider ID: one that names no VM lets nothing be initialized',
    about: ['provider-id-malformed'],
    edits: [
      edit(
        `${DECIDE}/ownership.ts`,
        "if (scheme === 'malformed') return refused(malformedProviderID(node), { ends: true })",
        '',
      ),
    ],
  },
  {
    name: 'slow lane: a Node whose writes are slow holds up nobody',
    edits: [edit('controller/loops/node/loop.ts', 'has: (name) => slowLane.has(name)', 'has: () => false')],
  },
  {
    name: 'slow lane: a write that takes long is given up at first',
    edits: [
      edit(
        'controller/loops/node/loop.ts',
        'const brief = writers(SLOW_AFTER, ports.writing)',
        'const brief = writers(DEFAULT_TIMEOUT, ports.writing)',
      ),
    ],
  },
]
