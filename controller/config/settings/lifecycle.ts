import { ok, type Result } from '../../../agent/shared/result.ts'
import type { LifecycleConfig } from '../config.ts'
import { parseChoice, parseFlag } from '../values.ts'
import { row, type SectionTable } from './row.ts'
import { choice, duration, durationOrOff, flag, integer, share, textOf } from './value-types.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

export const LIFECYCLE: SectionTable<LifecycleConfig> = {
  others: {},
  rows: {
    deletion: row(textOf(parseDeletion, 'on', { enum: ['on', 'dry-run', 'off', true, false, null] }), {
      default: 'on',
      meaning:
        '`on`; `dry-run`: everything but the deletion itself, which the condition then says would happen; `off`: Nodes are left to a person. `true` is `on`, `false` is `off`, quoted or not.',
      protects: 'Nodes without a machine, whose Pods are not started elsewhere',
    }),
    unbound: row(choice(['report', 'delete']), {
      default: 'report',
      meaning:
        'What becomes of a Node that names a machine which no vCenter has shown since Rollcall knows the Node: one that another provider initialised and that never had an agent, or whose NodeReport was deleted. `report`: kept, and said how to let it go; `delete`: deleted like any other, but `absentFor` is taken six times. Rollcall then makes a NodeReport for each such Node, and remembers the VM as soon as it is seen.',
      protects:
        'with `report`: a VM that is inaccessible or has another UUID by now, which a search by UUID alone does not find; with `delete`: Nodes that stay for ever',
    }),
    confirmations: row(integer(1, 100), {
      default: '3',
      meaning:
        '1 to 100: so many proofs of absence in a row, each from all vCenters; another answer in between, and counting begins anew.',
      protects: 'an answer that was an accident',
    }),
    absentFor: row(duration('1s'), {
      default: '5m',
      meaning:
        'The first and the last proof are at least so far apart. At least 1s; under 5m it draws a warning.',
      protects:
        'a vCenter that restarts or still loads its inventory, a VM that is unregistered and registered again, and a machine that is alive, whose agent reports at least every 5 minutes',
      warn: (time) =>
        time < 30 * SECOND ? SOONER_THAN_VCENTER : time < 5 * MINUTE ? SOONER_THAN_AGENTS : undefined,
    }),
    leaderAge: row(duration('0s'), {
      default: '2m',
      meaning:
        'A replica must have led for so long before it deletes or calls out of service. 0 draws a warning.',
      protects: 'a change of leaders, when one knows nothing yet and another may still write',
      warn: (time) => (time === 0 ? YOUNG_LEADER : undefined),
    }),
    deletionsPerMinute: row(integer(1, 1_000), {
      default: '10',
      meaning: '1 to 1000: Nodes of one vCenter that are deleted in any minute.',
      protects: 'a mistake that has passed everything else: there is time to see it and to stop it',
    }),
    maxAbsentShare: row(share, {
      default: '20%',
      meaning:
        "0% to 100% (or a fraction, `0.2`): where the VMs of more than this share of one vCenter's Nodes vanish at once (each within a minute of the next, or within a fifth of `absentFor` if that is less, and within 5s at least), the brake engages: none of that vCenter's Nodes is deleted until few are missing or a person says so: [the brake](lifecycle.md#the-brake). 100% draws a warning.",
      protects: 'a vCenter restored from an old backup, or one that has lost a part of its inventory',
      warn: (share) => (share === 1 ? NO_BRAKE : undefined),
    }),
    maxAbsentMinimum: row(integer(0, 100_000), {
      default: '1',
      meaning:
        'So many VMs that vanish at once never engage the brake; with 0, and a share of 0%, a person confirms each deletion.',
      protects: 'a brake in a small cluster, where one VM is a large share',
    }),
    waitForVolumes: row(durationOrOff('1s'), {
      default: '5m',
      meaning:
        "`off`, or for how long at most a deletion waits for the Node's VolumeAttachments to go. Where there are any, and nothing else keeps the Node, it gets `node.kubernetes.io/out-of-service:NoExecute`, control-plane Nodes too, and the time counts from then on. Without volumes nothing is waited for.",
      protects:
        'a volume that stays attached to a VM whose Node is no longer there to be asked, and Pods that wait six minutes or for ever for it',
    }),
    shutdownTaint: row(flag, {
      default: 'true',
      meaning:
        '`true` or `false`: whether a Node gets `node.cloudprovider.kubernetes.io/shutdown:NoSchedule` while its VM is off, and loses it when the VM runs.',
      protects: 'new Pods, which would wait on a machine that is off',
    }),
    outOfServiceAfter: row(durationOrOff('1s'), {
      default: 'off',
      meaning:
        '`off`, or how long a VM must have been off before its Node gets `node.kubernetes.io/out-of-service:NoExecute`: Pods are killed and volumes detached by force. At least 1s; under 1m it draws a warning. The taint goes when the VM runs.',
      protects:
        'off: two writers to one volume, should the VM start meanwhile; with a time: Pods of stateful sets that wait for ever',
      warn: (time) => (time !== undefined && time < MINUTE ? SOONER_THAN_RESTART : undefined),
    }),
    outOfServiceControlPlane: row(flag, {
      default: 'false',
      meaning: '`true` or `false`: whether that goes for control-plane Nodes too.',
      protects: 'an etcd member that is forced out while somebody repairs it',
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
  'is under 30s: a vCenter that restarts or loads its inventory shows VMs as gone for longer than that; set 5m or more outside tests'
const SOONER_THAN_AGENTS =
  'is under 5m, the time between two reports of an agent with nothing new to say: that of a machine that lives may not have spoken yet; set 5m or more'
const YOUNG_LEADER =
  'of 0 lets a replica delete Nodes as soon as it leads, while the one before it may still be writing: set 30s or more'
const NO_BRAKE =
  'of 100% lets every Node of a vCenter be deleted where all its VMs are missing at once, as after the restore of an old backup: set 50% or less'
const SOONER_THAN_RESTART =
  'is under 1m: a VM that is only being restarted has its Pods killed and its volumes detached; set 1m or more'
const IDLE_CONTROL_PLANE =
  'has no effect while outOfServiceAfter is off: set outOfServiceAfter, or remove this one'
