/** Most values of one label; further values count as `other`. */
const MAX_VALUES = 64

/**
 * Limits the values of a label that come from another program: a value passes if it looks like a name, up to a number of
 * them; everything else becomes `other`. Time series stay forever.
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
