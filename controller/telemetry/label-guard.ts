/** Values of one label that are told apart; the rest counts as one. */
const MAX_VALUES = 64

/**
 * Keeps a label to few values where they come from another program: a name that looks like one passes, up to a number
 * of them, everything else is `other`. Time series are for ever.
 */
export function createLabelGuard(): (value: string) => string {
  const seen = new Set<string>()
  return (value) => {
    if (seen.has(value)) return value
    if (seen.size >= MAX_VALUES || !/^[A-Za-z][A-Za-z0-9]{0,63}$/.test(value)) return 'other'
    seen.add(value)
    return value
  }
}
