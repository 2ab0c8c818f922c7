import type { ConfigWatch } from '../config/watch.ts'
import type { Term } from '../kubernetes/leader-election.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { createInventoryReuse, type OpenInventory } from './inventory-reuse.ts'
import { createLeaderWork, type LeaderWork, type LeaderWorkOptions } from './leader-work.ts'

export interface LeadTermOptions
  extends Pick<LeaderWorkOptions, 'client' | 'lease' | 'tracker' | 'events' | 'clock' | 'random' | 'logger'> {
  readonly configuration: Pick<ConfigWatch, 'current'>
  /** Opens the inventory of one vCenter. */
  readonly openInventory: OpenInventory
  readonly metrics: LeaderWorkOptions['metrics'] & Pick<Metrics, 'leading'>
  /** Called with the leader's work when it starts, and with undefined when it ends. */
  readonly onWork: (work: LeaderWork | undefined) => void
}

/**
 * Leads until the signal aborts. When the configuration changes, the work is ended and started again within the same term.
 * Writes under way are finished first, so that there is never more than one writer. VCenters whose settings did not change
 * are followed throughout.
 */
export async function leadTerm(options: LeadTermOptions, term: Term, signal: AbortSignal): Promise<void> {
  const { configuration, metrics, onWork } = options
  const inventories = createInventoryReuse(options.openInventory, signal)
  try {
    for (;;) {
      const { config, superseded } = configuration.current()
      inventories.adopt(config)
      metrics.leading(true)
      const work = createLeaderWork({
        ...options,
        config,
        term,
        openInventory: inventories.take,
        onSynced: inventories.settle,
        writing: signal,
      })
      onWork(work)
      try {
        await work.run(AbortSignal.any([signal, superseded]))
      } finally {
        onWork(undefined)
        // Otherwise the metrics of Nodes that are deleted meanwhile would stay for ever.
        metrics.leading(false)
      }
      if (signal.aborted || !superseded.aborted) return
    }
  } finally {
    await inventories.close()
  }
}
