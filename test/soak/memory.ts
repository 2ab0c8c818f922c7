import { readdir, readFile } from 'node:fs/promises'
import { percentile } from '../bench/percentile.ts'

/** What a process holds at one moment. */
export interface Sample {
  /** Milliseconds since the soak began. */
  readonly at: number
  /** Memory that belongs to no file (RssAnon), MB. */
  readonly anonymous: number
  readonly descriptors: number
  readonly threads: number
  /** Whether the process led. */
  readonly leads: boolean
}

/** Undefined for a process that is gone. */
export async function takeSample(pid: number, at: number, leads: boolean): Promise<Sample | undefined> {
  try {
    const status = await readFile(`/proc/${pid}/status`, 'utf8')
    const number = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1])
    const descriptors = (await readdir(`/proc/${pid}/fd`)).length
    return { at, anonymous: number('RssAnon') / 1024, descriptors, threads: number('Threads'), leads }
  } catch {
    // It has ended meanwhile.
    return undefined
  }
}

/** A stretch of time, milliseconds since the soak began. */
export interface TimeSpan {
  readonly from: number
  readonly to: number
}

/** The middle of what a process held within a span, while it led; garbage makes any single moment a matter of chance. */
export function middle(
  samples: readonly Sample[],
  { from, to }: TimeSpan,
): Omit<Sample, 'at' | 'leads'> | undefined {
  const within = samples.filter(({ at, leads }) => leads && at >= from && at < to)
  if (within.length === 0) return undefined
  const of = (what: 'anonymous' | 'descriptors' | 'threads') =>
    percentile(
      within.map((sample) => sample[what]),
      0.5,
    )
  return { anonymous: of('anonymous'), descriptors: of('descriptors'), threads: of('threads') }
}

/** Of the survivor's anonymous memory; judged only where the soak takes long enough to tell. */
const MOST_GROWTH = 1.1
const JUDGED_FROM_MINUTES = 30

/** What is wrong with the memory of the replica that was never killed, early and late in the soak. */
export function judgeMemory(
  { early, late }: Readonly<Record<'early' | 'late', Pick<Sample, 'anonymous'> | undefined>>,
  minutes: number,
): readonly string[] {
  const growth = early === undefined || late === undefined ? Number.NaN : late.anonymous / early.anonymous
  if (minutes < JUDGED_FROM_MINUTES || growth <= MOST_GROWTH) return []
  return [`the survivor's anonymous memory grew to ${growth.toFixed(2)} times what it was`]
}
