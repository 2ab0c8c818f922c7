/** A fact of the machine, or why it could not be read and what to do about it. */
export type Fact<T> =
  | { readonly ok: true; readonly value: T }
  /** `reason` in CamelCase; `message` one sentence that never quotes what was read. */
  | { readonly ok: false; readonly reason: string; readonly message: string }

export function known<T>(value: T): Fact<T> {
  return { ok: true, value }
}

export function unreadable(reason: string, message: string): Fact<never> {
  return { ok: false, reason, message }
}
