/** What is kept of thousands of objects, in as little memory as it takes. */

/** How many texts are remembered at most; then all are forgotten. What many objects share is soon learned again. */
const MOST = 2_000
/** Characters of a text that is remembered. */
const LONGEST = 200

const texts = new Map<string, string>()
/** All empty lists: a VM and its Node have a dozen. */
const NONE: readonly unknown[] = Object.freeze([])

/**
 * A copy of plain data that takes little memory for as long as it is kept. No text is part of a longer one: what a parser
 * cuts out of an answer keeps the whole answer, 60 MB instead of 2 for a thousand VMs. Of equal texts there is one, as far as
 * they come soon after each other. Lists have no room to grow: a list that was made item by item has room for 17. Empty
 * ones are one and the same.
 */
export function compact<T>(facts: T): T
export function compact(facts: unknown): unknown {
  if (typeof facts === 'string') return textOf(facts)
  if (typeof facts !== 'object' || facts === null) return facts
  if (Array.isArray(facts)) return facts.length === 0 ? NONE : facts.map(compact)
  // An instance of a class stays as it is: the copy of a Map, such as the keys of a Secret, would be empty.
  if (Object.getPrototypeOf(facts) !== Object.prototype) return facts
  const copy: Record<string, unknown> = { ...facts }
  for (const key of Object.keys(copy)) copy[key] = compact(copy[key])
  return copy
}

function textOf(text: string): string {
  if (text.length > LONGEST) return copyOf(text)
  const known = texts.get(text)
  if (known !== undefined) return known
  if (texts.size >= MOST) texts.clear()
  const copy = copyOf(text)
  texts.set(copy, copy)
  return copy
}

/** By way of UTF-16, which also preserves unpaired surrogates. */
function copyOf(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le')
}
