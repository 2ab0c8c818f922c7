/** Whether the account may read what stood above a VM: else nothing follows from not seeing it. */
import type { ParentObject } from '../../../agent/contract.ts'
import type { Proof } from '../../types/vcenter-probe.ts'
import { element, reference } from '../wire/envelope.ts'
import { SoapFault, VCenterError } from '../wire/errors.ts'
import { keyOf, type ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { toReference } from '../wire/soap.ts'
import { child, childrenOf, textOf, type XMLElement } from '../wire/xml.ts'
import type { ProbeClient } from './probe-client.ts'
import { isGone } from './read-vm.ts'

/** What the role Read-only consists of, but for System.Anonymous, which everyone has. */
const PRIVILEGES = ['System.View', 'System.Read'] as const

/** An answer for each object, by {@link keyOfParent}. */
export type Privileges = ReadonlyMap<string, Proof>

/**
 * Whether the account has them on the root folder, and on those of these objects that still exist. What stood above a VM
 * may have gone with it; the root never goes, and who may not read it may not know what else is below it. Throws a
 * VCenterError where that cannot be asked.
 */
export async function provePrivileges(
  client: ProbeClient,
  vCenter: string,
  parents: readonly ParentObject[],
): Promise<Proof> {
  const proofs = await askPrivileges(client, vCenter, parents)
  return [...proofs.values()].find(({ state }) => state === 'unproven') ?? { state: 'proven' }
}

/** The same for each of these objects and the root; without those that are gone. */
export async function askPrivileges(
  client: ProbeClient,
  vCenter: string,
  parents: readonly ParentObject[],
): Promise<Privileges> {
  const root = rootOf(client.content)
  const proofs = new Map<string, Proof>()
  const tell = (parent: ParentObject, answer: XMLElement | undefined): void => {
    const name = parent === root ? 'the root folder' : `${parent.type} "${parent.name}"`
    proofs.set(keyOfParent(parent), judge(vCenter, `${name} (${parent.moref})`, answer))
  }
  let left = [...parents.filter((parent) => keyOfParent(parent) !== keyOfParent(root)), root]
  while (left.length > 0) {
    try {
      const answers = await ask(client, left)
      for (const parent of left) tell(parent, answers.get(keyOfParent(parent)))
      break
    } catch (error) {
      const gone = left.find((parent) => parent !== root && isGone(error, toObject(parent)))
      const denied = left.find((parent) => isDenied(error, toObject(parent)))
      const named = gone ?? denied
      if (named === undefined) throw error
      if (named === denied) tell(named, undefined)
      left = left.filter((parent) => parent !== named)
    }
  }
  return proofs
}

export function keyOfParent(parent: ParentObject): string {
  return keyOf(toObject(parent))
}

/** The root folder, as an object above VMs. */
export function rootOf({ rootFolder }: ProbeClient['content']): ParentObject {
  return { type: rootFolder.type, moref: rootFolder.value, name: '' }
}

async function ask(
  { call, content, login }: ProbeClient,
  parents: readonly ParentObject[],
): Promise<ReadonlyMap<string, XMLElement>> {
  if (login?.key === undefined) {
    throw new VCenterError(
      'MalformedAnswer',
      'vCenter did not name the session when it was opened, so that its privileges cannot be asked for, ' +
        'check for a proxy in between',
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

/** What is not said to be granted is not. */
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

/** One object that may not even be asked about must not hide what is to be said of the others. */
function isDenied(error: unknown, object: ManagedObjectReference): boolean {
  if (!(error instanceof SoapFault) || error.fault !== 'NoPermission' || error.object === undefined)
    return false
  return keyOf(error.object) === keyOf(object)
}

function toObject({ type, moref }: ParentObject): ManagedObjectReference {
  return { type, value: moref }
}
