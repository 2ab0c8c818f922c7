import type { BoundVM } from '../../agent/contract.ts'
import type { Clock } from '../clock.ts'
import type { Inventory } from '../facts/vcenter-view.ts'
import type { Logger } from '../log.ts'
import type { Outcome } from '../watch/queue.ts'
import type { IsInhabited } from './inhabited.ts'
import type { Inquiries } from './inquiries.ts'

export interface AskerOptions {
  readonly inquiries: Pick<Inquiries, 'question' | 'answer'>
  readonly inventories: readonly Pick<Inventory, 'probe'>[]
  /** Another text after each renewal of the Lease of this Node's kubelet. */
  readonly heartbeatOf: (nodeName: string, signal: AbortSignal) => Promise<string>
  /** VolumeAttachments that name this Node. */
  readonly volumesAttachedTo: (nodeName: string, signal: AbortSignal) => Promise<number>
  readonly isInhabited: IsInhabited
  /** Told when there is an answer to look at. */
  readonly onAnswer: (name: string) => void
  readonly clock: Clock
  readonly logger: Logger
}

/** Puts what is asked about one Node's VM to every vCenter, and to the API server. Never throws for what they answer. */
export function createAsker(options: AskerOptions, signal: AbortSignal): (name: string) => Promise<Outcome> {
  const { inquiries, inventories, heartbeatOf, volumesAttachedTo, clock } = options

  /** What cannot be read is unknown. */
  async function read<T>(
    name: string,
    what: string,
    ask: (name: string, signal: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    try {
      return await ask(name, signal)
    } catch (error) {
      if (!signal.aborted) options.logger.warn({ node: name, err: error }, `${what} cannot be read`)
      return undefined
    }
  }

  return async (name) => {
    const question = inquiries.question(name)
    if (question === undefined) return 'done'
    const askedAt = clock.monotonic()
    const probe = async (vm: BoundVM) =>
      Promise.all(inventories.map((inventory) => inventory.probe(vm, signal)))
    const [heartbeat, attachments, probes, others] = await Promise.all([
      read(name, 'the Lease of the kubelet', heartbeatOf),
      question.volumes ? read(name, 'VolumeAttachments', volumesAttachedTo) : undefined,
      probe(question.vm),
      Promise.all(question.others.map(async (vm) => ({ vm, probes: await probe(vm) }))),
    ])
    if (signal.aborted) return 'done'
    const answeredAt = { monotonic: clock.monotonic(), now: clock.now() }
    const inhabited = new Set(
      probes.flatMap((probe) => (options.isInhabited(probe, name) ? (probe.vCenterInstanceUUID ?? []) : [])),
    )
    inquiries.answer(name, question, {
      probes,
      others,
      inhabited,
      heartbeat,
      attachments,
      askedAt,
      answeredAt,
    })
    options.onAnswer(name)
    return 'done'
  }
}
