/** Reads properties of many objects in few calls: PropertyCollector's RetrievePropertiesEx, page by page. */
import type { Clock } from '../../clock.ts'
import type { Timings } from '../timings.ts'
import { element, reference } from '../wire/envelope.ts'
import { type Reference, SoapFault, VCenterError } from '../wire/errors.ts'
import { type SoapClient, toReference } from '../wire/soap.ts'
import { child, childrenOf, textOf, type XMLElement } from '../wire/xml.ts'

/** Objects in a page; vCenter may send fewer. */
const PAGE = 1_000
/** Pages of one read: no vCenter holds a million objects. */
const MAX_PAGES = 1_000
/** How much longer than one page all pages of a read may take. */
const PATIENCE = 3
/** Envelope, Body, response, returnval, objects. */
const OBJECT_DEPTH = 5

/** One object's properties, as far as they are set and may be read. */
export interface ObjectContent {
  readonly reference: Reference
  readonly properties: ReadonlyMap<string, XMLElement>
}

/** Elements of a PropertySpec. */
export function propertySpec(type: string, paths: readonly string[]): string {
  return `<propSet>${element('type', type)}${paths.map((path) => element('pathSet', path)).join('')}</propSet>`
}

/** An ObjectSpec that starts at `start`; `skip` leaves the start itself out. */
export function objectSpec(start: Reference, skip = false, selections = ''): string {
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

/** A PropertyFilterSpec, without the element around it, whose name depends on the operation. */
export function filterSpec(propertySpecs: string, objectSpecs: string): string {
  // Without this flag one stale reference fails the whole call.
  return `${propertySpecs}${objectSpecs}${element('reportMissingObjectsInResults', true)}`
}

export interface PropertyReader {
  /**
   * Hands over each object that the PropertyFilterSpecs select, as it comes in. An object that no longer exists is
   * left out by vCenter. Throws a VCenterError, also for pages without end, part-way too: what was taken until then is true all the same.
   */
  read(specs: readonly string[], take: (object: ObjectContent) => void, signal: AbortSignal): Promise<void>
}

export interface PropertyReaderOptions {
  readonly soap: SoapClient
  readonly collector: Reference
  readonly timings: Timings
  readonly clock: Clock
}

export function createPropertyReader({
  soap,
  collector,
  timings,
  clock,
}: PropertyReaderOptions): PropertyReader {
  async function page(
    operation: string,
    parameters: string,
    deadline: number,
    take: (object: ObjectContent) => void,
    signal: AbortSignal,
  ) {
    let objects = 0
    const response = await soap.call({
      operation,
      target: collector,
      parameters,
      deadline,
      records: {
        name: 'objects',
        depth: OBJECT_DEPTH,
        take(record) {
          objects++
          take(readObject(record))
        },
      },
      signal,
    })
    const token = textOf(child(response, 'returnval'), 'token')
    if (token !== undefined && objects === 0) throw endless('a page without objects')
    return token
  }

  return {
    async read(specs, take, signal) {
      const specSet = specs.map((spec) => `<specSet>${spec}</specSet>`).join('')
      const options = `<options>${element('maxObjects', PAGE)}</options>`
      const end = clock.monotonic() + PATIENCE * timings.readDeadline
      let token = await page('RetrievePropertiesEx', specSet + options, timings.readDeadline, take, signal)
      for (let pages = 1; token !== undefined; pages++) {
        if (pages >= MAX_PAGES) throw endless(`more than ${MAX_PAGES} pages`)
        const deadline = Math.min(timings.readDeadline, end - clock.monotonic())
        if (deadline <= 0) throw tooLate((PATIENCE * timings.readDeadline) / 1000)
        const before = token
        token = await page('ContinueRetrievePropertiesEx', element('token', before), deadline, take, signal)
        // vCenter numbers its tokens.
        if (token === before) throw endless('the same token twice')
      }
    },
  }
}

function endless(what: string): VCenterError {
  return new VCenterError(
    'MalformedAnswer',
    `vCenter answers with ${what} when asked for properties, check for a proxy in between`,
  )
}

function tooLate(seconds: number): VCenterError {
  return new VCenterError(
    'TimedOut',
    `vCenter did not finish the pages of properties within ${seconds} s, check the state of its services`,
  )
}

function readObject(record: XMLElement): ObjectContent {
  const object = toReference(child(record, 'obj'))
  if (object === undefined) {
    throw new VCenterError('MalformedAnswer', 'vCenter answers with properties of an object without a name')
  }
  throwIfUnauthenticated(record)
  const properties = new Map<string, XMLElement>()
  for (const property of childrenOf(record, 'propSet')) {
    const name = textOf(property, 'name')
    const value = child(property, 'val')
    if (name !== undefined && value !== undefined) properties.set(name, value)
  }
  return { reference: object, properties }
}

/** Without a session vCenter may answer as if all were well, and name the fault for each property. */
function throwIfUnauthenticated(record: XMLElement): void {
  for (const missing of childrenOf(record, 'missingSet')) {
    const fault = child(child(missing, 'fault'), 'fault')
    if (fault?.type === 'NotAuthenticated')
      throw new SoapFault('NotAuthenticated', '', toReference(child(fault, 'object')))
  }
}
