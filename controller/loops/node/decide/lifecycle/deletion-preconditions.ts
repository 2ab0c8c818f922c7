import type { LifecycleConfig } from '../../../../config/config.ts'
import { duration } from '../../../../lib/format.ts'
import { ANNOTATION_DELETION, type Node } from '../../../../types/node.ts'
import { isUnseen, type NodeMachines } from '../../facts/machines.ts'
import { mayProceed } from '../../facts/removal.ts'
import type { DeletionFacts } from '../node-facts.ts'
import type { Precondition, Unmet, UnmetPrecondition } from './absence-proofs.ts'
import { waitForRate } from './brake.ts'
import { type Evidence, isFresh, lifeSignOf, type ProbeRequest } from './evidence.ts'
import { volumesAttached } from './out-of-service.ts'

const SIGN_OF_LIFE: Unmet = {
  reason: 'SignOfLife',
  message:
    'its agent or kubelet has reported since the VM went missing, so the count starts over; check whether the VM was unregistered, or moved to a vCenter that is not configured',
}

/**
 * What must hold before a Node is deleted, besides the proofs in each result; the most important to tell comes first. An
 * entry added here guards every deletion and shows in `DeletionPending`.
 */
export const PRECONDITIONS: readonly Precondition<DeletionFacts>[] = [
  {
    name: 'DeletionOn',
    holds: 'lifecycle.deletion is not off',
    unmet: ({ settings }) => turnedOff(settings),
  },
  { name: 'NotHeld', holds: 'no annotation keeps the Node', unmet: ({ node }) => heldBy(node) },
  {
    name: 'SeenOrWanted',
    holds: 'a vCenter has shown the VM before, or that is not required',
    unmet(facts) {
      const { vm, others } = facts.evidence.request
      return neverSeen({ machines: [vm, ...others], bound: facts.bound }, facts)
    },
  },
  {
    name: 'BrakeReleased',
    holds: 'not too many VMs of its vCenter vanished at once',
    unmet: ({ braked }) => braked,
  },
  {
    name: 'NodeNotReady',
    holds: 'the Node is not Ready',
    unmet: ({ node }) =>
      node.ready?.status === 'True'
        ? {
            reason: 'NodeReady',
            message:
              'the Node is Ready, so its machine runs somewhere; check whether its VM was unregistered, or moved to a vCenter that is not configured',
          }
        : undefined,
  },
  {
    name: 'NoLifeSign',
    holds: 'neither its agent has reported nor its kubelet updated Ready since then',
    fleeting: 'while Ready',
    unmet: ({ node, report, evidence }) =>
      lifeSignOf(node, report) === evidence.request.lifeSign ? undefined : SIGN_OF_LIFE,
  },
  {
    name: 'KubeletSilent',
    holds: 'its kubelet does not renew its Lease',
    fleeting: 'while Ready',
    unmet: ({ evidence }) => heartbeat(evidence),
  },
  {
    name: 'LeaderSettled',
    holds: 'the leader has led for long enough',
    unmet: ({ leadingFor, settings: { lifecycle } }) =>
      leadingFor < lifecycle.leaderAge
        ? {
            reason: 'LeaderTooYoung',
            message: `this controller must lead for ${duration(lifecycle.leaderAge)} first (lifecycle.leaderAge)`,
          }
        : undefined,
  },
  {
    name: 'Confirmed',
    holds: 'enough consecutive responses confirmed it, over enough time',
    unmet({ evidence: { absent, request }, settings: { lifecycle } }) {
      const { confirmations } = lifecycle
      const absentFor = absenceOf(request, lifecycle)
      if (absent === undefined) return { reason: 'NotConfirmed', message: 'it is not confirmed yet' }
      if (isConfirmed({ absent, request }, lifecycle)) return undefined
      return {
        reason: 'NotConfirmed',
        message: `${confirmations} such answers in a row over ${duration(absentFor)} are needed`,
      }
    },
  },
  {
    name: 'ConfirmedJustNow',
    holds: 'the last answer came just now',
    fleeting: 'always',
    unmet: ({ evidence, monotonic, now }) =>
      !isFresh(evidence, { monotonic, now })
        ? { reason: 'NotConfirmed', message: 'vCenter is asked once more right before the deletion' }
        : undefined,
  },
  {
    // vCenter may push only part of a mass disappearance. Without this rule those Nodes would be deleted before the
    // others are known to be missing, and the brake can engage.
    name: 'OthersRead',
    holds: 'all other VMs of that vCenter have been read again since',
    unmet: ({ lookups }) =>
      lookups.some(({ lookup }) => lookup.state === 'answered' && lookup.othersUnread)
        ? {
            reason: 'NotConfirmed',
            message: 'all other VMs are read again first, in case they vanished too',
          }
        : undefined,
  },
  {
    name: 'VolumesDetached',
    holds: 'no volume is attached to the Node, or the wait for them is over',
    unmet: volumesAttached,
  },
  {
    name: 'NotRefused',
    holds: 'the API server has not refused the deletion lately',
    unmet: ({ deletionRefused: refused }) =>
      refused === undefined
        ? undefined
        : {
            reason: 'DeletionRefused',
            message: `the API server refuses the deletion, which is retried every few minutes: ${refused}; look for an admission webhook or policy, or a missing right of rollcall-controller, or delete the Node by hand`,
          },
  },
  {
    name: 'RateAllows',
    holds: 'not too many Nodes were deleted in the last minute',
    unmet: ({ fleet, settings: { lifecycle } }) =>
      waitForRate(fleet, lifecycle) > 0
        ? {
            reason: 'RateLimited',
            message: `lifecycle.deletionsPerMinute is ${lifecycle.deletionsPerMinute}, and that many Nodes were deleted within the last minute`,
          }
        : undefined,
  },
  {
    name: 'NotDryRun',
    holds: 'lifecycle.deletion is not dry-run',
    unmet: ({ settings: { lifecycle } }) =>
      lifecycle.deletion === 'dry-run'
        ? {
            reason: 'DryRun',
            message: 'lifecycle.deletion is dry-run; with on, this Node would be deleted now',
          }
        : undefined,
  },
  {
    // What the inventory shows now counts, not what has been reconciled: the Nodes of VMs that just vanished may still
    // wait in the work queue.
    name: 'OthersCounted',
    holds: 'each Node whose VM is missing has been counted',
    costly: true,
    unmet({ uncounted }) {
      const name = uncounted()
      return name === undefined
        ? undefined
        : { reason: 'NotConfirmed', message: `the VM of Node ${name} is missing too, and is checked first` }
    },
  },
]

