import type { ConfigWatch } from '../config/watch.ts'
import type { Term } from '../kubernetes/leader-election.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { createInventories, type InventoriesOptions } from './inventories.ts'
import { createLeadership, type Leadership, type LeadOptions } from './lead.ts'

export interface LeadTermOptions
  extends Pick<LeadOptions, 'client' | 'tracker' | 'events' | 'clock' | 'random' | 'logger'> {
  readonly configuration: Pick<ConfigWatch, 'current'>
  /** Makes the inventory of one vCenter. */
  readonly openInventory: InventoriesOptions['open']
  readonly metrics: LeadOptions['metrics'] & Pick<Metrics, 'leading'>
  /** Told of the work that goes on now, and of its end. */
  readonly onWork: (leadership: Leadership | undefined) => void
}

/**
 * Leads until the signal aborts, by the configuration in force: when another takes its place, the work ends and begins
 * anew, within the term. Writes that are under way are finished before, so that there is one writer; those vCenters
 * that nothing has changed about are followed throughout.
 */
export async function leadTerm(options: LeadTermOptions, term: Term, signal: AbortSignal): Promise<void> {
  const { configuration, metrics, onWork } = options
  const inventories = createInventories({ open: options.openInventory, signal })
  try {
    for (;;) {
      const { config, superseded } = configuration.current()
      inventories.adopt(config)
      metrics.leading(true)
      const leadership = createLeadership(
        {
          ...options,
          config,
          term,
          openInventory: inventories.take,
          onSynced: inventories.settle,
          writing: signal,
        },
        AbortSignal.any([signal, superseded]),
      )
      onWork(leadership)
      try {
        await leadership.run()
      } finally {
        onWork(undefined)
        // What was known of Nodes that go while nobody looks would stay for ever.
        metrics.leading(false)
      }
      if (signal.aborted || !superseded.aborted) return
    }
  } finally {
    await inventories.close()
  }
}
