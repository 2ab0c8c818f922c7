/** Which machines a Node stands for, and whose an address is. */
import { edit, LIFECYCLE, type Mutation } from './mutation.ts'

export const MACHINE_MUTATIONS: readonly Mutation[] = [
  {
    name: 'machines: a binding whose level has ended',
    edits: [
      edit(
        'controller/loops/node/facts/machines.ts',
        '  const known = [vm, ...formerVMs, namedVM]',
        '  const level = previousStatus(report, node).identityLevel\n  const known = [level && vm, ...formerVMs, level && namedVM].flatMap((each) => each || [])',
      ),
    ],
  },
  {
    name: 'machines: the VM that has taken the Node over',
    edits: [
      edit(
        'controller/loops/node/facts/machines.ts',
        '[vm, ...formerVMs, namedVM].filter',
        '[vm, ...formerVMs].filter',
      ),
    ],
  },
  {
    name: 'machines: the VMs that the Node was before',
    edits: [
      edit(
        'controller/loops/node/facts/machines.ts',
        '[vm, ...formerVMs, namedVM].filter',
        '[vm, namedVM].filter',
      ),
    ],
  },
  {
    name: 'machines: what report and kubelet name',
    edits: [
      edit(
        'controller/loops/node/facts/machines.ts',
        'take(specOf(report, node)?.machine.serialUUID, false)',
        '',
      ),
      edit('controller/loops/node/facts/machines.ts', 'take(canonicalUUID(node.systemUUID))', ''),
    ],
  },
  {
    name: 'machines: a machine that was never seen takes longer',
    edits: [
      edit(`${LIFECYCLE}/deletion-preconditions.ts`, 'const UNSEEN_FACTOR = 6', 'const UNSEEN_FACTOR = 1'),
    ],
  },
  {
    name: 'machines: one that was never seen keeps a Node that was verified',
    edits: [edit(`${LIFECYCLE}/missing-vm.ts`, 'if (bound) return false', '')],
  },
  {
    name: 'machines: one that was never seen keeps a Node as lifecycle.unbound says',
    edits: [edit(`${LIFECYCLE}/missing-vm.ts`, "settings.lifecycle.unbound === 'delete'", 'true')],
  },
  {
    name: 'machines: who never reported is not followed, and so not seen',
    edits: [
      edit(
        'controller/loops/node/gather/node-keys.ts',
        'new Set(followed?.machines',
        'new Set(pointed?.machines',
      ),
    ],
  },
  {
    name: 'machines: of one that is silent and was never reported it is said that it stays',
    edits: [
      edit(
        'controller/loops/node/decide/ownership.ts',
        "    const silent = node.ready?.status === 'Unknown'",
        '    const silent = node === undefined',
      ),
    ],
  },
  {
    name: 'machines: a Node that another provider initialized may be the only one of a vCenter',
    edits: [
      edit(
        'controller/loops/node/vm-probes/inhabitants.ts',
        'name !== except &&\n        isAlive(name) &&',
        'name === except &&\n        isAlive(name) &&',
      ),
    ],
  },
  {
    name: 'machines: a Node whose vCenter is no longer there may be the only one of another',
    inSceneAlone: true,
    edits: [
      edit(
        'controller/loops/node/vm-probes/inhabitants.ts',
        '(mayBeFromHere || hasLostItsVCenter(name)) &&',
        'mayBeFromHere &&',
      ),
    ],
  },
  {
    name: 'machines: a Node that somebody removes says nothing of an empty vCenter',
    inSceneAlone: true,
    edits: [
      edit(
        'controller/loops/node/vm-probes/inhabitants.ts',
        'known.deleting || isRemovalMeant(known)',
        'known.deleting',
      ),
    ],
  },
  {
    name: 'machines: an entry that one has left is not where it runs',
    inSceneAlone: true,
    edits: [
      edit(
        'controller/loops/node/vm-probes/inhabitants.ts',
        "finding?.state === 'found' && runs(finding.vm)",
        'isFound(finding)',
      ),
    ],
  },
  {
    name: 'machines: a provider ID in either byte order',
    edits: [edit('controller/loops/node/facts/machines.ts', 'take(provided)', 'take(provided, false)')],
  },
  {
    name: 'machines: a template is none',
    edits: [
      edit(
        'controller/loops/node/decide/identity/find-vm.ts',
        'if (vm.template) return',
        'if (vm.template && vm.moref === "") return',
      ),
    ],
  },
  {
    name: 'machines: the standby of a Fault Tolerance group is none',
    edits: [
      edit(
        'controller/types/virtual-machine.ts',
        'return role !== undefined && role !== 1',
        'return role === 1',
      ),
    ],
  },
  {
    name: 'addresses: who waits for one is woken when its holder goes',
    edits: [edit('controller/loops/node/reconcile.ts', 'addresses.waits(name, decision.waitsFor ?? [])', '')],
  },
  {
    name: 'addresses: vCenter decides for whom it shows there',
    about: ['address-squatted'],
    edits: [
      edit(
        'controller/loops/node/decide/addresses/usable-addresses.ts',
        "const byTools = decided(witness.tools, holder.witness.tools, { pro: 'shown', con: 'denied' })",
        'const byTools = undefined',
      ),
    ],
  },
  {
    name: 'addresses: who shares one is looked at again when the other is verified with it',
    about: ['address-squatted'],
    edits: [
      edit(
        'controller/loops/node/gather/node-index.ts',
        'isVerified || !before.addresses.includes(address)',
        '!before.addresses.includes(address)',
      ),
    ],
  },
  {
    name: 'addresses: one that nobody sees any more is kept only where there is no other',
    about: ['address-changed'],
    edits: [
      edit(
        'controller/loops/node/decide/addresses/choose-addresses.ts',
        "internal: internal ?? keep('InternalIP')",
        "internal: keep('InternalIP') ?? internal",
      ),
    ],
  },
  {
    name: 'addresses: a machine that is proven gone holds none',
    edits: [
      edit(
        'controller/loops/node/gather/address-holders.ts',
        'if (!gone) return held',
        'if (!gone || !node.deleting) return held',
      ),
    ],
  },
]
