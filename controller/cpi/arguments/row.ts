/** The form of the table of flags: a row for each. Parser, help and docs come from it. */
import type { FlagKind } from './kinds.ts'

/** How a flag is treated: one sentence for the help, the docs and the log. */
export type Support =
  /** It does what it does in the CPI, or what the sentence says. */
  | { readonly is: 'supported'; readonly how: string }
  /** It has no effect, for this reason. The log says so, as a warning where somebody may rely on the flag. */
  | { readonly is: 'accepted'; readonly because: string; readonly warns?: true }
  /** The start fails, with this as the next step. */
  | { readonly is: 'refused'; readonly because: string }

export interface FlagRow<T> {
  readonly kind: FlagKind<T>
  /** One letter, for `-v 2`. */
  readonly shorthand?: string
  /** The CPI's default, as pflag writes it. */
  readonly default: string
  /** Another value that describes what Rollcall does anyway. */
  readonly here?: string
  readonly support: Support
  /** Rollcall's own; the CPI does not know it. */
  readonly own?: true
}

export function supported<T>(kind: FlagKind<T>, standard: string, how: string): FlagRow<T> {
  return { kind, default: standard, support: { is: 'supported', how } }
}

export function accepted<T>(kind: FlagKind<T>, standard: string, because: string, here?: string): FlagRow<T> {
  return {
    kind,
    default: standard,
    ...(here === undefined ? {} : { here }),
    support: { is: 'accepted', because },
  }
}

/** Accepted, with a warning: somebody may rely on an effect that it does not have. */
export function acceptedWithWarning<T>(kind: FlagKind<T>, standard: string, because: string): FlagRow<T> {
  return { kind, default: standard, support: { is: 'accepted', because, warns: true } }
}

export function refused<T>(kind: FlagKind<T>, standard: string, because: string): FlagRow<T> {
  return { kind, default: standard, support: { is: 'refused', because } }
}
