/** Which VM a Node is, and what moves that: each row of the table, and what it asks for. */
import { type Edit, edit, type Mutation } from './mutation.ts'

const IDENTITY = 'controller/decide/identity'
const MOVES = `${IDENTITY}/moves.ts`
const VM = `${IDENTITY}/vm.ts`

/** The table without a row: an ordinary operation needs a person then. */
function withoutRow(name: string): Mutation {
  return {
    name: `identity: a binding moves: ${name}`,
    edits: [
      edit(
        VM,
        '({ leavesFormer, allows }) => (!leavesFormer || hasRoom) && allows(candidate, facts)',
        `({ name, leavesFormer, allows }) => name !== '${name}' && (!leavesFormer || hasRoom) && allows(candidate, facts)`,
      ),
    ],
  }
}

/** A row that asks for less: a copy gets the Node. */
function weakened(name: string, ...edits: readonly Edit[]): Mutation {
  return { name: `identity: ${name}`, edits }
}

export const IDENTITY_MUTATIONS: readonly Mutation[] = [
  ...['Gone', 'VCenterRemoved', 'FailedOver', 'FirstProof'].map(withoutRow),
  weakened(
    'what a Node was verified to be stays its VM',
    edit(VM, 'bound === undefined ? findFirst(shown)', 'bound !== undefined ? findFirst(shown)'),
    edit(VM, ': findBound(bound, shown)', ': findFirst(shown)'),
  ),
  weakened(
    'an annotation names no VM that has the instance UUID of the bound one',
    edit(VM, 'facts.node.vmAnnotation === bound.instanceUUID ? undefined : ', ''),
  ),
  weakened(
    'Gone: the VM is not shown, and proven gone',
    edit(MOVES, '      candidate.boundNow === undefined &&\n', ''),
    edit(
      MOVES,
      '      isKnownByClaim(candidate, facts) &&\n      hasDeparted(facts),',
      '      isKnownByClaim(candidate, facts),',
    ),
  ),
  weakened(
    'Gone: it is proven gone',
    edit(
      MOVES,
      '      isKnownByClaim(candidate, facts) &&\n      hasDeparted(facts),',
      '      isKnownByClaim(candidate, facts),',
    ),
  ),
  weakened('Gone: all that a probe found is shown', edit(MOVES, '      !candidate.overtaken &&\n', '')),
  weakened(
    'Gone: the claim says so, or nothing can',
    edit(
      MOVES,
      '      isKnownByClaim(candidate, facts) &&\n      hasDeparted(facts),',
      '      hasDeparted(facts),',
    ),
  ),
  weakened(
    'VCenterRemoved: its vCenter is not configured',
    edit(MOVES, "facts.bindingVCenter === 'unconfigured' &&", 'facts.bindingVCenter !== undefined &&'),
  ),
  weakened(
    'VCenterRemoved: the claim says so, or nothing can',
    edit(MOVES, "=== 'unconfigured' &&\n      isKnownByClaim(candidate, facts) &&", "=== 'unconfigured' &&"),
  ),
  weakened(
    'FailedOver: it shows the claim',
    edit(MOVES, 'candidate.showsClaim && isAway(candidate, facts)', 'isAway(candidate, facts)'),
  ),
  weakened(
    'FailedOver: the former VM does not run',
    edit(MOVES, 'candidate.showsClaim && isAway(candidate, facts)', 'candidate.showsClaim'),
  ),
  weakened('FailedOver: the claim is new', edit(MOVES, ' && isNewClaim(facts) && ', ' && ')),
  weakened(
    'FirstProof: it shows the claim',
    edit(MOVES, '      showsClaim &&\n      runs(vm) &&', '      runs(vm) &&'),
  ),
  weakened(
    'the claim is the one of the report',
    edit(
      `${IDENTITY}/claim.ts`,
      'if (claimDigest(claim) === digest)',
      'if (claimDigest(claim) !== undefined)',
    ),
  ),
  weakened(
    'only one VM shows the claim',
    edit(
      VM,
      'const showsClaim = showing.length === 1 && showing[0] === vm',
      'const showsClaim = showing.includes(vm)',
    ),
  ),
  weakened(
    'where no claim decides, no other VM may be the one',
    edit(VM, 'running.length === 1 && unanswered === undefined', 'unanswered === undefined'),
  ),
  weakened(
    'where no claim decides, each vCenter has answered',
    edit(VM, 'running.length === 1 && unanswered === undefined', 'running.length === 1'),
  ),
  weakened(
    'what cannot be the machine ends nothing',
    edit(VM, ' && isPossible(vm, query.spec, facts))', ')'),
  ),
  weakened(
    'a claim that is first seen while the VM is off may be that of another',
    edit(
      MOVES,
      'const stands = isBoundTo(previous.vm, vm) && !runs(vm)',
      'const stands = isBoundTo(previous.vm, vm) && !runs(vm) && wasAway(previous)',
    ),
  ),
]
