/** The form of the table of flags: a row for each. Parser, help and docs come from it. */
import type { FlagKind } from './kinds.ts'

/** What becomes of a flag: one sentence for the help, the docs and the log. */
export type Fate =
  /** It does here what it does there, or what is said. */
  | { readonly is: 'served'; readonly how: string }
  /** It has no effect, for this reason; whoever gives it is told, as a warning where they may miss something. */
  | { readonly is: 'accepted'; readonly because: string; readonly loud?: true }
  /** The start fails, with this as the next step. */
  | { readonly is: 'refused'; readonly because: string }

export interface FlagRow<T> {
  readonly kind: FlagKind<T>
  /** One letter, for `-v 2`. */
  readonly shorthand?: string
  /** Where nothing is given, in the CPI; as pflag writes it. */
  readonly default: string
  /** Another value that says what is so here anyway. */
  readonly here?: string
  readonly fate: Fate
  /** Rollcall's own; the CPI does not know it. */
  readonly own?: true
}

export function served<T>(kind: FlagKind<T>, standard: string, how: string): FlagRow<T> {
  return { kind, default: standard, fate: { is: 'served', how } }
}

export function accepted<T>(kind: FlagKind<T>, standard: string, because: string, here?: string): FlagRow<T> {
  return {
    kind,
    default: standard,
    ...(here === undefined ? {} : { here }),
    fate: { is: 'accepted', because },
  }
}

/** Accepted, but whoever gives it may expect something that does not happen. */
export function acceptedWithWarning<T>(kind: FlagKind<T>, standard: string, because: string): FlagRow<T> {
  return { kind, default: standard, fate: { is: 'accepted', because, loud: true } }
}

export function refused<T>(kind: FlagKind<T>, standard: string, because: string): FlagRow<T> {
  return { kind, default: standard, fate: { is: 'refused', because } }
}
