/** What is written, and what is asked of vCenter and the API server, and how often. */
import { edit, LIFECYCLE, type Mutation } from './mutation.ts'

export const EFFECT_MUTATIONS: readonly Mutation[] = [
  {
    name: 'out of service: a Node that is Ready again is back',
    edits: [
      edit(
        `${LIFECYCLE}/out-of-service.ts`,
        "return ready?.status === 'True' && taints.some(isOwnOutOfServiceTaint)",
        'return ready === undefined',
      ),
    ],
  },
  {
    name: 'out of service: so it is while vCenter cannot be asked',
    edits: [
      edit(
        `${LIFECYCLE}/follow-machine.ts`,
        'if (machines === undefined) return told',
        "if (machines === undefined || presenceOf(machines, facts.lookups).kind === 'unknown') return told",
      ),
    ],
  },
  {
    name: 'out of service: a VM that is off may run as another',
    edits: [edit(`${LIFECYCLE}/follow-machine.ts`, ' && !mayRunElsewhere(bound, facts)', '')],
    inSceneAlone: true,
  },
  {
    name: 'volumes: a Node is called out of service before it is deleted',
    edits: [edit(`${LIFECYCLE}/out-of-service.ts`, '    attachments > 0 &&', '    attachments > 99 &&')],
  },
  {
    name: 'apply: the leader confirms its Lease, nor does the term look at the wall clock',
    edits: [
      edit(
        'controller/loops/node/apply/apply.ts',
        'decision.confirmLease === true && !(await writer.confirm())',
        'false',
      ),
      edit(
        'controller/loops/node/apply/apply.ts',
        'if (!(await writer.confirm())) return { incomplete: true }',
        '',
      ),
      edit(
        'controller/kubernetes/leader-election.ts',
        'Math.abs(clock.now() - renewer.renewedAtWall) < renewDeadline',
        'true',
      ),
    ],
  },
  {
    name: 'writer: a deletion names UID and resourceVersion',
    edits: [
      edit('controller/kubernetes/node-writer.ts', 'preconditions: guard(seen),', 'preconditions: {},'),
    ],
  },
  {
    name: 'writer: every write names UID and resourceVersion',
    edits: [edit('controller/kubernetes/node-writer.ts', 'return { uid, resourceVersion }', 'return {}')],
  },
  {
    name: 'probe tracker: deletions are counted',
    edits: [
      edit('controller/loops/node/vm-probes/recent-deletions.ts', 'deleted.set(group, known)', ''),
      edit(
        'controller/loops/node/vm-probes/recent-deletions.ts',
        'deleted.get(group)?.set(nodeUID, { at, vanished, sure: true })',
        '',
      ),
    ],
  },
  {
    name: 'probe tracker: deletions are remembered when the configuration changes',
    edits: [
      edit(
        'controller/loops/node/vm-probes/recent-deletions.ts',
        'return {\n    of,',
        'return {\n    clear: () => deleted.clear(),\n    of,',
      ),
      edit(
        'controller/loops/node/vm-probes/probe-tracker.ts',
        'resume(exists) {',
        'resume(exists) {\n      deletions.clear()',
      ),
    ],
  },
  {
    name: 'logins: a refused credential rests',
    edits: [
      edit('controller/vcenter/session/session.ts', 'if (paused !== undefined) throw paused.error', ''),
      edit('controller/vcenter/session/login-limiter.ts', 'if (paused !== undefined) throw paused.error', ''),
      // The connection waits for the pause, too, before it tries again.
      edit('controller/vcenter/inventory.ts', 'pause?.left ?? backoff.next()', 'backoff.next()'),
    ],
  },
  {
    name: 'session: the one before is used again',
    edits: [
      edit(
        'controller/vcenter/session/session.ts',
        'if (content === undefined || !(await stillAlive(signal))) {',
        '{',
      ),
    ],
  },
  {
    name: 'logins: all processes have one budget',
    edits: [
      edit(
        'controller/vcenter/session/login-limiter.ts',
        'if (next <= at) return {',
        'if (next >= at) return {',
      ),
    ],
  },
  {
    name: 'logins: remembered before they are tried',
    edits: [
      edit(
        'controller/vcenter/session/login-limiter.ts',
        'return next > at ? undefined : lists.map((list) => [...list, { at, refused: false }])',
        'return undefined',
      ),
    ],
  },
  {
    name: 'shutdown: only a host that is connected knows',
    edits: [
      edit(
        'controller/types/virtual-machine.ts',
        "disconnected: { poweredOn: 'unknown', poweredOff: 'unknown', suspended: 'unknown' }",
        "disconnected: { poweredOn: 'runs', poweredOff: 'off', suspended: 'off' }",
      ),
    ],
  },
  {
    name: 'shutdown: a VM that runs again loses the taint',
    edits: [
      edit(`${LIFECYCLE}/shutdown-taint.ts`, 'if (kept.length === taints.length)', 'if (kept.length >= 0)'),
    ],
  },
  {
    name: 'taints: those of others stay',
    edits: [
      edit(
        `${LIFECYCLE}/shutdown-taint.ts`,
        'const kept = taints.filter((taint) =>',
        'const kept = taints.filter((taint) => false &&',
      ),
    ],
  },
  {
    name: 'logins: one that takes minutes is waited for',
    edits: [edit('controller/vcenter/timings.ts', 'loginDeadline: 300_000', 'loginDeadline: 15_000')],
  },
  {
    name: 'logins: a session of a login that was given up is ended',
    about: ['logins-slow'],
    edits: [
      edit('controller/vcenter/timings.ts', 'loginDeadline: 300_000', 'loginDeadline: 15_000'),
      edit(
        'controller/vcenter/session/session.ts',
        'if (leftBehind === undefined ||',
        'if (latest !== null ||',
      ),
    ],
  },
  {
    name: 'polls: after one that was cut off the next goes on',
    edits: [edit('controller/vcenter/collect/pace.ts', 'return cuts <= MOST_CUTS', 'return cuts <= 0')],
  },
  {
    name: 'watch: a VM is watched as soon as a Node points to it',
    edits: [
      edit(
        'controller/vcenter/timings.ts',
        'members: { quiet: 50, max: 200,',
        'members: { quiet: 3_000, max: 8_000,',
      ),
    ],
  },
  {
    name: 'shutdown: a Node whose VM was off before it was first seen is tainted once it is not Ready',
    edits: [
      edit(
        `${LIFECYCLE}/shutdown-taint.ts`,
        '!isOnlyVM(vm, machines, facts)) return draft',
        'vm !== undefined) return draft',
      ),
    ],
  },
  {
    name: 'one object: a report that is slow to write keeps no other from proving the policy',
    edits: [
      edit(
        'controller/kubernetes/policy-check.ts',
        "if (changed.outcome === 'none' || isDeniedElsewhere) useless.add(name)",
        '',
      ),
    ],
    inSceneAlone: true,
  },
]
