/** Reads properties of many objects in few calls: PropertyCollector's RetrievePropertiesEx, page by page. */
import type { Clock } from '../../../agent/shared/clock.ts'
import type { Timings } from '../timings.ts'
import {
  fewerThan,
  inLivingSession,
  isSessionLost,
  malformed,
  SoapFault,
  TooLongError,
  type UnansweredError,
  VCenterError,
} from '../wire/errors.ts'
import { keyOf, type ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { element, readFaultDetail, reference, type SoapClient, toReference } from '../wire/soap.ts'
import { child, childrenOf, textOf, type XMLElement } from '../wire/xml.ts'
import type { Quarantine } from './quarantine.ts'
import type { Collectors } from './session-objects.ts'

/** Objects per page; vCenter may send fewer. */
const PAGE = 1_000
/** Pages of one read: vCenter may send only 100 objects per page. */
const MAX_PAGES = 1_000
/** Objects of one read, however large its pages are: twice what a vCenter may have registered. They are held in memory. */
const MAX_OBJECTS = 100_000
/** How often a read is restarted because vCenter no longer knows its continuation token. */
const MAX_RESTARTS = 3
/** How many times longer than one page all pages of a read may take. */
const PATIENCE = 3
/** Envelope, Body, response, returnval, objects. */
const OBJECT_DEPTH = 5

/** Elements of a PropertySpec. */
export function propertySpec(type: string, paths: readonly string[]): string {
  return `<propSet>${element('type', type)}${paths.map((path) => element('pathSet', path)).join('')}</propSet>`
}

/** An ObjectSpec that starts at `start`; `skip` leaves the start itself out. */
export function objectSpec(start: ManagedObjectReference, skip = false, selections = ''): string {
  return `<objectSet>${reference('obj', start)}${element('skip', skip)}${selections}</objectSet>`
}

/** A TraversalSpec: from objects of `type` along `path`, then on by `selections`. */
export function traversal(name: string, type: string, path: string, selections = ''): string {
  return (
    '<selectSet xsi:type="TraversalSpec">' +
    `${element('name', name)}${element('type', type)}${element('path', path)}${element('skip', false)}${selections}` +
    '</selectSet>'
  )
}

/** Refers to a TraversalSpec of the same PropertyFilterSpec by its name. */
export function selection(name: string): string {
  return `<selectSet>${element('name', name)}</selectSet>`
}

/**
 * A PropertyFilterSpec without its enclosing element, whose name depends on the operation. A start that does not exist fails
 * the call: otherwise, when a view has ended with its session, all of its members would look gone.
 */
export function filterSpec(propertySpecs: string, objectSpecs: string): string {
  return `${propertySpecs}${objectSpecs}`
}

/** The same, but starts that do not exist are left out of the answer, so that one stale moref does not fail all others. */
export function lenientFilterSpec(propertySpecs: string, objectSpecs: string): string {
  return `${propertySpecs}${objectSpecs}${element('reportMissingObjectsInResults', true)}`
}

export interface PropertyReader {
  /**
   * Passes each selected object to `take` as it arrives, some of them twice if the read had to restart: because a page was
   * too long (pages are smaller from then on) or vCenter lost its continuation token. vCenter leaves out objects that no
   * longer exist. An empty result is believed only once the session is shown to be alive. Throws a VCenterError, also
   * for an endless read and part-way through; the objects taken until then are valid all the same.
   */
  read(specs: readonly string[], take: Take, signal: AbortSignal): Promise<void>
  /** Objects that are not to be read; by default none, and what is not answered is thrown. */
  readonly quarantine?: Quarantine | undefined
  /** Puts objects there whose read by these `specs` was not answered. That they can be read releases them; the values are lost. */
  readonly hold?:
    | ((objects: Objects, specs: (objects: Objects) => readonly string[], error: UnansweredError) => void)
    | undefined
  /** Properties of VMs to read beside those that are always read; by default none. */
  readonly vmPaths?: readonly string[]
}

type Take = (object: ObjectContent) => void
type Objects = readonly ManagedObjectReference[]

export function createPropertyReader(options: {
  readonly soap: SoapClient
  readonly collectors: Collectors
  /** Throws where the session has ended. */
  readonly alive: (signal: AbortSignal) => Promise<void>
  /** See {@link PropertyReader.vmPaths}. */
  readonly vmPaths?: readonly string[]
  readonly quarantine?: Quarantine
  readonly timings: Timings
  readonly clock: Clock
}): PropertyReader {
  const { soap, collectors, alive, vmPaths = [], quarantine, timings, clock } = options
  /** Objects per page. */
  let atMost = PAGE

  async function page(
    collector: ManagedObjectReference,
    operation: string,
    parameters: string,
    deadline: number,
    take: Take,
    signal: AbortSignal,
  ) {
    let objects = 0
    /** Objects that count only once the session is known to be alive. */
    const doubtful: ObjectContent[] = []
    const response = await soap.call({
      operation,
      target: collector,
      parameters,
      deadline,
      ofObjects: true,
      records: {
        name: 'objects',
        depth: OBJECT_DEPTH,
        take(record, whole) {
          objects++
          const read = parseObject(record, whole)
          if (strayIn(read.missing) === undefined) take(read)
          else doubtful.push(read)
        },
      },
      signal,
    })
    if (doubtful.length > 0) await alive(signal)
    for (const read of doubtful) take(withoutStray(read))
    const token = textOf(child(response, 'returnval'), 'token')
    if (objects > 0) return token
    if (token !== undefined) throw endless('a page without objects')
    // A view that has ended with its session may read as empty, with HTTP status 200.
    await alive(signal)
    return undefined
  }

  async function nextPage(
    collector: ManagedObjectReference,
    token: string,
    deadline: number,
    take: Take,
    signal: AbortSignal,
  ) {
    try {
      const parameters = element('token', token)
      return await page(collector, 'ContinueRetrievePropertiesEx', parameters, deadline, take, signal)
    } catch (error) {
      if (error instanceof SoapFault && error.fault === 'InvalidArgument') throw new LostTokenError(error)
      throw error
    }
  }

  async function readPages(
    collector: ManagedObjectReference,
    specs: readonly string[],
    take: Take,
    pageDeadline: number,
    end: number,
    signal: AbortSignal,
  ): Promise<void> {
    const patience = () => {
      const deadline = Math.min(pageDeadline, end - clock.monotonic())
      if (deadline <= 0) throw tooLate((PATIENCE * timings.readDeadline) / 1000)
      return deadline
    }
    let objects = 0
    const counted: Take = (object) => {
      if (++objects > MAX_OBJECTS) throw endless(`more than ${MAX_OBJECTS} objects`)
      take(object)
    }
    const specSet = specs.map((spec) => `<specSet>${spec}</specSet>`).join('')
    const options = `<options>${element('maxObjects', atMost)}</options>`
    let token = await page(collector, 'RetrievePropertiesEx', specSet + options, patience(), counted, signal)
    for (let pages = 1; token !== undefined; pages++) {
      if (pages >= MAX_PAGES) throw endless(`more than ${MAX_PAGES} pages`)
      const before = token
      token = await nextPage(collector, before, patience(), counted, signal)
      // vCenter numbers its tokens.
      if (token === before) throw endless('the same token twice')
    }
  }

  async function read(
    collector: ManagedObjectReference,
    specs: readonly string[],
    take: Take,
    deadline: number,
    signal: AbortSignal,
  ): Promise<void> {
    const end = clock.monotonic() + PATIENCE * timings.readDeadline
    for (let restarts = 0; ; ) {
      const asked = atMost
      try {
        return await readPages(collector, specs, take, deadline, end, signal)
      } catch (error) {
        if (error instanceof LostTokenError && restarts++ < MAX_RESTARTS) continue
        const fewer = error instanceof TooLongError ? fewerThan(asked, error) : undefined
        if (fewer === undefined) throw error
        atMost = Math.min(atMost, fewer)
      }
    }
  }

  const readWithin = (deadline: number, specs: readonly string[], take: Take, signal: AbortSignal) =>
    collectors.use((collector) => read(collector, specs, take, deadline, signal), signal)

  return {
    read: (specs, take, signal) => readWithin(timings.readDeadline, specs, take, signal),
    vmPaths,
    quarantine,
    hold:
      quarantine &&
      ((objects, specs, error) =>
        quarantine.hold({
          objects,
          keyOf,
          error,
          ask: (some, deadline, signal) => readWithin(deadline, specs(some), () => undefined, signal),
        })),
  }
}

/** vCenter has forgotten a continuation token; the collector and the session may be fine. */
class LostTokenError extends VCenterError {
  constructor(cause: SoapFault) {
    super(cause.reason, `${cause.message}; the rest of that read is lost`, { cause })
    this.name = 'LostTokenError'
  }
}

function endless(what: string): VCenterError {
  return malformed(`vCenter answers with ${what} when asked for properties`)
}

function tooLate(seconds: number): VCenterError {
  return new VCenterError(
    'TimedOut',
    `vCenter did not finish the pages of properties within ${seconds} s; check the state of its services`,
  )
}

/** One object in an answer of the PropertyCollector: its properties, as far as they are set and may be read. */
export interface ObjectContent {
  readonly reference: ManagedObjectReference
  readonly properties: ReadonlyMap<string, XMLElement>
  /** Why other properties could not be read, by path: usually NoPermission. */
  readonly missing: ReadonlyMap<string, SoapFault>
  /** Set where properties are missing because they are too large. */
  readonly excess: VCenterError | undefined
}

/**
 * Parses one `ObjectContent`. Throws a VCenterError: NotAuthenticated too, as without a session vCenter may answer normally and
 * name that fault for each property.
 */
export function readObject(record: XMLElement): ObjectContent {
  const read = parseObject(record, true)
  const stray = strayIn(read.missing)
  if (stray !== undefined) throw stray
  return read
}

function parseObject(record: XMLElement, whole: boolean): ObjectContent {
  const object = toReference(child(record, 'obj'))
  if (object === undefined) {
    throw new VCenterError('MalformedAnswer', 'vCenter answers with properties of an object without a name')
  }
  const properties = new Map<string, XMLElement>()
  for (const property of childrenOf(record, 'propSet')) {
    const name = textOf(property, 'name')
    const value = child(property, 'val')
    if (name !== undefined && value !== undefined) properties.set(name, value)
  }
  return {
    reference: object,
    properties,
    missing: readMissing(record),
    excess: whole ? undefined : tooLarge(object),
  }
}

function tooLarge({ type, value }: ManagedObjectReference): VCenterError {
  return new VCenterError(
    'MalformedAnswer',
    `the properties of ${type} ${value} are too large to be read; check what its guest reports`,
  )
}

/** NotAuthenticated for some property, if vCenter returns it: the session may have ended, or the fault is about this object alone. */
export function strayIn(missing: ObjectContent['missing']): SoapFault | undefined {
  return [...missing.values()].find(isSessionLost)
}

/** What was read in a session that is known to be alive. */
function withoutStray(read: ObjectContent): ObjectContent {
  const missing = Array.from(
    read.missing,
    ([path, fault]) => [path, isSessionLost(fault) ? inLivingSession(fault) : fault] as const,
  )
  return { ...read, missing: new Map(missing) }
}

/** Why properties are missing, by path. */
export function readMissing(record: XMLElement): ReadonlyMap<string, SoapFault> {
  const faults = new Map<string, SoapFault>()
  for (const missing of childrenOf(record, 'missingSet')) {
    const outer = child(missing, 'fault')
    const fault = readFaultDetail(child(outer, 'fault'), textOf(outer, 'localizedMessage'))
    if (fault !== undefined) faults.set(textOf(missing, 'path') ?? '', fault)
  }
  return faults
}
