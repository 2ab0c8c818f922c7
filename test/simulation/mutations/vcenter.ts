/** What is wrong with one object or category of a vCenter is not wrong with all that is in it. */
import { edit, type Mutation } from './mutation.ts'

const COLLECT = 'controller/vcenter/collect'
const ONE_VM = ['vm-faulty']

export const VCENTER_MUTATIONS: readonly Mutation[] = [
  {
    name: 'one object: a call that fails for it is made for the others',
    about: ONE_VM,
    edits: [
      edit(
        `${COLLECT}/refusals.ts`,
        'const half = items.length >> 1',
        'if (items.length > 1) throw error\n        const half = items.length >> 1',
      ),
    ],
  },
  {
    name: 'one object: a search that fails fails for its UUID alone',
    about: ONE_VM,
    edits: [
      edit(
        `${COLLECT}/locate.ts`,
        'if (!(error instanceof UnansweredError)) return { error }',
        'throw error',
      ),
    ],
  },
  {
    name: 'one object: NotAuthenticated about it ends no session that lives',
    about: ONE_VM,
    edits: [
      edit(
        `${COLLECT}/retrieve-properties.ts`,
        'if (doubtful.length > 0) await alive(signal)',
        'for (const { missing } of doubtful) throw strayIn(missing)',
      ),
    ],
  },
  {
    name: 'one object: where each poll fails that tells of it, the others are polled for',
    inSceneAlone: true,
    edits: [
      edit(
        `${COLLECT}/updates.ts`,
        'if (culprits === undefined) throw fault',
        'if (culprits !== undefined) throw fault',
      ),
    ],
  },
  {
    name: 'one object: where it makes a read of all fail, each is read by itself',
    inSceneAlone: true,
    edits: [
      edit(
        'controller/vcenter/reads-of-all.ts',
        'if (!isOfObjects(error)) throw error',
        'if (isOfObjects(error)) throw error',
      ),
    ],
  },
  {
    name: 'one object: a read that it keeps from being answered is made for the others',
    about: ONE_VM,
    edits: [
      edit(
        `${COLLECT}/refusals.ts`,
        'if (error instanceof UnansweredError && onUnanswered !== undefined) return onUnanswered(items, error)',
        '',
      ),
    ],
  },
  {
    name: 'names: the last good address is used where no name server answers',
    inSceneAlone: true,
    edits: [
      edit(
        'controller/vcenter/wire/names.ts',
        'if (before === undefined || !unanswered) throw error',
        'throw error',
      ),
    ],
  },
  {
    name: 'set-up: a call that is made once is waited for',
    inSceneAlone: true,
    edits: [edit('controller/vcenter/timings.ts', 'readDeadline: 60_000', 'readDeadline: 15_000')],
  },
  {
    name: 'REST: a login whose answer is lost is not tried again and again',
    about: ['logins-lost'],
    edits: [
      edit(
        'controller/vcenter/session/rest.ts',
        'if (lostLogins > 1) nextLogin = clock.monotonic() + timings.restSessionExpires',
        'nextLogin = -Infinity',
      ),
    ],
  },
  {
    name: 'logins: those without an answer are few',
    inSceneAlone: true,
    edits: [
      edit(
        'controller/vcenter/session/login-budget.ts',
        "unanswered: { attempts: 5, within: REMEMBERED, counts: 'unanswered' }",
        "unanswered: { attempts: 50, within: REMEMBERED, counts: 'unanswered' }",
      ),
    ],
  },
  {
    name: 'watch: a new VM that was destroyed before it was watched is missed soon',
    inSceneAlone: true,
    edits: [edit('controller/vcenter/timings.ts', 'enter: 5_000', 'enter: 60_000')],
  },
  {
    name: 'tags: a category that nobody needs may be unreadable',
    about: ['foreign-categories-denied'],
    edits: [edit(`${COLLECT}/tag-categories.ts`, 'if (!isNotFound(error)) return error', 'throw error')],
  },
  {
    name: 'tags: one whose name may not be read may be the nearest',
    about: ['tag-denied'],
    edits: [
      edit(
        `${COLLECT}/tag-names.ts`,
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a source
        'return { unread: [{ why: problems.get(id)?.why ?? `tag ${id} was not read`, category }] }',
        'return { unread: [] }',
      ),
    ],
  },
  {
    name: 'inventory: what another vCenter has shown is not taken for what this one has',
    about: ['other-vcenter-answers'],
    edits: [edit('controller/vcenter/inventory.ts', 'if (isAnother) {', 'if (isAnother === undefined) {')],
  },
  {
    name: 'inventory: a VM is on the host that was pushed',
    inSceneAlone: true,
    edits: [
      edit('controller/vcenter/properties/pushed-properties.ts', "host: newer('host'),", 'host: one.host,'),
    ],
  },
  {
    name: 'inventory: what is never pushed is read again where the configuration has changed',
    inSceneAlone: true,
    edits: [
      edit(
        'controller/vcenter/sync-vms.ts',
        'if (reconfigured.size > 0) {',
        'if (reconfigured.size > Number.MAX_VALUE) {',
      ),
    ],
  },
  {
    name: 'tags: those that are new do not stand beside older ones that are not shown any more',
    inSceneAlone: true,
    edits: [
      edit(
        'controller/vcenter/keep-tags-read.ts',
        'const witnesses = isOfSome ? witnessesAmong(objects)',
        'const witnesses = objects.length < 0 ? witnessesAmong(objects)',
      ),
      edit(
        'controller/vcenter/keep-tags-read.ts',
        'const beside = isOfSome ? knownBeside',
        'const beside = objects.length < 0 ? knownBeside',
      ),
    ],
  },
]
