/** What may be the value of a label. */

/**
 * The nearest text that a label may have as its value: without accents, with "-" for each run of other characters. Undefined
 * where a letter or digit would be lost, since two names that differ in it would become one.
 */
export function nearestLabelValue(text: string): string | undefined {
  if (isLabelValue(text)) return text
  const plain = text.normalize('NFKD').replace(/\p{M}/gu, '')
  if (/[\p{L}\p{N}]/u.test(plain.replace(/[A-Za-z0-9]/g, ''))) return undefined
  const value = trimmed(plain.replace(/[^A-Za-z0-9_.-]+/g, '-'))
  return value === '' || value.length > 63 ? undefined : value
}

/** Without what a label's value may neither begin nor end with. */
function trimmed(text: string): string {
  return text.replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '')
}

/** A label's value (`k8s.io/apimachinery/pkg/util/validation`): empty, or at most 63 of these. */
export function isLabelValue(text: string): boolean {
  return text.length <= 63 && /^([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?$/.test(text)
}
