/** Numbers that look random and are the same for the same seed. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number
  /** A whole number from 0 to `n` - 1. */
  below(n: number): number
  between(low: number, high: number): number
  chance(probability: number): boolean
  /** @throws RangeError for an empty list */
  pick<T>(list: readonly T[]): T
  uuid(): string
  /** A source of its own, by the seed and the key alone: what is drawn from one moves nothing in the other. */
  derive(key: string): Random
}

/** SplitMix32, by Guy Steele and others: one word of state, and good enough to pick faults by. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0

  function word(): number {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = state ^ (state >>> 16)
    mixed = Math.imul(mixed, 0x21f0aaad)
    mixed ^= mixed >>> 15
    mixed = Math.imul(mixed, 0x735a2d97)
    return (mixed ^ (mixed >>> 15)) >>> 0
  }

  const next = (): number => word() / 2 ** 32
  const hex = (): string => word().toString(16).padStart(8, '0')

  return {
    next,
    below: (n) => Math.floor(next() * n),
    between: (low, high) => low + next() * (high - low),
    chance: (probability) => next() < probability,
    pick(list) {
      const picked = list[Math.floor(next() * list.length)]
      if (picked === undefined) throw new RangeError('nothing to pick from')
      return picked
    },
    uuid() {
      const [a, b, c, d] = [hex(), hex(), hex(), hex()]
      return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-8${c.slice(1, 4)}-${c.slice(4)}${d}`
    },
    derive: (key) => createRandom(hash(seed, key)),
  }
}

/** FNV-1a, from the seed on. */
function hash(seed: number, key: string): number {
  let mixed = seed ^ 0x811c9dc5
  for (const character of key) mixed = Math.imul(mixed ^ (character.codePointAt(0) ?? 0), 0x01000193)
  return mixed >>> 0
}
