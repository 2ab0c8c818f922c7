/**
 * A copy with independent strings. A string that a parser cuts out of an answer keeps the whole answer in memory: 60 MB
 * instead of 2 for a thousand VMs.
 */
export function detach<T>(facts: T): T {
  return structuredClone(facts)
}
