import { PROOFS } from '../../../controller/decide/lifecycle/absence-proofs.ts'
import { PRECONDITIONS } from '../../../controller/decide/lifecycle/deletion-rules.ts'
import type { Edit, Mutation } from './mutation.ts'

const LIFECYCLE = 'controller/decide/lifecycle'

function edit(file: string, text: string, becomes: string): Edit {
  return { file, text, becomes }
}

const LEFT_OUT: readonly Mutation[] = [
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
          `${LIFECYCLE}/deletion-rules.ts`,
          'return PRECONDITIONS.flatMap(',
          `return PRECONDITIONS.filter((each) => each.name !== '${name}').flatMap(`,
        ),
      ],
    }),
  ),
]

const OTHERS: readonly Mutation[] = [
  {
    name: 'privileges: the root folder is asked for',
    edits: [
      edit(
        'controller/vcenter/probe/privileges.ts',
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
        'missing: ({ probes }) =>\n      first(byVCenter(probes), (accounts) => (accounts.some(mayRead)',
        'missing: ({ vm, probes }) =>\n      first(byVCenter(ownProbes(vm, probes)), (accounts) => (accounts.some(mayRead)',
      ),
    ],
  },
  {
    name: 'privileges: that an absence could not be proven is taken back',
    edits: [
      edit(
        `${LIFECYCLE}/deletion-possible.ts`,
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
        'controller/vcenter/probe/canary.ts',
        "if (hidden === undefined) return { state: 'none' }",
        "if (hidden === undefined) return unproven('it shows no VM')",
      ),
    ],
  },
  {
    name: 'evidence: a new session begins the count anew',
    edits: [
      edit(`${LIFECYCLE}/evidence.ts`, 'sessions(before) === sessions({ ...result, request })', 'true'),
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
        `${LIFECYCLE}/deletion-rules.ts`,
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
  {
    name: 'brake: it stays engaged for those for which it engaged',
    edits: [
      edit(
        `${LIFECYCLE}/judge-disruption-limit.ts`,
        'const engaged = engages || (wasEngaged && !releases)',
        'const engaged = engages',
      ),
    ],
  },
  {
    name: 'brake: it holds all as long as it holds any',
    edits: [edit(`${LIFECYCLE}/judge-disruption-limit.ts`, 'engaged || fleet.latched > 0', 'engaged')],
  },
  {
    name: 'brake: what vanished at once counts together',
    edits: [
      edit(`${LIFECYCLE}/disruption-limit.ts`, 'if (span.from - end > gap) waves.push([])', 'waves.push([])'),
    ],
  },
  {
    name: 'brake: what vanished while vCenter was away counts with what vanished before',
    edits: [
      edit(
        `${LIFECYCLE}/judge-disruption-limit.ts`,
        'from: Math.min(since, shownUntil(facts))',
        'from: since',
      ),
    ],
  },
  {
    name: 'brake: who was silent since it was proven absent has vanished by then',
    edits: [edit(`${LIFECYCLE}/judge-disruption-limit.ts`, '? absent.since : latest', '? latest : latest')],
  },
  {
    name: 'brake: who is proven absent, silent and still Ready may still come to count',
    edits: [
      edit(
        `${LIFECYCLE}/living-machines.ts`,
        'return evidence === undefined || evidence.absent !== undefined',
        'return evidence === undefined',
      ),
    ],
  },
  {
    name: 'brake: it is released after few were missing for long',
    edits: [edit(`${LIFECYCLE}/disruption-limit.ts`, 'fleet.fewFor >= quiet && ', '')],
  },
  {
    name: 'brake: what counts is not Ready',
    edits: [
      edit(
        `${LIFECYCLE}/disruption-limit.ts`,
        "!isDecided(node) && node.ready?.status !== 'True'",
        "!isDecided(node) && node.ready?.status === 'True'",
      ),
    ],
  },
  {
    name: 'brake: it releases itself',
    edits: [
      edit(`${LIFECYCLE}/judge-disruption-limit.ts`, 'wasEngaged && !tooMany && few &&', 'false && few &&'),
    ],
  },
  {
    name: 'brake: who lives though its VM is gone does not count',
    edits: [
      edit(
        `${LIFECYCLE}/disruption-limit.ts`,
        "!isDecided(node) && node.ready?.status !== 'True'",
        "!isDecided(node) && (node.ready?.status !== 'True' || evidence.spokenAt !== undefined)",
      ),
      edit(
        `${LIFECYCLE}/living-machines.ts`,
        'if (evidence?.spokenAt === undefined || isDecided(node))',
        'if (true)',
      ),
    ],
  },
  {
    name: 'brake: a vCenter that is wrong about many is not believed about any',
    edits: [
      edit(
        `${LIFECYCLE}/living-machines.ts`,
        'return living > allowedAbsent(bound, settings)',
        'return living > 99 * allowedAbsent(bound, settings)',
      ),
    ],
  },
  {
    name: 'brake: who deletes nothing leaves no latch',
    edits: [
      edit(`${LIFECYCLE}/judge-disruption-limit.ts`, "settings.deletion === 'on' && mayGo", 'mayGo'),
      edit(
        `${LIFECYCLE}/lifecycle.ts`,
        "if (settings.lifecycle.deletion === 'on') return kept",
        'if (kept) return kept',
      ),
    ],
  },
  {
    name: 'brake: past deletions alone leave no latch',
    edits: [
      edit(
        `${LIFECYCLE}/disruption-limit.ts`,
        'waveOf(own, fleet.absentSince, atOnce(settings)) >',
        'waveOf(own, [...fleet.absentSince, ...recent], atOnce(settings)) >',
      ),
    ],
  },
  {
    name: 'brake: who is held by a person does not count',
    edits: [
      edit(
        `${LIFECYCLE}/disruption-limit.ts`,
        'evidence?.absent !== undefined && !isDecided(node) &&',
        'evidence?.absent !== undefined &&',
      ),
    ],
  },
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
        `${LIFECYCLE}/lifecycle.ts`,
        '{ ...backInService(node), ...judgePresence',
        "{ ...(presenceOf(machines, facts.lookups).kind === 'unknown' ? {} : backInService(node)), ...judgePresence",
      ),
    ],
  },
  {
    name: 'volumes: a Node is called out of service before it is deleted',
    edits: [edit(`${LIFECYCLE}/volumes.ts`, '    attachments > 0 &&', '    attachments > 99 &&')],
  },
  {
    name: 'machines: a binding whose level has ended',
    edits: [
      edit(
        'controller/node/machines.ts',
        '  const known = [vm, namedVM]',
        '  const level = previousStatus(report, node).identityLevel\n  const known = [level && vm, level && namedVM].flatMap((each) => each || [])',
      ),
    ],
  },
  {
    name: 'machines: the VM that has taken the Node over',
    edits: [edit('controller/node/machines.ts', '[vm, namedVM].filter', '[vm].filter')],
  },
  {
    name: 'machines: what report and kubelet name',
    edits: [
      edit('controller/node/machines.ts', 'take(add(spec?.machine.serialUUID, (uuid) => [uuid]))', ''),
      edit('controller/node/machines.ts', 'take(add(canonicalUUID(node.systemUUID), both))', ''),
    ],
  },
  {
    name: 'machines: a machine that was never seen takes longer',
    edits: [edit(`${LIFECYCLE}/deletion-rules.ts`, 'const UNSEEN_FACTOR = 6', 'const UNSEEN_FACTOR = 1')],
  },
  {
    name: 'machines: one that was never seen keeps a Node that was verified',
    edits: [edit(`${LIFECYCLE}/unseen.ts`, 'if (bound) return false', '')],
  },
  {
    name: 'machines: one that was never seen keeps a Node as lifecycle.unbound says',
    edits: [edit(`${LIFECYCLE}/unseen.ts`, "settings.lifecycle.unbound === 'delete'", 'true')],
  },
  {
    name: 'machines: who never reported is not followed, and so not seen',
    edits: [
      edit('controller/gather/node-keys.ts', 'new Set(followed?.machines', 'new Set(pointed?.machines'),
    ],
  },
  {
    name: 'machines: of one that is silent and was never reported it is said that it stays',
    edits: [
      edit(
        'controller/decide/ownership.ts',
        "    const silent = node.ready?.status === 'Unknown'",
        '    const silent = node === undefined',
      ),
    ],
  },
  {
    name: 'machines: a Node that another provider initialised may be the only one of a vCenter',
    edits: [
      edit(
        'controller/probes/inhabitants.ts',
        'runs(name) && !isShownElsewhere(name)',
        'runs(name) && name === except',
      ),
    ],
  },
  {
    name: 'machines: a provider ID in either byte order',
    edits: [
      edit(
        'controller/node/machines.ts',
        'take(add(providerUUIDs(node)[0], both))',
        'take(add(providerUUIDs(node)[0], (uuid) => [uuid]))',
      ),
    ],
  },
  {
    name: 'machines: a template is none',
    edits: [
      edit('controller/decide/identity/vm.ts', 'if (vm.template) {', 'if (vm.template && vm.moref === "") {'),
    ],
  },
  {
    name: 'machines: the standby of a Fault Tolerance group is none',
    edits: [
      edit(
        'controller/types/virtual-machine.ts',
        'return role !== undefined && role !== 1',
        'return role === 1',
      ),
    ],
  },
  {
    name: 'addresses: who waits for one is woken when its holder goes',
    edits: [edit('controller/reconcile.ts', 'addresses.waits(name, decision.waitsFor ?? [])', '')],
  },
  {
    name: 'addresses: a machine that is proven gone holds none',
    edits: [
      edit(
        'controller/gather/gather.ts',
        'return gone ? held.filter((each) => each === name) : held',
        'return held',
      ),
    ],
  },
  {
    name: 'apply: the leader confirms its Lease, nor does the term look at the wall clock',
    edits: [
      edit(
        'controller/apply/apply.ts',
        'decision.confirmLease === true && !(await writer.confirm())',
        'false',
      ),
      edit('controller/apply/apply.ts', 'if (!(await writer.confirm())) return { incomplete: true }', ''),
      edit(
        'controller/kubernetes/term.ts',
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
      edit('controller/probes/probe-tracker.ts', 'deleted.set(group, known)', ''),
      edit(
        'controller/probes/probe-tracker.ts',
        'deleted.get(group)?.set(nodeUID, { at, vanished, sure: true })',
        '',
      ),
    ],
  },
  {
    name: 'probe tracker: deletions are remembered when the configuration changes',
    edits: [
      edit(
        'controller/probes/probe-tracker.ts',
        'resume(exists) {',
        'resume(exists) {\n      deleted.clear()',
      ),
    ],
  },
  {
    name: 'logins: a refused credential rests',
    edits: [
      edit('controller/vcenter/session/session.ts', 'if (paused !== undefined) throw paused.error', ''),
      edit('controller/vcenter/session/logins.ts', 'if (paused !== undefined) throw paused.error', ''),
      // The connection waits for the pause, too, before it tries again.
      edit('controller/vcenter/inventory.ts', 'pause?.left ?? backoff.next()', 'backoff.next()'),
    ],
  },
  {
    name: 'session: the one before is used again',
    edits: [
      edit(
        'controller/vcenter/session/session.ts',
        'if (content !== undefined && (await stillAlive(signal))) return content',
        '',
      ),
    ],
  },
  {
    name: 'logins: all processes have one budget',
    edits: [
      edit('controller/vcenter/session/logins.ts', 'if (next <= at) return at', 'if (next >= at) return at'),
    ],
  },
  {
    name: 'logins: remembered before they are tried',
    edits: [
      edit(
        'controller/vcenter/session/logins.ts',
        'return next > at ? undefined : [...counted, { at, refused: false }]',
        'return undefined',
      ),
    ],
  },
  {
    name: 'shutdown: only a host that is connected knows',
    edits: [
      edit(
        'controller/decide/machine-state.ts',
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
]

export const MUTATIONS: readonly Mutation[] = [...LEFT_OUT, ...OTHERS]
