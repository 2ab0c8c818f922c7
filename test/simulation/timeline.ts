/** What is to happen, in the order of the model's time. */
export interface Timeline {
  /** Milliseconds since the beginning; true, whatever any clock shows. */
  readonly now: number
  /** What has happened so far. */
  readonly steps: number
  after(ms: number, what: string, act: () => void): Appointment
  /** Lets the next thing happen; false where there is none. */
  step(): boolean
  /** The last that happened, oldest first. */
  trace(): readonly string[]
  /** Notes something that is no step. */
  note(what: string): void
}

/** Something that will happen unless it is canceled. */
export interface Appointment {
  cancel(): void
}

interface Entry extends Appointment {
  readonly time: number
  readonly turn: number
  readonly what: string
  act: (() => void) | undefined
}

const TRACE = 80

export function createTimeline(): Timeline {
  const heap: Entry[] = []
  const trace: string[] = []
  let now = 0
  let turn = 0
  let steps = 0

  function note(what: string): void {
    trace.push(`${(now / 1000).toFixed(3).padStart(9)} s  ${what}`)
    if (trace.length > 2 * TRACE) trace.splice(0, TRACE)
  }

  function push(entry: Entry): void {
    let index = heap.length
    heap.push(entry)
    while (index > 0) {
      const above = (index - 1) >> 1
      const parent = heap[above]
      if (parent === undefined || before(parent, entry)) break
      heap[index] = parent
      index = above
    }
    heap[index] = entry
  }

  function pop(): Entry | undefined {
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    let index = 0
    for (;;) {
      const left = 2 * index + 1
      const [a, b] = [heap[left], heap[left + 1]]
      if (a === undefined) break
      const [lesser, at] = b !== undefined && before(b, a) ? [b, left + 1] : [a, left]
      if (before(last, lesser)) break
      heap[index] = lesser
      index = at
    }
    heap[index] = last
    return first
  }

  return {
    get now() {
      return now
    },
    get steps() {
      return steps
    },
    after(ms, what, act) {
      const entry: Entry = {
        time: now + Math.max(0, ms),
        turn: turn++,
        what,
        act,
        cancel() {
          entry.act = undefined
        },
      }
      push(entry)
      return entry
    },
    step() {
      for (;;) {
        const entry = pop()
        if (entry === undefined) return false
        const { act } = entry
        if (act === undefined) continue
        now = entry.time
        steps++
        note(entry.what)
        act()
        return true
      }
    },
    trace: () => trace.slice(-TRACE),
    note,
  }
}

function before(a: Entry, b: Entry): boolean {
  return a.time < b.time || (a.time === b.time && a.turn < b.turn)
}
