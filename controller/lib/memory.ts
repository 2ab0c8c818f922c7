/** What keeps the memory of this process small: thousands of objects take little, and what is free goes back. */
import type { Clock } from '../../agent/shared/clock.ts'
import type { Task } from './tasks.ts'

/** How many recent texts, and how many recent objects, are remembered: at least so many, at most twice as many. */
const REMEMBERED = 2_000
/** Characters of a text that is remembered. */
const LONGEST = 200
/** Fields of an object that is remembered, at most: a reference, an address, a taint. */
const MAX_FIELDS = 3

const texts = createRecent<string>()
const objects = createRecent<Readonly<Record<string, unknown>>>()
/** All empty lists: a VM and its Node have a dozen. */
const NONE: readonly unknown[] = Object.freeze([])

/**
 * A copy of plain data that takes little memory for as long as it is kept. No text is part of a longer one: what a parser
 * cuts out of an answer keeps the whole answer, 60 MB instead of 2 for a thousand VMs. Of equal texts there is one, and of equal
 * objects of a few texts, as far as they come soon after each other. Lists have no room to grow: a list that was made item by
 * item has room for 17. Empty ones are one and the same. What is shared cannot be changed.
 */
export function compact<T>(facts: T): T
export function compact(facts: unknown): unknown {
  if (typeof facts === 'string') return textOf(facts)
  if (typeof facts !== 'object' || facts === null) return facts
  if (Array.isArray(facts)) return facts.length === 0 ? NONE : facts.map(compact)
  // An instance of a class stays as it is: the copy of a Map, such as the keys of a Secret, would be empty.
  if (Object.getPrototypeOf(facts) !== Object.prototype) return facts
  const copy: Record<string, unknown> = { ...facts }
  const names = Object.keys(copy)
  let isOfFewTexts = names.length <= MAX_FIELDS
  for (const name of names) {
    const value = compact(copy[name])
    isOfFewTexts &&= typeof value === 'string' && value.length <= LONGEST
    copy[name] = value
  }
  return isOfFewTexts ? objectOf(copy) : copy
}

function textOf(text: string): string {
  if (text.length > LONGEST) return copyOf(text)
  const known = texts.get(text)
  if (known !== undefined) return known
  const copy = copyOf(text)
  texts.put(copy, copy)
  return copy
}

/** The key is JSON: joined texts of two different objects could be equal. */
function objectOf(object: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const key = JSON.stringify(object)
  const known = objects.get(key)
  if (known === undefined) objects.put(key, Object.freeze(object))
  return known ?? object
}

/** Forgets the older half as a whole. What is still used has moved to the newer half by then. */
function createRecent<T>() {
  let newer = new Map<string, T>()
  let older = new Map<string, T>()
  function put(key: string, value: T): void {
    if (newer.size >= REMEMBERED) {
      ;[newer, older] = [older, newer]
      newer.clear()
    }
    newer.set(key, value)
  }
  return {
    put,
    get(key: string): T | undefined {
      const known = newer.get(key)
      if (known !== undefined) return known
      const kept = older.get(key)
      if (kept !== undefined) put(key, kept)
      return kept
    },
  }
}

/** By way of UTF-16, which also preserves unpaired surrogates. */
function copyOf(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le')
}

/** The memory of this process, as the system and V8 see it. */
export interface ProcessMemory {
  /** Bytes that are resident. */
  resident(): number
  /**
   * Collects garbage and returns free pages to the system; stops everything for some 100 ms at 40 MB of heap. Returns the
   * milliseconds of processor time that it took.
   */
  release(): number
}

/** Milliseconds from one look to the next. */
const INTERVAL = 5_000
/** The part by which memory may grow before it is given back. */
const SLACK = 0.03
/**
 * After a release, the pause until the next as a multiple of the processor time that it took. The more memory there is, the longer
 * a release takes: while 10,000 Nodes were initialized, one every five seconds took a seventh of the time, and the peak, which comes
 * before V8's own collections, was no lower. By the clock it would take longer where the machine has others to serve, and memory
 * would grow most where it is scarce.
 */
const PAUSE = 32

/**
 * Gives memory back once it has grown by {@link SLACK} since the last time. V8 keeps pages that a collection has freed for
 * the next burst, and in a process that is never idle it keeps them forever: of 160 MB that a leader held an hour after
 * the start, 45 were its heap. A process in which nothing grows is left alone.
 */
export function releaseMemory(memory: ProcessMemory, clock: Clock): Task {
  return async (signal) => {
    let released = 0
    let pause = INTERVAL
    for (;;) {
      await clock.sleep(pause, signal)
      if (signal.aborted) return
      pause = INTERVAL
      if (memory.resident() <= released * (1 + SLACK)) continue
      pause = Math.max(INTERVAL, PAUSE * memory.release())
      released = memory.resident()
    }
  }
}
