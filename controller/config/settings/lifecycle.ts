import { ok, type Result } from '../../../agent/shared/result.ts'
import type { LifecycleConfig } from '../config.ts'
import { row, type SectionTable } from './row.ts'
import {
  choice,
  duration,
  durationOrOff,
  flag,
  integer,
  parseChoice,
  parseFlag,
  share,
  textOf,
} from './values.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

export const LIFECYCLE: SectionTable<LifecycleConfig> = {
  others: {},
  rows: {
    deletion: row(textOf(parseDeletion, 'on', { enum: ['on', 'dry-run', 'off', true, false, null] }), {
      default: 'on',
      meaning: '`on`, `dry-run` (`DeletionPending` says which Nodes would go) or `off`.',
      protects: 'Nodes without a machine, whose Pods do not restart elsewhere',
    }),
    unbound: row(choice(['report', 'delete']), {
      default: 'report',
      meaning:
        'A [never verified](lifecycle.md#which-machines-must-be-gone) Node whose machine no vCenter has shown: `report` keeps it, `delete` deletes it after six times `absentFor`.',
      protects: '`report`: an inaccessible VM, or another UUID; `delete`: Nodes that stay',
    }),
    confirmations: row(integer(1, 100), {
      default: '3',
      meaning: '1 to 100 proofs of absence in a row; any other answer restarts the count.',
      protects: 'a single wrong answer',
    }),
    absentFor: row(duration('1s'), {
      default: '4m',
      meaning: 'Least time between the first and the last proof. Below 4m draws a warning.',
      protects:
        'a vCenter that restarts, a VM that is registered again, a machine whose agent reports every 3½ minutes',
      warn: (time) =>
        time < 30 * SECOND ? SOONER_THAN_VCENTER : time < 4 * MINUTE ? SOONER_THAN_AGENTS : undefined,
    }),
    leaderAge: row(duration('0s'), {
      default: '2m',
      meaning:
        'How long a replica leads before it deletes Nodes or puts them out of service. 0 draws a warning.',
      protects: 'a change of leaders',
      warn: (time) => (time === 0 ? YOUNG_LEADER : undefined),
    }),
    deletionsPerMinute: row(integer(1, 1_000), {
      default: '10',
      meaning: '1 to 1000 Nodes of one vCenter deleted in any minute.',
      protects: 'a mistake that passed all other checks',
    }),
    maxAbsentShare: row(share, {
      default: '20%',
      meaning:
        "Share of one vCenter's Nodes; if more VMs vanish at once, [the brake](lifecycle.md#the-brake) engages. 100% draws a warning.",
      protects: 'a vCenter restored from an old backup, or that lost inventory',
      warn: (share) => (share === 1 ? NO_BRAKE : undefined),
    }),
    maxAbsentMinimum: row(integer(0, 100_000), {
      default: '1',
      meaning:
        'VMs that may always vanish at once. With 0 and a share of 0%, a person must confirm each deletion.',
      protects: 'a brake that engages too easily in small clusters',
    }),
    waitForVolumes: row(durationOrOff('1s'), {
      default: '5m',
      meaning: '`off`, or how long at most a deletion waits for [volumes](lifecycle.md#volumes).',
      protects: 'a volume that stays attached',
    }),
    shutdownTaint: row(flag, {
      default: 'true',
      meaning:
        'Taint `node.cloudprovider.kubernetes.io/shutdown:NoSchedule` [while the VM is off](lifecycle.md#the-vm-is-off).',
      protects: 'new Pods on a machine that is off',
    }),
    outOfServiceAfter: row(durationOrOff('1s'), {
      default: 'off',
      meaning:
        '`off`, or how long a VM is off before its Node is [put out of service](lifecycle.md#the-vm-is-off): Pods are killed, volumes detached by force. Below 1m draws a warning.',
      protects: '`off`: two writers to one volume; a time: StatefulSet Pods that wait',
      warn: (time) => (time !== undefined && time < MINUTE ? SOONER_THAN_RESTART : undefined),
    }),
    outOfServiceControlPlane: row(flag, {
      default: 'false',
      meaning: 'The same for control-plane Nodes.',
      protects: 'an etcd member forced out during a repair',
      warn: (on, { outOfServiceAfter }) =>
        on && outOfServiceAfter === undefined ? IDLE_CONTROL_PLANE : undefined,
    }),
  },
}

/** In YAML `on` and `off` are `true` and `false`; quoted they mean the same here. */
function parseDeletion(written: string): Result<LifecycleConfig['deletion']> {
  const parsed = parseFlag(written)
  if (parsed.ok) return ok(parsed.value ? 'on' : 'off')
  return parseChoice(written, ['on', 'dry-run', 'off'])
}

const SOONER_THAN_VCENTER =
  'is under 30s: a vCenter that restarts or loads its inventory shows VMs as gone for longer than that; set 4m or more outside tests'
const SOONER_THAN_AGENTS =
  'is under 4m, the time between two reports of an agent with nothing new to say and a retry: the agent of a running machine may not have reported yet; set 4m or more'
const YOUNG_LEADER =
  'of 0 lets a replica delete Nodes as soon as it leads, while the previous leader may still be writing: set 30s or more'
const NO_BRAKE =
  'of 100% lets every Node of a vCenter be deleted if all its VMs are missing at once, as after an old backup was restored: set 50% or less'
const SOONER_THAN_RESTART =
  'is under 1m: a VM that is only being restarted has its Pods killed and its volumes detached; set 1m or more'
const IDLE_CONTROL_PLANE =
  'has no effect while outOfServiceAfter is off: set outOfServiceAfter, or remove this setting'