/**
 * How many times longer a machine must be absent if no vCenter has ever shown it for its Node. Without a moref to read it
 * cannot be told from an inaccessible VM, so it must stay absent for longer than a datastore outage: 24 minutes by
 * default.
 */
const UNSEEN_FACTOR = 6

/** For how long the machines of a request must be absent, milliseconds. */
export function absenceOf(
  { vm, others }: Pick<ProbeRequest, 'vm' | 'others'>,
  { absentFor }: Pick<LifecycleConfig, 'absentFor'>,
): number {
  return [vm, ...others].some(isUnseen) ? UNSEEN_FACTOR * absentFor : absentFor
}

function isConfirmed(
  { absent, request }: Pick<Evidence, 'absent' | 'request'>,
  lifecycle: Pick<LifecycleConfig, 'absentFor' | 'confirmations'>,
): boolean {
  if (absent === undefined) return false
  return (
    absent.times >= lifecycle.confirmations && absent.last - absent.since >= absenceOf(request, lifecycle)
  )
}

/** Whether some of the answers have come that a deletion takes, and not yet all. */
export function isPartlyConfirmed(
  evidence: Pick<Evidence, 'absent' | 'request'> | undefined,
  lifecycle: Pick<LifecycleConfig, 'absentFor' | 'confirmations'>,
): boolean {
  return evidence?.absent !== undefined && !isConfirmed(evidence, lifecycle)
}

