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
      meaning:
        '`on`; `dry-run`: everything except the deletion itself, which the condition then announces; `off`: deleting Nodes is left to people. `true` is `on`, `false` is `off`, quoted or not.',
      protects: 'Nodes without a machine, whose Pods are not restarted elsewhere',
    }),
    unbound: row(choice(['report', 'delete']), {
      default: 'report',
      meaning:
        'What happens to a Node whose machine no vCenter has shown since Rollcall has known the Node: [never verified](lifecycle.md#which-machines-must-be-gone). `report`: it is kept, and its condition says how to let it be deleted; `delete`: it is deleted like any other, but after six times `absentFor`.',
      protects:
        'with `report`: a VM that is inaccessible or now has another UUID, which a search by UUID does not find; with `delete`: Nodes that stay for ever',
    }),
    confirmations: row(integer(1, 100), {
      default: '3',
      meaning:
        '1 to 100: how many proofs of absence in a row are needed, each from all vCenters. Any other answer in between restarts the count.',
      protects: 'a single wrong answer',
    }),
    absentFor: row(duration('1s'), {
      default: '4m',
      meaning:
        "The least time between the first and the last proof. At least 1s; less than 4m draws a warning. Kubernetes' own end-to-end test expects the Node to be gone within five minutes of its machine.",
      protects:
        'a vCenter that restarts or still loads its inventory, a VM that is unregistered and registered again, and a machine that is still running, whose agent reports at least every 3½ minutes',
      warn: (time) =>
        time < 30 * SECOND ? SOONER_THAN_VCENTER : time < 4 * MINUTE ? SOONER_THAN_AGENTS : undefined,
    }),
    leaderAge: row(duration('0s'), {
      default: '2m',
      meaning:
        'How long a replica must have led before it deletes a Node or taints one as out of service. 0 draws a warning.',
      protects: 'a change of leaders, when the new one knows nothing yet and the old one may still write',
      warn: (time) => (time === 0 ? YOUNG_LEADER : undefined),
    }),
    deletionsPerMinute: row(integer(1, 1_000), {
      default: '10',
      meaning: '1 to 1000: how many Nodes of one vCenter may be deleted in any minute.',
      protects: 'a mistake that has passed every other check: there is time to notice it and to stop it',
    }),
    maxAbsentShare: row(share, {
      default: '20%',
      meaning:
        "0% to 100% (or a fraction, `0.2`): if the VMs of more than this share of one vCenter's Nodes vanish at once, [the brake](lifecycle.md#the-brake) engages: none of that vCenter's Nodes is deleted until only a few are missing or a person releases it. 100% draws a warning.",
      protects: 'a vCenter restored from an old backup, or one that has lost part of its inventory',
      warn: (share) => (share === 1 ? NO_BRAKE : undefined),
    }),
    maxAbsentMinimum: row(integer(0, 100_000), {
      default: '1',
      meaning:
        'How many VMs may vanish at once without ever engaging the brake. With 0, and a share of 0%, a person must confirm each deletion.',
      protects: 'a brake that engages too easily in a small cluster, where one VM is a large share',
    }),
    waitForVolumes: row(durationOrOff('1s'), {
      default: '5m',
      meaning:
        "`off`, or how long a deletion waits at most for the Node's VolumeAttachments to be deleted, once nothing else keeps the Node: [volumes](lifecycle.md#volumes).",
      protects:
        'a volume that stays attached to a VM whose Node no longer exists, and Pods that wait six minutes or for ever for that volume',
    }),
    shutdownTaint: row(flag, {
      default: 'true',
      meaning:
        '`true` or `false`: whether a Node gets the taint `node.cloudprovider.kubernetes.io/shutdown:NoSchedule` while its VM is off, and loses it when the VM runs.',
      protects: 'new Pods, which would wait on a machine that is off',
    }),
    outOfServiceAfter: row(durationOrOff('1s'), {
      default: 'off',
      meaning:
        '`off`, or how long a VM must have been off before its Node gets the taint `node.kubernetes.io/out-of-service:NoExecute`: Pods are killed and volumes detached by force. At least 1s; less than 1m draws a warning. The taint is removed when the VM runs.',
      protects:
        'with `off`: two writers to one volume, should the VM start meanwhile; with a time: Pods of StatefulSets that wait for ever',
      warn: (time) => (time !== undefined && time < MINUTE ? SOONER_THAN_RESTART : undefined),
    }),
    outOfServiceControlPlane: row(flag, {
      default: 'false',
      meaning: '`true` or `false`: whether that applies to control-plane Nodes too.',
      protects: 'an etcd member that is forced out while somebody is repairing it',
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
