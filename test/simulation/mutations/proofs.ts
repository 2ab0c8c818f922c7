/** What is missing from the proof that a VM is gone. */
import { PROOFS } from '../../../controller/loops/node/decide/lifecycle/absence-proofs.ts'
import { PRECONDITIONS } from '../../../controller/loops/node/decide/lifecycle/deletion-preconditions.ts'
import { edit, LIFECYCLE, type Mutation } from './mutation.ts'

export const PROOF_MUTATIONS: readonly Mutation[] = [
  ...PROOFS.map(({ name }) => ({
    name: `proof ${name}`,
    edits: [
      edit(
        `${LIFECYCLE}/absence-proofs.ts`,
        'return PROOFS.flatMap(',
        `return PROOFS.filter((each) => each.name !== '${name}').flatMap(`,
      ),
    ],
  })),
  // Second locks to a door. By a heartbeat the evidence begins anew as well: it is taken out with that, below. In as few
  // VMs as the model has, the canary shows what push has not told of, so that tests hold the other one
  // (`deletion-step.test.ts`, `moves.test.ts`).
  ...PRECONDITIONS.filter(({ name }) => !['KubeletSilent', 'OthersRead', 'OthersCounted'].includes(name)).map(
    ({ name }) => ({
      name: `precondition ${name}`,
      edits: [
        edit(
          `${LIFECYCLE}/deletion-preconditions.ts`,
          'return PRECONDITIONS.flatMap(',
          `return PRECONDITIONS.filter((each) => each.name !== '${name}').flatMap(`,
        ),
      ],
    }),
  ),
  {
    name: 'privileges: the root folder is asked for',
    edits: [
      edit(
        'controller/vcenter/vm-probe/privileges.ts',
        'await tellAll([refused, [...waiting, ...rest, root]], (parent)',
        'await tellAll([refused, [...waiting, ...rest]], (parent)',
      ),
    ],
  },
  {
    name: 'privileges: the root folder of every vCenter counts',
    edits: [
      edit(
        `${LIFECYCLE}/absence-proofs.ts`,
        'unmet: ({ probes }) =>\n      first(byVCenter(probes), (accounts) => (accounts.some(mayRead)',
        'unmet: ({ vm, probes }) =>\n      first(byVCenter(ownProbes(vm, probes)), (accounts) => (accounts.some(mayRead)',
      ),
    ],
  },
  {
    name: 'privileges: that an absence could not be proven is taken back',
    edits: [
      edit(
        `${LIFECYCLE}/follow-machine.ts`,
        'if (!told || (provable.includes(undefined) && !probed)) return undefined',
        'if (told || (provable.includes(undefined) && !probed)) return undefined',
      ),
    ],
  },
  {
    name: 'canary: other Nodes tell that a vCenter is not empty',
    edits: [
      edit(
        `${LIFECYCLE}/absence-proofs.ts`,
        "canary.state === 'none' && inhabitants !== undefined",
        'inhabited.size < 0 && inhabitants !== undefined',
      ),
    ],
  },
  {
    name: 'canary: none is demanded of a vCenter in which none was ever seen',
    edits: [
      edit(
        'controller/vcenter/vm-probe/canary.ts',
        "if (hidden === undefined) return { state: 'none' }",
        "if (hidden === undefined) return unproven('it shows no VM')",
      ),
    ],
  },
  {
    name: 'evidence: a new session begins the count anew',
    edits: [
      edit(
        `${LIFECYCLE}/evidence.ts`,
        'before.heartbeat === result.heartbeat &&\n    sameSessions(before, request, result)',
        'before.heartbeat === result.heartbeat',
      ),
    ],
  },
  {
    name: 'evidence: a sign of life begins the count anew',
    edits: [edit(`${LIFECYCLE}/evidence.ts`, '!hasReported(before.request, request) &&', '')],
  },
  {
    name: 'evidence: a heartbeat begins the count anew',
    edits: [edit(`${LIFECYCLE}/evidence.ts`, 'before.heartbeat === result.heartbeat &&', '')],
  },
  {
    name: 'precondition KubeletSilent, nor the one before',
    edits: [
      edit(`${LIFECYCLE}/evidence.ts`, 'before.heartbeat === result.heartbeat &&', ''),
      edit(
        `${LIFECYCLE}/deletion-preconditions.ts`,
        'return PRECONDITIONS.flatMap(',
        "return PRECONDITIONS.filter((each) => each.name !== 'KubeletSilent').flatMap(",
      ),
    ],
  },
  {
    name: 'evidence: an answer that proves less ends the count',
    edits: [
      edit(
        `${LIFECYCLE}/evidence.ts`,
        'row(before?.absent) : undefined',
        'row(before?.absent) : before?.absent',
      ),
    ],
  },
]
