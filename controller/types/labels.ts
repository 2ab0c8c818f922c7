/**
 * The record of the labels that rules have given a Node: an annotation of the Node itself, with each label's value. It is written in
 * one patch with the labels, so the two cannot differ after a crash, and an admission policy sees it before and after each
 * write. A NodeReport's status has neither: it is another object.
 */

/** A policy keeps kubelets from writing it. */
export const ANNOTATION_LABELS = 'rollcall.dev/labels'

/** Characters. A longer text is not ours. */
export const MAX_RECORD = 4_096

/** Label values by key. The empty text stands for none: the label is Rollcall's to write, and has no value now. */
export type LabelRecord = ReadonlyMap<string, string>

/** Reads a record; empty where there is none. */
export function parseRecord(text: string | undefined): LabelRecord {
  if (text === undefined || text === '') return new Map()
  return new Map(
    text.split(',').map((entry) => {
      const [label = '', value = ''] = entry.split('=')
      return [label, value]
    }),
  )
}

/** Writes a record: `label=value`, with commas between, in the order of the labels. Undefined where it is empty. */
export function formatRecord(record: LabelRecord): string | undefined {
  const entries = Array.from(record, ([label, value]) => `${label}=${value}`)
  return entries.length === 0 ? undefined : entries.sort().join(',')
}

/** How long the record of these labels may become. */
export function recordSize(labels: Iterable<string>): number {
  let size = 0
  for (const label of labels) size += label.length + MAX_VALUE + 2
  return size
}

/** The longest value of a label. */
const MAX_VALUE = 63

/**
 * The nearest text that a label may have as its value: without accents, with "-" for each run of other characters. Undefined
 * where a letter or digit would be lost, since two names that differ in it would become one, and where none is left.
 */
export function nearestLabelValue(text: string): string | undefined {
  if (text !== '' && isLabelValue(text)) return text
  const plain = text.normalize('NFKD').replace(/\p{M}/gu, '')
  if (/[\p{L}\p{N}]/u.test(plain.replace(/[A-Za-z0-9]/g, ''))) return undefined
  // A value may neither begin nor end with "-", "_" or ".".
  const value = plain.replace(/[^A-Za-z0-9_.-]+/g, '-').replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '')
  return value === '' || value.length > MAX_VALUE ? undefined : value
}

/** A label's value (`k8s.io/apimachinery/pkg/util/validation`): empty, or at most 63 of these. */
export function isLabelValue(text: string): boolean {
  return text.length <= MAX_VALUE && /^([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?$/.test(text)
}
