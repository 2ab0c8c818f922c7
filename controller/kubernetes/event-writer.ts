import { timestamp } from '../../agent/shared/node-report.ts'
import { hasStatus } from './api-error.ts'
import type { KubeClient } from './client.ts'

/** The API server's limit for the newer kind of event (`NoteLengthLimit`). */
export const MAX_MESSAGE = 1024

export interface EventSubject {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
}

export interface EventDetails {
  readonly regarding: EventSubject
  readonly type: 'Normal' | 'Warning'
  /** CamelCase. */
  readonly reason: string
  /** One sentence; no secret. Made printable, and cut at {@link MAX_MESSAGE} characters. */
  readonly message: string
  /** Who says so, where it is not {@link EventWriterOptions.component}. */
  readonly component?: string
}

/** An event and how often it happened. */
export interface EventSeries {
  readonly facts: EventDetails
  /** Name of the Event object, once chosen. */
  object: string | undefined
  /** Occurrences that the Event object counts. */
  count: number
  /** Occurrences that are not written yet. */
  pending: number
  /** Milliseconds since the epoch. */
  first: number
  last: number
}

export interface EventWriterOptions {
  readonly client: KubeClient
  /** As `rollcall-controller`; `kubectl describe` shows it under From. */
  readonly component: string
  /** Identifies this process. */
  readonly instance: string
  readonly random: () => number
}

/** Nodes have no namespace; the API server wants their events here (`legacyValidateEvent`). */
const COLLECTION = '/api/v1/namespaces/default/events'
/** Names have at most 253 characters, and need room for a unique suffix. */
const MAX_PREFIX = 230

/**
 * Writes core/v1 Events.
 *
 * `involvedObject.uid` is the Node's UID, as the node controllers write it. (The kubelet writes the node's name there;
 * `kubectl describe node` asks for both.)
 */
export function createEventWriter({ client, component: own, instance, random }: EventWriterOptions) {
  async function create(item: EventSeries, count: number, signal: AbortSignal): Promise<void> {
    const { regarding, type, reason, message, component = own } = item.facts
    // Chosen before the first attempt: if its answer is lost, the next attempt finds the object.
    item.object ??= uniqueName(regarding.name, item.last, random)
    const body = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace: 'default', name: item.object },
      involvedObject: regarding,
      type,
      reason,
      message,
      count,
      firstTimestamp: timestamp(item.first),
      lastTimestamp: timestamp(item.last),
      source: { component },
      reportingComponent: component,
      reportingInstance: instance,
    }
    try {
      await client.request({ method: 'POST', path: COLLECTION, body, signal })
    } catch (error) {
      if (!hasStatus(error, 409)) throw error
    }
    item.count = count
  }

  async function raise(item: EventSeries, count: number, signal: AbortSignal): Promise<boolean> {
    const body = { count: item.count + count, lastTimestamp: timestamp(item.last) }
    const path = `${COLLECTION}/${item.object}`
    try {
      await client.request({
        method: 'PATCH',
        path,
        contentType: 'application/merge-patch+json',
        body,
        signal,
      })
    } catch (error) {
      if (hasStatus(error, 404)) return false
      throw error
    }
    item.count += count
    return true
  }

  return {
    /** Adds `count` occurrences to the Event object. Throws as `KubeClient.request`; may be retried. */
    async write(item: EventSeries, count: number, signal: AbortSignal): Promise<void> {
      if (item.count > 0) {
        if (await raise(item, count, signal)) return
        // Events live for an hour. This one is gone, so a new one counts what happened since.
        item.object = undefined
        item.count = 0
        item.first = item.last
      }
      await create(item, count, signal)
    },
  }
}

function uniqueName(subject: string, ms: number, random: () => number): string {
  const suffix = Math.floor(random() * 2 ** 32)
  return `${subject.slice(0, MAX_PREFIX)}.${ms.toString(16)}${suffix.toString(16).padStart(8, '0')}`
}
