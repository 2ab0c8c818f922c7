/**
 * Whether the account may read the objects above a VM: otherwise not seeing the VM proves nothing. It is checked in a probe, and
 * before, while the VMs are still there.
 */
import type { ParentObject } from '../../../agent/shared/node-report.ts'
import type { Proof } from '../../types/inventory.ts'
import { bindingParents, type VirtualMachine } from '../../types/virtual-machine.ts'
import type { VMStore } from '../cache/vm-store.ts'
import { callWithoutRefused } from '../collect/refusals.ts'
import { isGone, malformed, namesObject } from '../wire/errors.ts'
import { keyOf, type ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { element, reference, toReference } from '../wire/soap.ts'
import { child, childrenOf, textOf, type XMLElement } from '../wire/xml.ts'
import { type CanaryMemory, followedVMs, sample } from './canary.ts'
import type { ProbeClient } from './probe-client.ts'

/** The privileges of the role Read-only, except System.Anonymous, which everyone has. */
const PRIVILEGES = ['System.View', 'System.Read'] as const

/** What a check has found, by {@link keyOfParent}. */
export interface Privileges {
  readonly proofs: ReadonlyMap<string, Proof>
  /** Those that were not asked for, as vCenter refuses too many others, in order: what was known of them stays. */
  readonly left: ReadonlySet<string>
}

const NOTHING: Privileges = { proofs: new Map(), left: new Set() }

/**
 * Whether the account has them on the root folder and on those of these objects that still exist. Objects above a VM may be
 * deleted with it. The root always exists, and an account that may not read it cannot know what is below. Throws a
 * VCenterError where this cannot be checked.
 */
export async function provePrivileges(
  client: ProbeClient,
  vCenter: string,
  parents: readonly ParentObject[],
): Promise<Proof> {
  const { proofs } = await askPrivileges(client, vCenter, parents)
  return [...proofs.values()].find(({ state }) => state === 'unproven') ?? { state: 'proven' }
}

/**
 * The same for each of these objects and the root, without objects that are gone. A refused one does not hide the others:
 * those that were refused before are asked for apart, those that were left first.
 */
export async function askPrivileges(
  client: ProbeClient,
  vCenter: string,
  parents: readonly ParentObject[],
  before = NOTHING,
): Promise<Privileges> {
  const root = rootOf(client.content)
  const proofs = new Map<string, Proof>()
  const nameOf = (parent: ParentObject): string =>
    `${parent === root ? 'the root folder' : `${parent.type} "${parent.name}"`} (${parent.moref})`
  const tell = (parent: ParentObject, answer: XMLElement | undefined): void => {
    proofs.set(keyOfParent(parent), judge(vCenter, nameOf(parent), answer))
  }
  const tellAll = (groups: readonly (readonly ParentObject[])[], onDenied: (parent: ParentObject) => void) =>
    callWithoutRefused({
      groups,
      objectOf: toObject,
      async call(asked) {
        const answers = await ask(client, asked)
        for (const parent of asked) tell(parent, answers.get(keyOfParent(parent)))
      },
      onRefused(parent, fault) {
        if (parent !== root && isGone(fault, toObject(parent))) return
        // A refusal by the manager itself says nothing of this one. Nothing is proven without the root.
        if (namesObject(fault, client.content.authorizationManager)) throw fault
        if (fault.fault === 'NoPermission') onDenied(parent)
        else if (parent === root) throw fault
        else proofs.set(keyOfParent(parent), unasked(vCenter, nameOf(parent), fault.message))
      },
    })
  const others = parents.filter((parent) => keyOfParent(parent) !== keyOfParent(root))
  const byKey = new Map(others.map((parent) => [keyOfParent(parent), parent]))
  const waiting = [...before.left].flatMap((key) => byKey.get(key) ?? [])
  const asked = [...byKey].filter(([key]) => !before.left.has(key))
  const wasRefused = (key: string): boolean => before.proofs.get(key)?.state === 'unproven'
  const refused = asked.flatMap(([key, parent]) => (wasRefused(key) ? [parent] : []))
  const rest = asked.flatMap(([key, parent]) => (wasRefused(key) ? [] : [parent]))
  let rootNamed = false
  // Of two groups, what the second one holds is found out first.
  const left = await tellAll([refused, [...waiting, ...rest, root]], (parent) => {
    if (parent === root) rootNamed = true
    else tell(parent, undefined)
  })
  // vCenter often names the root where it refuses another object. Without the root nothing is proven.
  if (rootNamed || left.includes(root)) await tellAll([[root]], (parent) => tell(parent, undefined))
  const later = left.filter((parent) => parent !== root)
  for (const parent of later) {
    const unchecked = unasked(vCenter, nameOf(parent), 'vCenter refuses too many other objects')
    proofs.set(keyOfParent(parent), before.proofs.get(keyOfParent(parent)) ?? unchecked)
  }
  return { proofs, left: new Set(later.map(keyOfParent)) }
}

function unasked(vCenter: string, name: string, why: string): Proof {
  const message = `whether the account may read ${name} was not checked: ${why}`
  return { state: 'unproven', failure: { vCenter, reason: 'PrivilegeMissing', message } }
}

function keyOfParent(parent: ParentObject): string {
  return keyOf(toObject(parent))
}

/** The root folder as a parent object. */
function rootOf({ rootFolder }: ProbeClient['content']): ParentObject {
  return { type: rootFolder.type, moref: rootFolder.value, name: '' }
}

async function ask(
  { call, content, login }: ProbeClient,
  parents: readonly ParentObject[],
): Promise<ReadonlyMap<string, XMLElement>> {
  if (login?.key === undefined) {
    throw malformed(
      'vCenter did not name the session when it was opened, so its privileges cannot be asked for',
    )
  }
  const parameters =
    parents.map((parent) => reference('entity', toObject(parent))).join('') +
    element('sessionId', login.key) +
    PRIVILEGES.map((privilege) => element('privId', privilege)).join('')
  const response = await call('HasPrivilegeOnEntities', content.authorizationManager, parameters)
  const answers = new Map<string, XMLElement>()
  for (const answer of childrenOf(response, 'returnval')) {
    const entity = toReference(child(answer, 'entity'))
    if (entity !== undefined) answers.set(keyOf(entity), answer)
  }
  return answers
}

/** A privilege that is not listed as granted is missing. */
function judge(vCenter: string, object: string, answer: XMLElement | undefined): Proof {
  const availability = childrenOf(answer, 'privAvailability')
  const lacking = PRIVILEGES.filter(
    (privilege) =>
      !availability.some(
        (each) => textOf(each, 'privId') === privilege && textOf(each, 'isGranted') === 'true',
      ),
  )
  if (lacking.length === 0) return { state: 'proven' }
  const message = `the account lacks ${lacking.join(' and ')} on ${object}: give it the role Read-only there, with propagation`
  return { state: 'unproven', failure: { vCenter, reason: 'PrivilegeMissing', message } }
}

function toObject({ type, moref }: ParentObject): ManagedObjectReference {
  return { type, value: moref }
}

interface Known {
  readonly vCenterInstanceUUID: string
  readonly root: string
  readonly asked: ReadonlyMap<string, ParentObject>
  /** Without those that were gone. */
  readonly privileges: Privileges
}

/** Which of the objects that a proof of absence needs the account may read, as of the last check. */
export function createProvability(options: {
  readonly vCenter: string
  readonly store: VMStore
  readonly memory: Pick<CanaryMemory, 'add'>
  /** Called when a result is new or has changed, with the followed UUIDs that it concerns. */
  readonly onChange: (uuids: ReadonlySet<string>) => void
}) {
  const { vCenter, store, memory, onChange } = options
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

  /** The followed UUIDs with a VM below one of these objects. */
  function below(keys: ReadonlySet<string>): ReadonlySet<string> {
    const isBelow = ({ ancestry }: VirtualMachine) =>
      ancestry !== undefined && bindingParents(ancestry).some((parent) => keys.has(keyOfParent(parent)))
    return new Set(
      [...store.followed()].filter((uuid) => {
        const answer = store.lookup(uuid)
        return answer.state === 'answered' && answer.vms.some(isBelow)
      }),
    )
  }

  function worst({ privileges: { proofs } }: Known, keys: Iterable<string>): Proof | undefined {
    for (const key of keys) {
      const proof = proofs.get(key)
      if (proof?.state === 'unproven') return proof
    }
    return undefined
  }

  return {
    /**
     * Checks the root folder and all objects above followed VMs in one call. Unless `inFull`, does nothing where no object
     * is new. Throws a VCenterError; what was known then stays.
     */
    async refresh(client: ProbeClient, inFull: boolean): Promise<void> {
      const { instanceUUID } = client.content
      const before = known?.vCenterInstanceUUID === instanceUUID ? known : undefined
      const asked = objects(before)
      const fresh = new Set([...asked.keys()].filter((key) => before?.asked.has(key) !== true))
      if (!inFull && before !== undefined && fresh.size === 0) return
      const privileges = await askPrivileges(client, vCenter, [...asked.values()], before?.privileges)
      const root = keyOfParent(rootOf(client.content))
      known = { vCenterInstanceUUID: instanceUUID, root, asked, privileges }
      if (before === undefined || String(failing(before)) !== String(failing(known)))
        onChange(store.followed())
      else if (fresh.size > 0) onChange(below(fresh))
    },
    /**
     * Where at most one VM is followed, looks for others and remembers them: should that one be missing, they tell an empty
     * vCenter from one that hides its VMs. Throws a VCenterError.
     */
    async sampleOthers(client: ProbeClient): Promise<void> {
      if (followedVMs(store).length > 1) return
      for (const { moref } of (await sample(client)).canaries) memory.add(moref)
    },
    /** For the root and these objects; undefined while any of them was never checked. */
    provable(parents: readonly ParentObject[]): Proof | undefined {
      if (known === undefined) return undefined
      const { root, asked } = known
      const keys = parents.map(keyOfParent)
      const lacking = worst(known, [root, ...keys])
      if (lacking !== undefined) return lacking
      return keys.every((key) => key === root || asked.has(key)) ? { state: 'proven' } : undefined
    },
    /** For all objects that were checked; undefined before the first answer. */
    provableEverywhere(): Proof | undefined {
      if (known === undefined) return undefined
      return worst(known, known.privileges.proofs.keys()) ?? { state: 'proven' }
    },
  }
}

function failing({ privileges: { proofs } }: Known): readonly string[] {
  return [...proofs].flatMap(([key, { state }]) => (state === 'unproven' ? [key] : [])).sort()
}
