/** Signals that abort with the first of several. */

const sources = new WeakMap<AbortSignal, readonly AbortSignal[]>()

/**
 * `AbortSignal.any` without its defect: from Node.js 24.16 on a signal that nobody listens to looks at those it depends on only
 * when it is read, and forgets that one has aborted once that one is collected (nodejs/node#65995). Here it keeps them.
 */
export function anySignal(signals: readonly AbortSignal[]): AbortSignal {
  // oxlint-disable-next-line no-restricted-properties -- the one place that mends it
  const either = AbortSignal.any([...signals])
  sources.set(either, signals)
  return either
}
