/** Whether the absence of VMs could be proven in this vCenter, checked while the VMs are still there. */
import type { ParentObject } from '../../../agent/shared/node-report.ts'
import type { Proof } from '../../types/vcenter-probe.ts'
import { bindingParents } from '../../types/virtual-machine.ts'
import type { VMStore } from '../cache/vm-store.ts'
import { type CanaryMemory, followedVMs, sample } from './canary.ts'
import { askPrivileges, keyOfParent, type Privileges, rootOf } from './privileges.ts'
import type { ProbeClient } from './probe-client.ts'

/** Which of the objects that a proof of absence needs the account may read, as of the last check. */
export interface Provability {
  /**
   * Checks the root folder and all objects above followed VMs in one call. Unless `inFull`, does nothing where no object
   * is new. Throws a VCenterError; what was known then stays.
   */
  refresh(client: ProbeClient, inFull: boolean): Promise<void>
  /**
   * Where at most one VM is followed, looks for others and remembers them: should that one be missing, they tell an empty
   * vCenter from one that hides its VMs. Throws a VCenterError.
   */
  sampleOthers(client: ProbeClient): Promise<void>
  /** For the root and these objects; undefined while any of them was never checked. */
  provable(parents: readonly ParentObject[]): Proof | undefined
  /** For all objects that were checked; undefined before the first answer. */
  provableEverywhere(): Proof | undefined
}

export interface ProvabilityOptions {
  readonly vCenter: string
  readonly store: VMStore
  readonly memory: CanaryMemory
  /** Called when a result is new or has changed. */
  readonly onChange: () => void
}

interface Known {
  readonly vCenterInstanceUUID: string
  readonly root: string
  readonly asked: ReadonlyMap<string, ParentObject>
  /** Without those that were gone. */
  readonly privileges: Privileges
}

export function createProvability({ vCenter, store, memory, onChange }: ProvabilityOptions): Provability {
  let known: Known | undefined

  /** The objects above VMs, and those that failed the last check, until they pass. */
  function objects(before: Known | undefined): ReadonlyMap<string, ParentObject> {
    const distinct = new Map<string, ParentObject>()
    for (const key of before === undefined ? [] : failing(before)) {
      const parent = before?.asked.get(key)
      if (parent !== undefined) distinct.set(key, parent)
    }
    for (const { ancestry } of followedVMs(store)) {
      for (const parent of ancestry === undefined ? [] : bindingParents(ancestry))
        distinct.set(keyOfParent(parent), parent)
    }
    return distinct
  }

  function worst({ privileges: { proofs } }: Known, keys: Iterable<string>): Proof | undefined {
    for (const key of keys) {
      const proof = proofs.get(key)
      if (proof?.state === 'unproven') return proof
    }
    return undefined
  }

  return {
    async refresh(client, inFull) {
      const { instanceUUID } = client.content
      const before = known?.vCenterInstanceUUID === instanceUUID ? known : undefined
      const asked = objects(before)
      const isNew = [...asked.keys()].some((key) => before?.asked.has(key) !== true)
      if (!inFull && before !== undefined && !isNew) return
      const privileges = await askPrivileges(client, vCenter, [...asked.values()], before?.privileges)
      const root = keyOfParent(rootOf(client.content))
      known = { vCenterInstanceUUID: instanceUUID, root, asked, privileges }
      if (before === undefined || isNew || String(failing(before)) !== String(failing(known))) onChange()
    },
    async sampleOthers(client) {
      if (followedVMs(store).length > 1) return
      for (const { moref } of (await sample(client)).canaries) memory.add(moref)
    },
    provable(parents) {
      if (known === undefined) return undefined
      const { root, asked } = known
      const keys = parents.map(keyOfParent)
      const lacking = worst(known, [root, ...keys])
      if (lacking !== undefined) return lacking
      return keys.every((key) => key === root || asked.has(key)) ? { state: 'proven' } : undefined
    },
    provableEverywhere() {
      if (known === undefined) return undefined
      return worst(known, known.privileges.proofs.keys()) ?? { state: 'proven' }
    },
  }
}

function failing({ privileges: { proofs } }: Known): readonly string[] {
  return [...proofs].flatMap(([key, { state }]) => (state === 'unproven' ? [key] : [])).sort()
}
