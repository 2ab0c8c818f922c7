/**
 * The leader's own troubles in an annotation of the replicas' Lease: whoever has a kubeconfig can read them there, also when no
 * Pod of the controller can be reached, and after the leader has died.
 */
import * as v from 'valibot'
import { printable } from '../../agent/shared/printable.ts'
import type { Annotations } from './lease.ts'

/** The key of the trouble that the leader's clock is off: times that it wrote are not to be computed with. */
export const CLOCK_TROUBLE = 'clock'

const ANNOTATION = 'rollcall.dev/leader-troubles'
/** Both are more than a leader ever has. */
const MAX_TROUBLES = 32
const MAX_MESSAGE = 1024
/** Bytes that we write at most: all annotations of an object together have room for 256 KiB. */
const MAX_BYTES = 32 * 1024
/** Characters; we write less. More comes from somebody else. */
const MAX_TEXT = 64 * 1024

const time = v.pipe(v.string(), v.isoTimestamp())
const TroubleRecord = v.object({
  /** The identity of the leader. */
  by: v.string(),
  /** When it was written, by the leader's clock. */
  at: time,
  troubles: v.pipe(
    v.array(
      v.object({
        key: v.string(),
        message: v.string(),
        since: time,
        /** The vCenter whose Nodes are not followed meanwhile; empty for all of them. */
        stops: v.exactOptional(v.string()),
      }),
    ),
    v.maxLength(MAX_TROUBLES),
  ),
})
const RecordText = v.pipe(v.string(), v.maxLength(MAX_TEXT), v.parseJson(), TroubleRecord)

export type TroubleRecord = v.InferOutput<typeof TroubleRecord>

/** Undefined where there is none in the form that we write. */
export function troublesIn(annotations: Annotations): TroubleRecord | undefined {
  const parsed = v.safeParse(RecordText, annotations[ANNOTATION])
  return parsed.success ? parsed.output : undefined
}

/** Where there is no room for all that is to be said, the messages become shorter, and then the last troubles are left out. */
export function withTroubles(annotations: Annotations, record: TroubleRecord): Annotations {
  let troubles = record.troubles.slice(0, MAX_TROUBLES)
  for (let longest = MAX_MESSAGE; ; longest /= 2) {
    if (longest < 128) troubles = troubles.slice(0, -1)
    const shortened = troubles.map((each) => ({
      ...each,
      message: printable(each.message, Math.max(longest, 128)),
    }))
    const text = JSON.stringify({ ...record, troubles: shortened })
    if (Buffer.byteLength(text) <= MAX_BYTES || troubles.length === 0)
      return { ...annotations, [ANNOTATION]: text }
  }
}
