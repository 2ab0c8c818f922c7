import type { UnplacedAddress } from './facts/addresses.ts'
import type { CloudInit } from './facts/cloud-init.ts'
import type { DMIFacts } from './facts/dmi.ts'
import type { Unreadable } from './facts/files.ts'
import {
  DEFAULT_REFRESH_SECONDS,
  FACT_ADDRESSES,
  FACT_SERIAL_UUID,
  factOfAddress,
  MAX_ADDRESSES,
  MAX_INTERFACES,
  MAX_REPORT_BYTES,
  MAX_UNREADABLE,
  type NetworkInterface,
  type NodeReportSpec,
  type UnreadableFact,
} from './shared/node-report.ts'
import type { Result } from './shared/result.ts'

/** Everything that goes into a report. */
export interface MachineFacts {
  readonly nodeUID: string
  readonly agentVersion: string
  /** Milliseconds between two reports. */
  readonly refresh: number
  readonly bootID: Result<string, Unreadable>
  readonly hostname: Result<string, Unreadable>
  readonly machine: DMIFacts
  readonly interfaces: Result<readonly NetworkInterface[], Unreadable>
  /** Whether the addresses could be read. */
  readonly addresses: Result<unknown, Unreadable>
  /** Those that are on no known interface. */
  readonly unplaced: readonly UnplacedAddress[]
  /** Whether the routes, by which `defaultRoute` is known, could be read. */
  readonly routes: Result<unknown, Unreadable>
  readonly toolsVersion: string | undefined
  /** Whether guestinfo could be read. */
  readonly guestinfo: Result<unknown, Unreadable>
  /** Undefined where there is no metadata. */
  readonly cloudInit: Result<CloudInit | undefined, Unreadable>
  readonly claim: NodeReportSpec['claim']
}

/** Bytes reserved for the object around the spec: names, owner, `apiVersion`, `kind`. */
const ENVELOPE_BYTES = 900
const MAX_SPEC_BYTES = MAX_REPORT_BYTES - ENVELOPE_BYTES

/**
 * Builds a report from facts, valid by the schema and within {@link MAX_SPEC_BYTES} of JSON. Equal facts give equal bytes.
 * `unreadable` says what could not be read and what had to be left out.
 */
export function buildReport(facts: MachineFacts): NodeReportSpec {
  const unreadable: UnreadableFact[] = []
  const value = <T>(fact: string, read: Result<T, Unreadable>): T | undefined => {
    if (read.ok) return read.value
    unreadable.push({ fact, reason: read.reason, message: toASCII(read.message) })
    return undefined
  }
  const vendor = value('machine.vendor', facts.machine.vendor)
  const product = value('machine.product', facts.machine.product)
  const serialUUID = value(FACT_SERIAL_UUID, facts.machine.serialUUID)
  const productUUID = value('machine.productUUID', facts.machine.productUUID)
  const { toolsVersion: version } = facts
  const bootID = value('bootID', facts.bootID)
  const hostname = value('hostname', facts.hostname)
  const interfaces = value('interfaces', facts.interfaces) ?? []
  value(FACT_ADDRESSES, facts.addresses)
  for (const { address, why } of facts.unplaced) value(factOfAddress(address), why)
  value('routes', facts.routes)
  value('guestinfo', facts.guestinfo)
  const cloudInit = cutCloudInit(value('cloudInit', facts.cloudInit))
  const refreshSeconds = Math.ceil(facts.refresh / 1000)
  const whole = {
    nodeUID: facts.nodeUID,
    ...(bootID === undefined ? {} : { bootID }),
    agentVersion: facts.agentVersion,
    // Said only where it matters: a CRD of an older version has no field for it.
    ...(refreshSeconds > DEFAULT_REFRESH_SECONDS ? { refreshSeconds } : {}),
    machine: {
      ...(vendor === undefined ? {} : { vendor }),
      ...(product === undefined ? {} : { product }),
      ...(serialUUID === undefined ? {} : { serialUUID }),
      ...(productUUID === undefined ? {} : { productUUID }),
    },
    ...(hostname === undefined ? {} : { hostname }),
    interfaces: interfaces.slice(0, MAX_INTERFACES).map(cutInterface),
    tools: {
      ...(version === undefined ? {} : { version }),
      guestinfoReadable: facts.guestinfo.ok,
      guestinfoWritable: facts.claim.written,
    },
    ...(cloudInit === undefined ? {} : { cloudInit }),
    claim: { ...facts.claim, message: toASCII(facts.claim.message) },
    ...(unreadable.length === 0 ? {} : { unreadable: unreadable.slice(0, MAX_UNREADABLE) }),
  }
  const had = count(interfaces)
  return fit(whole, had)
}

/** The first interface and its first address are always kept: a report without them would be useless. */
function fit(whole: NodeReportSpec, had: ReturnType<typeof count>): NodeReportSpec {
  let spec = whole
  let report = withTruncation(spec, had)
  while (Buffer.byteLength(JSON.stringify(report)) > MAX_SPEC_BYTES) {
    const smaller = cut(spec)
    if (smaller === undefined) return report
    spec = smaller
    report = withTruncation(spec, had)
  }
  return report
}

/** One step smaller, the least important first: cloud-init's addresses, spare addresses, interfaces, explanations. */
function cut(spec: NodeReportSpec): NodeReportSpec | undefined {
  if (spec.cloudInit?.addresses !== undefined) {
    const { addresses: _, ...rest } = spec.cloudInit
    return { ...spec, cloudInit: rest }
  }
  const crowded = spec.interfaces.findLastIndex((nic) => nic.addresses.length > 2)
  if (crowded >= 0) {
    const interfaces = spec.interfaces.map((nic, i) =>
      i === crowded ? { ...nic, addresses: nic.addresses.slice(0, -1) } : nic,
    )
    return { ...spec, interfaces }
  }
  if (spec.interfaces.length > 1) return { ...spec, interfaces: spec.interfaces.slice(0, -1) }
  const { unreadable, ...rest } = spec
  if (unreadable === undefined) return undefined
  return unreadable.length > 1 ? { ...rest, unreadable: unreadable.slice(0, -1) } : rest
}

function count(interfaces: readonly NetworkInterface[]) {
  return {
    interfaces: interfaces.length,
    addresses: interfaces.reduce((sum, nic) => sum + nic.addresses.length, 0),
  }
}

function withTruncation(spec: NodeReportSpec, had: ReturnType<typeof count>): NodeReportSpec {
  const has = count(spec.interfaces)
  if (has.interfaces === had.interfaces && has.addresses === had.addresses) return spec
  const message = `${had.interfaces - has.interfaces} of ${had.interfaces} interfaces and ${had.addresses - has.addresses} of ${had.addresses} addresses were left out: a report has no room for more`
  const entry = { fact: 'interfaces', reason: 'TooMany', message }
  return { ...spec, unreadable: [entry, ...(spec.unreadable ?? [])].slice(0, MAX_UNREADABLE) }
}

function cutInterface(nic: NetworkInterface): NetworkInterface {
  return { ...nic, addresses: nic.addresses.slice(0, MAX_ADDRESSES) }
}

function cutCloudInit(cloudInit: CloudInit | undefined): NodeReportSpec['cloudInit'] {
  if (cloudInit === undefined) return undefined
  const { addresses, ...rest } = cloudInit
  return addresses === undefined ? rest : { ...rest, addresses: addresses.slice(0, MAX_ADDRESSES) }
}

/** No more than the schema takes; a byte each, because a report is measured in bytes. */
function toASCII(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 256)
}
