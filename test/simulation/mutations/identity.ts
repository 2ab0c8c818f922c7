/** Which VM a Node is, and what moves that: each row of the table, and what it asks for. */
import { type Edit, edit, type Mutation } from './mutation.ts'

const IDENTITY = 'controller/loops/node/decide/identity'
const MOVES = `${IDENTITY}/moves.ts`
const VM = `${IDENTITY}/find-vm.ts`

/** The table without a row: an ordinary operation needs a person then. */
function withoutRow(name: string, ...about: readonly string[]): Mutation {
  return {
    name: `identity: a binding moves: ${name}`,
    about,
    edits: [
      edit(
        MOVES,
        "({ former, allows }) => (former !== 'kept' || hasRoomBeside(vm, facts)) && allows(candidate, facts)",
        `({ name, former, allows }) => name !== '${name}' && (former !== 'kept' || hasRoomBeside(vm, facts)) && allows(candidate, facts)`,
      ),
    ],
  }
}

/** Somebody makes his own VM pass for a Node's. */
const TENANTS = ['tenant-has-uuid', 'tenant-knows-what-is-public', 'tenant-reads', 'tenant-has-read']

/** A row that asks for less: a copy gets the Node. */
function weakened(name: string, ...edits: readonly Edit[]): Mutation {
  return { name: `identity: ${name}`, about: TENANTS, edits }
}

export const IDENTITY_MUTATIONS: readonly Mutation[] = [
  withoutRow('RegisteredAgain', 'vm-registered-again'),
  withoutRow('Gone', 'vm-moved-to-other-vcenter', 'vm-moved-untold'),
  withoutRow('VCenterRemoved', 'vcenter-installed-anew'),
  withoutRow('FailedOver', 'failed-over', 'site-lost'),
  withoutRow('FirstProof', 'tenant-comes-before-machine'),
  weakened(
    'what a Node was verified to be stays its VM',
    edit(VM, 'bound === undefined ? findFirst(shown)', 'bound !== undefined ? findFirst(shown)'),
    edit(VM, ': findBound(bound, shown)', ': findFirst(shown)'),
  ),
  {
    name: 'identity: the first time the claim decides, whatever else has the UUID',
    about: ['tenant-awaits-machine'],
    edits: [
      edit(
        VM,
        'if (proven !== undefined && showing.length === 1) return',
        'if (proven !== undefined && vms.length === 1) return',
      ),
    ],
  },
  weakened(
    'RegisteredAgain: the claim says so, or nothing can',
    edit(
      MOVES,
      'isRegisteredAgain(candidate.bound, candidate.vm) &&\n      isSameMachine({ ...candidate, showsClaim: candidate.showsClaimAlive }, facts),',
      'isRegisteredAgain(candidate.bound, candidate.vm),',
    ),
  ),
  weakened(
    'an annotation names no VM that has the instance UUID of the bound one',
    edit(MOVES, 'isElsewhere ? namedIn(fits, facts) : undefined', 'namedIn(fits, facts)'),
  ),
  weakened(
    'Gone: it is proven gone',
    edit(MOVES, 'isSameMachine(candidate, facts) && hasDeparted(facts),', 'isSameMachine(candidate, facts),'),
  ),
  weakened(
    'all that a probe found is shown',
    edit(MOVES, '  if (boundNow === undefined && isOvertaken(query, facts)) return undefined\n', ''),
  ),
  weakened(
    'Gone: the claim says so, or nothing can',
    edit(MOVES, 'isSameMachine(candidate, facts) && hasDeparted(facts),', 'hasDeparted(facts),'),
  ),
  weakened(
    'VCenterRemoved: its vCenter is not configured',
    edit(
      MOVES,
      "facts.vCenterState(candidate.bound.vCenterInstanceUUID) === 'unconfigured' &&",
      "facts.vCenterState(candidate.bound.vCenterInstanceUUID) !== 'refuses' &&",
    ),
  ),
  {
    name: 'identity: where no claim decides, others are asked for, though no vCenter has had the VM',
    about: ['vcenter-installed-anew'],
    edits: [
      edit(
        'controller/loops/node/decide/lifecycle/follow-machine.ts',
        "(own !== 'answers' && own !== 'unconfigured')",
        "own !== 'answers'",
      ),
    ],
  },
  weakened(
    'FailedOver: it shows the claim',
    edit(MOVES, 'candidate.showsClaim &&\n      runs(candidate.vm) &&', 'runs(candidate.vm) &&'),
  ),
  weakened('FailedOver: the former VM does not run', edit(MOVES, '      isAway(candidate, facts) &&\n', '')),
  weakened('FailedOver: the claim is new', edit(MOVES, '(isNewClaim(facts) || ', '(runs(candidate.vm) || ')),
  weakened(
    'FirstProof: it shows the claim',
    edit(
      MOVES,
      '      showsClaim &&\n      runs(vm) &&\n      previous.lastClaim',
      '      runs(vm) &&\n      previous.lastClaim',
    ),
  ),
  weakened(
    'FirstProof: the former VM has never shown one',
    edit(MOVES, '      previous.lastClaim === undefined &&\n', ''),
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
    edit(MOVES, 'showsClaim: showing.length === 1 && showing[0] === vm', 'showsClaim: showing.includes(vm)'),
  ),
  weakened(
    'where no claim decides, each vCenter has answered',
    edit(MOVES, 'alone: running.length === 1 && complete', 'alone: running.length === 1'),
  ),
  weakened(
    'what cannot be the machine ends nothing',
    edit(MOVES, " === 'runs' && isPossible(vm, word.spec, facts))", " === 'runs')"),
  ),
  weakened(
    'a claim that the VM does not show may be that of another',
    edit(
      `${IDENTITY}/judge-identity.ts`,
      'if (isShown && spec.claim.digest !== undefined)',
      'if (spec.claim.digest !== undefined)',
    ),
  ),
  {
    name: 'identity: a VM is read again before its vNICs contradict a report',
    about: ['nic-replaced'],
    edits: [
      edit(
        'controller/loops/node/gather/gather.ts',
        'if (doubts.length === 0) return lookups',
        'if (doubts.length >= 0) return lookups',
      ),
    ],
  },
  {
    name: 'identity: no copied claim decides before the other VMs are read again',
    inSceneAlone: true,
    edits: [edit('controller/loops/node/gather/gather.ts', ' || decides)', ')')],
  },
  {
    name: 'identity: a Node whose entry is dead moves to the one that lives',
    about: ['entry-replaced'],
    edits: [edit(MOVES, 'return boundNow !== undefined && isDeadEntry(boundNow)', 'return false')],
  },
  {
    name: 'identity: a dead entry is no VM beside a living one',
    about: ['dead-entry-beside'],
    edits: [
      edit(
        `${IDENTITY}/fitting-vms.ts`,
        '!vm.template && !isDeadEntry(vm) && isInScope',
        '!vm.template && isInScope',
      ),
    ],
  },
  {
    name: 'identity: an entry whose host is away is no VM beside one that runs',
    about: ['dead-entry-beside'],
    edits: [edit(`${IDENTITY}/fitting-vms.ts`, 'return vms.filter((vm) => !isOld(vm))', 'return vms')],
  },
  {
    name: 'identity: who is to say which VM a machine is that shows no claim is told how',
    about: ['vcenter-installed-anew', 'failed-over', 'vm-moved-to-other-vcenter'],
    edits: [
      edit(
        'controller/loops/node/decide/identity/messages.ts',
        "if (uuid === undefined) return ''",
        "if (uuid !== '') return ''",
      ),
    ],
  },
]
