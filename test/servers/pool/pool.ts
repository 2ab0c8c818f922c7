export interface PoolOptions<T> {
  make(): Promise<T>
  /** Makes it as new after a user; a failure discards it. */
  clean(one: T): Promise<void>
  /** Resolves with what is not as new, in words. */
  inspect(one: T): Promise<readonly string[]>
  end(one: T): Promise<void>
  /** Is told why one is discarded. */
  onDiscard(why: string): void
}

export interface Pool<T> extends AsyncDisposable {
  /** Lends one that is as new: a cleaned one, or one that is made for it. */
  take(): Promise<T>
  /** Takes one back from a user who is done with it. */
  giveBack(one: T): void
  /** Ends one whose user is gone without a word: something of the user's may still be at work in it. */
  discard(one: T, why: string): void
}

/** Lends things that are slow to make. Each is lent to one user at a time, and never with anything of the last one. */
export function createPool<T>({ make, clean, inspect, end, onDiscard }: PoolOptions<T>): Pool<T> {
  /** Those that are not lent, until each is clean; undefined where it could not be made so. */
  const free: Promise<T | undefined>[] = []
  const lent = new Set<T>()
  const ending: Promise<void>[] = []
  let closed = false

  function discard(one: T, why: string): void {
    onDiscard(why)
    ending.push(end(one))
  }

  /** False for one that was taken back already, by the pool's own end. */
  const takeBack = (one: T) => lent.delete(one)

  async function cleaned(one: T): Promise<T | undefined> {
    try {
      await clean(one)
      return one
    } catch (error) {
      discard(one, `it could not be cleaned: ${String(error)}`)
      return undefined
    }
  }

  async function asNew(one: T): Promise<boolean> {
    const found = await inspect(one).catch((error: unknown) => [String(error)])
    if (found.length === 0) return true
    discard(one, found.join(', '))
    return false
  }

  async function lend(one: T): Promise<T> {
    if (closed) {
      await end(one)
      throw new Error('the pool is closed')
    }
    lent.add(one)
    return one
  }

  return {
    async take() {
      for (let next = free.shift(); next !== undefined; next = free.shift()) {
        const one = await next
        if (one !== undefined && (await asNew(one))) return lend(one)
      }
      return lend(await make())
    },
    giveBack(one) {
      if (takeBack(one)) free.push(cleaned(one))
    },
    discard(one, why) {
      if (takeBack(one)) discard(one, why)
    },
    async [Symbol.asyncDispose]() {
      closed = true
      const unlent = await Promise.all(free.splice(0))
      const all = [...lent, ...unlent.filter((one) => one !== undefined)]
      lent.clear()
      await Promise.all([...all.map(end), ...ending])
    },
  }
}
