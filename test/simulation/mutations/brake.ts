/** What engages the brake, and what releases it. */
import { edit, LIFECYCLE, type Mutation } from './mutation.ts'

export const BRAKE_MUTATIONS: readonly Mutation[] = [
  {
    name: 'brake: it stays engaged for those for which it engaged',
    edits: [
      edit(
        `${LIFECYCLE}/judge-brake.ts`,
        'const engaged = engages || (wasEngaged && !releases)',
        'const engaged = engages',
      ),
    ],
  },
  {
    name: 'brake: it holds all as long as it holds any',
    edits: [edit(`${LIFECYCLE}/judge-brake.ts`, 'engaged || fleet.latched > 0', 'engaged')],
  },
  {
    name: 'brake: what vanished at once counts together',
    edits: [edit(`${LIFECYCLE}/brake.ts`, 'if (span.from - end > gap) waves.push([])', 'waves.push([])')],
  },
  {
    name: 'brake: what vanished while vCenter was away counts with what vanished before',
    inSceneAlone: true,
    edits: [edit(`${LIFECYCLE}/judge-brake.ts`, 'from: Math.min(since, shownUntil(facts))', 'from: since')],
  },
  {
    name: 'brake: who was silent since it was proven absent has vanished by then',
    edits: [edit(`${LIFECYCLE}/judge-brake.ts`, '? absent.since : latest', '? latest : latest')],
  },
  {
    name: 'brake: who is proven absent, silent and still Ready may still come to count',
    edits: [
      edit(
        `${LIFECYCLE}/doubted-vcenter.ts`,
        'return evidence === undefined || evidence.absent !== undefined',
        'return evidence === undefined',
      ),
    ],
  },
  {
    name: 'brake: it is released after few were missing for long',
    edits: [edit(`${LIFECYCLE}/brake.ts`, 'fleet.fewFor >= quiet && ', '')],
  },
  {
    name: 'brake: what counts is not Ready',
    edits: [
      edit(
        `${LIFECYCLE}/brake.ts`,
        "!isDecided(node) && node.ready?.status !== 'True'",
        "!isDecided(node) && node.ready?.status === 'True'",
      ),
    ],
  },
  {
    name: 'brake: it releases itself',
    edits: [edit(`${LIFECYCLE}/judge-brake.ts`, 'wasEngaged && !tooMany && few &&', 'false && few &&')],
  },
  {
    name: 'brake: who lives though its VM is gone does not count',
    edits: [
      edit(
        `${LIFECYCLE}/brake.ts`,
        "!isDecided(node) && node.ready?.status !== 'True'",
        "!isDecided(node) && (node.ready?.status !== 'True' || evidence.spokenAt !== undefined)",
      ),
      edit(
        `${LIFECYCLE}/doubted-vcenter.ts`,
        'if (evidence?.spokenAt === undefined || isDecided(node))',
        'if (true)',
      ),
    ],
  },
  {
    name: 'brake: a vCenter that is wrong about many is not believed about any',
    edits: [
      edit(
        `${LIFECYCLE}/doubted-vcenter.ts`,
        'return living > allowedAbsent(bound, settings)',
        'return living > 99 * allowedAbsent(bound, settings)',
      ),
    ],
  },
  {
    name: 'brake: a machine whose agent reports goes on speaking against its vCenter',
    edits: [edit(`${LIFECYCLE}/doubted-vcenter.ts`, 'const AGENT_SILENT = 6', 'const AGENT_SILENT = 0')],
  },
  {
    name: 'brake: who deletes nothing leaves no latch',
    edits: [
      edit(`${LIFECYCLE}/judge-brake.ts`, "settings.deletion === 'on' && mayGo", 'mayGo'),
      edit(
        `${LIFECYCLE}/follow-machine.ts`,
        "if (settings.lifecycle.deletion === 'on') return draft",
        'if (draft) return draft',
      ),
    ],
  },
  {
    name: 'brake: past deletions alone leave no latch',
    edits: [
      edit(
        `${LIFECYCLE}/brake.ts`,
        'waveOf(own, fleet.absentSince, atOnce(settings)) >',
        'waveOf(own, [...fleet.absentSince, ...recent], atOnce(settings)) >',
      ),
    ],
  },
  {
    name: 'brake: who is held by a person does not count',
    edits: [
      edit(
        `${LIFECYCLE}/brake.ts`,
        'evidence?.absent !== undefined && !isDecided(node) &&',
        'evidence?.absent !== undefined &&',
      ),
    ],
  },
]
