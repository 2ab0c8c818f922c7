/** A value that was right, or one sentence about what is wrong with it. */
export type Result<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly message: string }
