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

/** Asks for the privileges on all parents that still exist. Throws a VCenterError where that cannot be asked. */
export async function provePrivileges(
  line: Line,
  vCenter: string,
  parents: readonly ParentObject[],
): Promise<Proof> {
  if (parents.length === 0) {
    return unproven(
      vCenter,
      'ParentsUnknown',
      'it is not known in which folder the VM was, so that the right to see it there cannot be tried, ' +
        'delete the Node by hand if its VM is gone',
    )
  }
  let left = parents
  while (left.length > 0) {
    try {
      return judge(vCenter, left, await ask(line, left))
    } catch (error) {
      const without = left.filter((parent) => !isGone(error, toObject(parent)))
      if (without.length === left.length) throw error
      left = without
    }
  }
  return unproven(
    vCenter,
    'ParentsUnknown',
    'all that stood above the VM is gone as well, so that the right to see it there cannot be tried, ' +
      'delete the Node by hand if its VM is gone',
  )
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
      `the account lacks ${lacking.join(' and ')} on ${parent.type} "${parent.name}" (${parent.moref}): ` +
        'give it back with propagation, then the VM is asked for again',
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
