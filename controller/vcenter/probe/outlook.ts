/** Whether the absence of VMs could be proven here at all, found out while they are there. */
import type { ParentObject } from '../../../agent/contract.ts'
import type { Proof } from '../../types/vcenter-probe.ts'
import { bindingParents } from '../../types/virtual-machine.ts'
import type { Table } from '../cache/table.ts'
import { type CanaryMemory, followedVMs, sample } from './canary.ts'
import type { Line } from './line.ts'
import { askPrivileges, keyOfParent, type Privileges, rootOf } from './privileges.ts'

/** What the account may read of that on which a proof of absence rests, as it was found out last. */
export interface Outlook {
  /**
   * Asks for the root folder and all that stands above VMs which are followed, each object once, in one call: in full,
   * or only where one came since. Throws a VCenterError; what was known stays then.
   */
  look(line: Line, inFull: boolean): Promise<void>
  /**
   * Where no more than one VM is followed, looks for others: what is seen before that one is missed tells an empty vCenter
   * from one that hides its VMs. Throws a VCenterError.
   */
  remember(line: Line): Promise<void>
  /** Of the root and of these objects; undefined while one of them was never asked for. */
  provable(parents: readonly ParentObject[]): Proof | undefined
  /** Of all that was asked for; undefined before the first answer. */
  provableEverywhere(): Proof | undefined
}

export interface OutlookOptions {
  readonly vCenter: string
  readonly table: Table
  readonly memory: CanaryMemory
  /** Something is known that was not, or is otherwise than it was. */
  readonly onChange: () => void
}

interface Known {
  readonly vCenterInstanceUUID: string
  readonly root: string
  readonly asked: ReadonlyMap<string, ParentObject>
  /** Without those that were gone. */
  readonly proofs: Privileges
}

export function createOutlook({ vCenter, table, memory, onChange }: OutlookOptions): Outlook {
  let known: Known | undefined

  /** Those above VMs, and those that were lacking something, until they do not. */
  function objects(before: Known | undefined): ReadonlyMap<string, ParentObject> {
    const distinct = new Map<string, ParentObject>()
    for (const key of before === undefined ? [] : failing(before)) {
      const parent = before?.asked.get(key)
      if (parent !== undefined) distinct.set(key, parent)
    }
    for (const { ancestry } of followedVMs(table)) {
      for (const parent of ancestry === undefined ? [] : bindingParents(ancestry))
        distinct.set(keyOfParent(parent), parent)
    }
    return distinct
  }

  function worst({ proofs }: Known, keys: Iterable<string>): Proof | undefined {
    for (const key of keys) {
      const proof = proofs.get(key)
      if (proof?.state === 'unproven') return proof
    }
    return undefined
  }

  return {
    async look(line, inFull) {
      const { instanceUUID } = line.content
      const before = known?.vCenterInstanceUUID === instanceUUID ? known : undefined
      const asked = objects(before)
      const isNew = [...asked.keys()].some((key) => before?.asked.has(key) !== true)
      if (!inFull && before !== undefined && !isNew) return
      const proofs = await askPrivileges(line, vCenter, [...asked.values()])
      const root = keyOfParent(rootOf(line.content))
      known = { vCenterInstanceUUID: instanceUUID, root, asked, proofs }
      if (before === undefined || String(failing(before)) !== String(failing(known))) onChange()
    },
    async remember(line) {
      if (followedVMs(table).length > 1) return
      for (const { moref } of (await sample(line)).canaries) memory.add(moref)
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
      return worst(known, known.proofs.keys()) ?? { state: 'proven' }
    },
  }
}

function failing({ proofs }: Known): readonly string[] {
  return [...proofs].flatMap(([key, { state }]) => (state === 'unproven' ? [key] : [])).sort()
}
