import type { Clock } from '../clock.ts'
import type { Inventory } from '../facts/vcenter-view.ts'
import type { Logger } from '../log.ts'
import type { Outcome } from '../watch/queue.ts'
import type { Inquiries } from './inquiries.ts'

export interface AskerOptions {
  readonly inquiries: Pick<Inquiries, 'question' | 'answer'>
  readonly inventories: readonly Pick<Inventory, 'probe'>[]
  /** VolumeAttachments that name this Node. */
  readonly volumesAttachedTo: (nodeName: string, signal: AbortSignal) => Promise<number>
  /** Told when there is an answer to look at. */
  readonly onAnswer: (name: string) => void
  readonly clock: Clock
  readonly logger: Logger
}

/** Puts what is asked about one Node's VM to every vCenter, and to the API server. Never throws for what they answer. */
export function createAsker(options: AskerOptions, signal: AbortSignal): (name: string) => Promise<Outcome> {
  const { inquiries, inventories, clock } = options

  async function attachments(name: string): Promise<number | undefined> {
    try {
      return await options.volumesAttachedTo(name, signal)
    } catch (error) {
      if (!signal.aborted)
        options.logger.warn({ node: name, err: error }, 'VolumeAttachments cannot be counted')
      return undefined
    }
  }

  return async (name) => {
    const question = inquiries.question(name)
    if (question === undefined) return 'done'
    // The answers may come late; they are as old as the question.
    const at = clock.monotonic()
    const [volumes, ...probes] = await Promise.all([
      question.volumes ? attachments(name) : undefined,
      ...inventories.map((inventory) => inventory.probe(question.vm, signal)),
    ])
    if (signal.aborted) return 'done'
    inquiries.answer(name, question, { probes, attachments: volumes, at })
    options.onAnswer(name)
    return 'done'
  }
}
