import type { Clock } from '../../../../agent/shared/clock.ts'
import type { BoundVM } from '../../../../agent/shared/node-report.ts'
import type { Logger } from '../../../lib/log.ts'
import type { ReconcileResult } from '../../../lib/work-queue.ts'
import type { Inventory, VCenterProbe } from '../../../types/inventory.ts'
import type { Inhabitants } from '../decide/lifecycle/absence-proofs.ts'
import type { ProbeTracker } from './probe-tracker.ts'

/** Runs the probe request of one Node against every vCenter and the API server. Never throws because of their answers. */
export function createProbeWorker(options: {
  readonly tracker: Pick<ProbeTracker, 'request' | 'record'>
  readonly inventories: readonly Pick<Inventory, 'probe'>[]
  /** A text that changes each time this Node's kubelet renews its Lease. */
  readonly heartbeatOf: (nodeName: string, signal: AbortSignal) => Promise<string>
  /** VolumeAttachments that name this Node. */
  readonly volumesAttachedTo: (nodeName: string, signal: AbortSignal) => Promise<number>
  readonly inhabitantsOf: (
    of: Pick<VCenterProbe, 'vCenter' | 'vCenterInstanceUUID'>,
    except: string,
  ) => Inhabitants | undefined
  /** Called when there is a new result. */
  readonly onResult: (name: string) => void
  readonly clock: Clock
  readonly logger: Logger
}): (name: string, signal: AbortSignal) => Promise<ReconcileResult> {
  const { tracker, inventories, heartbeatOf, volumesAttachedTo, clock } = options

  /** Undefined where it cannot be read. */
  async function read<T>(
    name: string,
    what: string,
    ask: (name: string, signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    try {
      return await ask(name, signal)
    } catch (error) {
      if (!signal.aborted) options.logger.warn({ node: name, err: error }, `${what} cannot be read`)
      return undefined
    }
  }

  return async (name, signal) => {
    const request = tracker.request(name)
    if (request === undefined) return 'done'
    const askedAt = clock.monotonic()
    const probe = async (vm: BoundVM) =>
      Promise.all(inventories.map((inventory) => inventory.probe(vm, signal)))
    const [heartbeat, attachments, probes, others] = await Promise.all([
      read(name, 'the Lease of the kubelet', heartbeatOf, signal),
      request.volumes ? read(name, 'VolumeAttachments', volumesAttachedTo, signal) : undefined,
      probe(request.vm),
      Promise.all(request.others.map(async (vm) => ({ vm, probes: await probe(vm) }))),
    ])
    if (signal.aborted) return 'done'
    const answeredAt = { monotonic: clock.monotonic(), now: clock.now() }
    const inhabited = new Map<string, Inhabitants>()
    for (const each of probes) {
      const { vCenterInstanceUUID } = each
      const inhabitants = options.inhabitantsOf(each, name)
      if (vCenterInstanceUUID !== undefined && inhabitants !== undefined)
        inhabited.set(vCenterInstanceUUID, inhabitants)
    }
    tracker.record(name, request, {
      probes,
      others,
      inhabited,
      heartbeat,
      attachments,
      askedAt,
      answeredAt,
    })
    options.onResult(name)
    return 'done'
  }
}
