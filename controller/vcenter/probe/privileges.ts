/** Whether the account may read what stood above a VM: else nothing follows from not seeing it. */
import type { ParentObject } from '../../../agent/contract.ts'
import type { Proof } from '../../facts/existence.ts'
import { element, reference } from '../wire/envelope.ts'
import { keyOf, type Reference, VCenterError } from '../wire/errors.ts'
import { toReference } from '../wire/soap.ts'
import { child, childrenOf, textOf, type XMLElement } from '../wire/xml.ts'
import type { Line } from './line.ts'
import { isGone } from './read-vm.ts'

/** What the role Read-only consists of, but for System.Anonymous, which everyone has. */
const PRIVILEGES = ['System.View', 'System.Read'] as const
/** The name of the root folder in every vCenter. */
const ROOT = 'Datacenters'

/**
 * Asks for the privileges on the root folder, and on those of these objects that still exist. What stood above a VM may
 * have gone with it; the root never goes, and who may not read it may not know what else is below it. Throws a
 * VCenterError where that cannot be asked.
 */
export async function provePrivileges(
  line: Line,
  vCenter: string,
  parents: readonly ParentObject[],
): Promise<Proof> {
  const root = rootOf(line)
  let left = [...parents.filter((parent) => keyOf(toObject(parent)) !== keyOf(line.content.rootFolder)), root]
  for (;;) {
    try {
      return judge(vCenter, left, await ask(line, left))
    } catch (error) {
      const without = left.filter((parent) => parent === root || !isGone(error, toObject(parent)))
      if (without.length === left.length) throw error
      left = without
    }
  }
}

function describe({ type, name, moref }: ParentObject): string {
  return name === ROOT ? `the root folder (${moref})` : `${type} "${name}" (${moref})`
}

function rootOf({ content: { rootFolder } }: Line): ParentObject {
  return { type: rootFolder.type, moref: rootFolder.value, name: ROOT }
}

async function ask(
  { call, content, login }: Line,
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
function judge(
  vCenter: string,
  parents: readonly ParentObject[],
  answers: ReadonlyMap<string, XMLElement>,
): Proof {
  for (const parent of parents) {
    const availability = childrenOf(answers.get(keyOf(toObject(parent))), 'privAvailability')
    const lacking = PRIVILEGES.filter(
      (privilege) =>
        !availability.some(
          (each) => textOf(each, 'privId') === privilege && textOf(each, 'isGranted') === 'true',
        ),
    )
    if (lacking.length === 0) continue
    return unproven(
      vCenter,
      'PrivilegeMissing',
      `the account lacks ${lacking.join(' and ')} on ${describe(parent)}: give it the role Read-only there with propagation, then the VM is asked for again`,
    )
  }
  return { state: 'proven' }
}

function toObject({ type, moref }: ParentObject): Reference {
  return { type, value: moref }
}

function unproven(vCenter: string, reason: string, message: string): Proof {
  return { state: 'unproven', failure: { vCenter, reason, message } }
}
