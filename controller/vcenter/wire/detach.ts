/**
 * A copy whose strings stand alone. What a parser cuts out of an answer keeps the whole answer in memory for as long as
 * the piece lives: 60 MB instead of 2 for a thousand VMs.
 */
export function detach<T>(facts: T): T {
  return structuredClone(facts)
}
