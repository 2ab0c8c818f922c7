import { setTimeout as sleep } from 'node:timers/promises'

/** Resolves when the condition holds; fails with what it is about when that takes too long. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  patience = 60_000,
): Promise<void> {
  const start = performance.now()
  while (!(await condition())) {
    if (performance.now() - start > patience) throw new Error(`gave up waiting until ${what}`)
    await sleep(10)
  }
}
