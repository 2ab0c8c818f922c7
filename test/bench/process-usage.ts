import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Usage {
  /** Highest so far, MB. */
  readonly peakResident: number
  readonly peakAnonymous: number
  /** Now, MB. */
  readonly resident: number
  readonly anonymous: number
  /** Since its start, of all its threads. */
  readonly cpuSeconds: number
}

/** Watches what a process uses, ten times a second. */
export interface UsageWatch {
  /** As of the last look, also when the process has ended. */
  now(): Promise<Usage>
  stop(): Promise<void>
}

const INTERVAL = 100

export function watchUsage(pid: number): UsageWatch {
  const ending = new AbortController()
  let last: Usage = { peakResident: 0, peakAnonymous: 0, resident: 0, anonymous: 0, cpuSeconds: 0 }

  async function look(): Promise<Usage> {
    const read = await readUsage(pid)
    if (read === undefined) return last
    last = {
      peakResident: Math.max(last.peakResident, read.peakResident),
      peakAnonymous: Math.max(last.peakAnonymous, read.anonymous),
      resident: read.resident,
      anonymous: read.anonymous,
      cpuSeconds: Math.max(last.cpuSeconds, read.cpuSeconds),
    }
    return last
  }

  const watching = (async () => {
    while (!ending.signal.aborted) {
      await look()
      // sleep() rejects only when the signal aborts.
      await sleep(INTERVAL, undefined, { signal: ending.signal }).catch(() => undefined)
    }
  })()
  return {
    now: look,
    async stop() {
      ending.abort()
      await watching
    },
  }
}

/** Undefined for a process that is gone. */
async function readUsage(
  pid: number,
): Promise<Pick<Usage, 'peakResident' | 'resident' | 'anonymous' | 'cpuSeconds'> | undefined> {
  const status = await readProc(`/proc/${pid}/status`)
  const rss = field(status, 'VmRSS')
  if (rss === undefined) return undefined
  return {
    peakResident: field(status, 'VmHWM') ?? rss,
    resident: rss,
    anonymous: field(status, 'RssAnon') ?? 0,
    cpuSeconds: await readCPU(pid),
  }
}

function field(status: string, name: string): number | undefined {
  const kilobytes = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1024
}

/** From the scheduler's own count, in nanoseconds: the usual one has steps of 10 ms, more than an idle agent needs. */
async function readCPU(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => [])
  let nanoseconds = 0
  for (const thread of threads) {
    const [running] = (await readProc(`/proc/${pid}/task/${thread}/schedstat`)).split(' ')
    nanoseconds += Number(running)
  }
  return nanoseconds / 1e9
}

/** Empty for a process or thread that has ended meanwhile. */
async function readProc(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '')
}
