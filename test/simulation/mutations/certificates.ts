/**
 * What a serving certificate asks for before it is approved. Left out is what is known in the same moment by what the loop of Nodes
 * decides: that there is such a Node, that it is not being deleted, and until when its level lasts.
 */
import { edit, type Mutation } from './mutation.ts'

const JUDGE = 'controller/loops/certificates/judge-request.ts'
const LOOP = 'controller/loops/certificates/loop.ts'

function without(name: string, text: string, becomes: string, ...about: readonly string[]): Mutation {
  return { name: `certificates: ${name}`, about, edits: [edit(JUDGE, text, becomes)] }
}

export const CERTIFICATE_MUTATIONS: readonly Mutation[] = [
  without(
    'who asks is in the groups of kubelets alone',
    'if (!isSame(groups, [GROUP, AUTHENTICATED]))',
    'if (groups.length < 0)',
    'stranger-asks',
  ),
  without(
    'who asks is not impersonated',
    'Object.keys(others).length > 0 || ',
    'Object.keys(others).length < 0 || ',
    'stranger-asks',
  ),
  without(
    'who asks has shown a client certificate',
    '!credential.every((each) => each.startsWith(CLIENT_CERTIFICATE))',
    '!credential.every((each) => each !== CLIENT_CERTIFICATE)',
    'stranger-asks',
  ),
  without(
    'it is for a server alone',
    'if (!isSame(asked, USAGES))',
    'if (asked.length < 2)',
    'asks-for-nobodys',
  ),
  without(
    'its common name is whoever asks',
    'if (content.commonName !== request.username)',
    "if (content.commonName === '')",
    'asks-for-anothers',
  ),
  without(
    'its organization is that of kubelets alone',
    'if (!isSame(content.organizations, [GROUP]))',
    'if (content.organizations.length < 0)',
    'asks-for-nobodys',
  ),
  without(
    'it is younger than the Node',
    'if (Date.parse(request.createdAt) < Date.parse(node.creationTimestamp))',
    "if (request.createdAt === '')",
    'registers-anew-after-asking',
  ),
  without(
    'the Node has the level that is required',
    '!lasts || !reaches(level, settings.require)',
    '!lasts',
    'claims-forbidden',
  ),
  without(
    'its VM is found and runs',
    "return runs ? undefined : 'its VM is not found, or does not run'",
    'return runs ? undefined : undefined',
    'stops-after-asking',
  ),
  without(
    "a name is the Node's",
    '!isNameOf(name, each, settings.domains)',
    "!isNameOf(name, each, settings.domains) && each === ''",
    'asks-for-anothers',
    'asks-for-nobodys',
  ),
  without(
    "an address is the Node's",
    '!own.includes(each)',
    "!own.includes(each) && each === ''",
    'asks-for-anothers',
    'asks-for-nobodys',
  ),
  without(
    'what is denied is of another Node',
    'if (holder !== undefined)\n      return {',
    'if (holder !== name)\n      return {',
    'asks-for-nobodys',
  ),
  {
    name: 'certificates: a name of the API server or of a Service is in none',
    inSceneAlone: true,
    edits: [edit(JUDGE, '|| RESERVED.test(dnsName)', '')],
  },
  without(
    'an address is in the networks of Nodes',
    '&& isIn(networks) && !isIn(exclude)',
    '&& !isIn(exclude)',
    'address-squatted',
  ),
  {
    name: 'certificates: an address that is excluded is in none',
    edits: [edit(JUDGE, '&& isIn(networks) && !isIn(exclude)', '&& isIn(networks)')],
  },
  {
    name: 'certificates: a Node gets few',
    about: ['asks-in-flood'],
    edits: [edit(LOOP, 'if (waitOfNode > 0) {', 'if (waitOfNode < 0) {')],
  },
  {
    name: 'certificates: a Node gets no more under another configuration',
    inSceneAlone: true,
    edits: [
      edit(
        'controller/leader/candidate.ts',
        '          approvals,\n',
        '          approvals: createApprovalRates(),\n',
      ),
    ],
  },
  {
    name: 'certificates: of several requests of a Node the newest counts',
    inSceneAlone: true,
    edits: [edit(LOOP, 'one.createdAt >= (newest?.createdAt ??', 'one.createdAt <= (newest?.createdAt ??')],
  },
]
