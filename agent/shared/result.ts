/** A value, or why there is none: in one sentence, unless something else is said. */
export type Result<T, Failure extends object = { readonly message: string }> =
  | { readonly ok: true; readonly value: T }
  | (Failure & { readonly ok: false })

export function ok<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value }
}

export function failed(message: string): { readonly ok: false; readonly message: string } {
  return { ok: false, message }
}

/** What the work comes to, its error as a value. */
export async function attempt<T>(work: () => Promise<T>): Promise<Result<T, { readonly error: unknown }>> {
  try {
    return ok(await work())
  } catch (error) {
    return { ok: false, error }
  }
}

/** What was thrown, in its own words. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The code of an error of the system, such as ENOENT. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'an unknown error'
}
