/** What is kept of a run to judge it by. */
import type { Write } from '../model/api-server.ts'
import type { ControllerWatch } from '../model/controller.ts'

export interface Violation {
  readonly promise: string
  readonly what: string
}

/** What is remembered of a controller's work on one Node. */
export interface Work {
  /** When it last began to ask, and decided to delete; by the true time, and by its own monotonic clock. */
  asked?: { readonly at: number; readonly monotonic: number }
  decided?: { readonly at: number; readonly monotonic: number }
}

export interface Judge extends ControllerWatch {
  readonly violations: readonly Violation[]
  onWrite(write: Write): void
  violate(promise: string, what: string): void
  work(process: string, nodeName: string): Work
  /** Of the Nodes that were deleted: the vCenter and when. */
  readonly deletions: { readonly vCenter: string; readonly by: string; readonly at: number }[]
  /** Writes and questions about each Node since the last {@link Judge.count}. */
  readonly writes: Map<string, number>
  readonly questions: Map<string, number>
  count(): void
}