/** The preconditions that do not hold; if there are none and the proofs are complete, the Node is deleted. */
export function unmetPreconditions(facts: DeletionFacts): readonly UnmetPrecondition[] {
  let kept = false
  return PRECONDITIONS.flatMap(({ name, costly, unmet }) => {
    const found = costly && kept ? undefined : unmet(facts)
    kept ||= found !== undefined && name !== 'VolumesDetached'
    return found === undefined ? [] : [{ name, ...found }]
  })
}

/** The unmet preconditions that are listed: the status is not written each time that a fleeting one comes or goes. */
export function withoutFleeting(unmet: readonly UnmetPrecondition[]): readonly UnmetPrecondition[] {
  const names = unmet.map(({ name }) => name)
  return unmet.filter(({ name }) => isListed(name, names))
}

function isListed(name: string, unmet: readonly string[]): boolean {
  const fleeting = PRECONDITIONS.find((each) => each.name === name)?.fleeting
  if (fleeting === undefined || unmet.every((each) => each === name)) return true
  return fleeting === 'while Ready' && !unmet.includes('NodeNotReady')
}

/**
 * Whether a proof or a precondition holds, by the list in the report's status; undefined where the list does not say: it
 * would not be listed beside those that are, or was not tried.
 */
export function holdsByList(
  list: readonly string[],
  { name, costly }: Pick<Precondition<never>, 'name' | 'costly'>,
): boolean | undefined {
  if (list.includes(name)) return false
  const others = PRECONDITIONS.map((each) => each.name).filter((each) => list.includes(each))
  if (costly && others.length > 0) return undefined
  return isListed(name, [...others, name]) ? true : undefined
}

/** Why a Node is kept whatever a search will show; undefined where proof that its machines are gone would end that. */
export function keptRegardless(
  machines: NodeMachines,
  facts: Pick<DeletionFacts, 'node' | 'goesUnseen' | 'settings'>,
): Unmet | undefined {
  return turnedOff(facts.settings) ?? heldBy(facts.node) ?? neverSeen(machines, facts)
}

function turnedOff({ lifecycle }: DeletionFacts['settings']): Unmet | undefined {
  if (lifecycle.deletion !== 'off') return undefined
  return {
    reason: 'DeletionOff',
    message: 'lifecycle.deletion is off; delete the Node by hand, or set it to on',
  }
}

/** Why an annotation keeps the Node; undefined where none does. */
export function heldBy(node: Node): Unmet | undefined {
  const { name, deletionAnnotation } = node
  if (deletionAnnotation === undefined || mayProceed(node)) return undefined
  const takeOff = `to allow its deletion: kubectl annotate node ${name} ${ANNOTATION_DELETION}-`
  const message =
    deletionAnnotation === 'hold'
      ? `the annotation ${ANNOTATION_DELETION}=hold keeps it; ${takeOff}`
      : `the annotation ${ANNOTATION_DELETION} is neither hold nor proceed (${deletionAnnotation.length} characters) and counts as hold; ${takeOff}`
  return { reason: 'DeletionHeld', message }
}

/**
 * Why a Node is kept however many searches do not find its machines; undefined where that does not keep it. A machine known
 * only by its UUID may be inaccessible, or somewhere that the account may not read.
 */
function neverSeen(
  { machines, bound }: NodeMachines,
  { node, goesUnseen }: Pick<DeletionFacts, 'node' | 'goesUnseen'>,
): Unmet | undefined {
  const unseen = machines.find(isUnseen)
  if (unseen === undefined || goesUnseen) return undefined
  return {
    reason: 'NotBound',
    message: `no vCenter has ever shown the machine with BIOS UUID ${unseen.biosUUID} that the Node names, so only that UUID could prove it gone; if it is gone: kubectl delete node ${node.name}${bound ? '' : ', or set lifecycle.unbound to delete'}`,
  }
}

function heartbeat({ heartbeat, beats }: Evidence): Unmet | undefined {
  if (beats) return SIGN_OF_LIFE
  if (heartbeat !== undefined) return undefined
  return {
    reason: 'HeartbeatUnknown',
    message:
      "its kubelet's Lease in kube-node-lease cannot be read, so nobody knows whether the kubelet is alive; check the RBAC of rollcall-controller",
  }
}
