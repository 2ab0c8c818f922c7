/**
 * Records what a vCenter answers to the calls that Rollcall makes, by Rollcall's own code: the checks of `doctor`, a sweep of
 * all VMs, and an inventory that follows a few. Nothing is changed in vCenter but sessions and what lives in them.
 */

import { canonicalUUID, swapUUID } from '../../../agent/shared/uuid.ts'
import type { VCenterConfig } from '../../config/config.ts'
import { listed } from '../../lib/format.ts'
import { runTogether, waitUntil } from '../../lib/tasks.ts'
import { resolveTopology } from '../../loops/node/decide/topology/zone-from-tags.ts'
import { previousStatus, specOf } from '../../loops/node/facts/previous-status.ts'
import { providerUUIDs } from '../../loops/node/facts/provider-id.ts'
import { isKnown, vmsOf } from '../../types/inventory.ts'
import type { VirtualMachine } from '../../types/virtual-machine.ts'
import { createAllVMs, createLocator } from '../../vcenter/collect/locate.ts'
import { openInventory } from '../../vcenter/inventory.ts'
import type { RunningInventory } from '../../vcenter/running-inventory.ts'
import { visitVCenter } from '../../vcenter/session/open-clients.ts'
import type { openConnection } from '../../vcenter/wire/connection.ts'
import type { nodesAndReports, prepareToAsk } from '../doctor/prepare.ts'
import { judgeVCenter, lookAtVCenter, NO_METRICS } from '../doctor/vcenter.ts'
import { cleanExchange, createRecorder, type Exchange, operationOf } from './clean-exchange.ts'
import { createPseudonyms, type Pseudonyms } from './pseudonyms.ts'

/** What a file of a recording has. */
export interface VCenterRecording {
  readonly recording: 1
  /** The version of Rollcall. */
  readonly version: string
  /** What was configured for this vCenter. */
  readonly config: Pick<VCenterConfig, 'datacenters'> & {
    readonly labels: { readonly zone?: string; readonly region?: string }
  }
  /** What Rollcall made of the answers: what it makes of them when they are played again. */
  readonly vms: readonly RecordedVM[]
  /** The checks of `doctor`, without their texts. */
  readonly checks: Readonly<Record<string, string>>
  /** How many values were replaced, by kind. */
  readonly replaced: Readonly<Record<string, number>>
  readonly exchanges: readonly Exchange[]
}

type RecordedVM = Pick<VirtualMachine, 'moref' | 'name' | 'powerState' | 'connectionState'> & {
  readonly biosUUID: string
  readonly host?: string
  readonly cluster?: string
  readonly datacenter?: string
  readonly zone?: string
  readonly region?: string
}

type Prepared = Awaited<ReturnType<typeof prepareToAsk>>

export interface RecordOptions extends Pick<Prepared, 'labels'> {
  readonly around: Prepared['around']
  readonly config: VCenterConfig
  /** BIOS UUIDs of VMs to be followed, lower case; without any, some that the vCenter has. */
  readonly uuids: readonly string[]
  readonly version: string
  /** Told what the recording lacks, in one sentence. */
  readonly warn: (message: string) => void
}

/** Most VMs that are followed: as many UUIDs are searched for one by one. */
const MOST_FOLLOWED = 8
const SAMPLED = 3
/** Milliseconds for all that an inventory asks once, its login aside. */
const WITHIN = 60_000
/** Each of these is in a recording, unless the vCenter refuses it. */
const ALL_OPERATIONS = ['FindAllByUuid', 'ModifyListView', 'WaitForUpdatesEx', 'HasPrivilegeOnEntities']
/** Milliseconds after which all is read again, which a leader does every five minutes. */
const RESYNC = 2_000
/** How long vCenter may hold a poll. */
const POLL_WAIT = 5_000

/** The BIOS UUIDs of some Nodes: first those that are bound to a VM of this vCenter. */
export function uuidsToFollow(
  { nodes, reports }: Awaited<ReturnType<typeof nodesAndReports>>,
  vCenter: string,
): readonly string[] {
  const all = nodes.map((node) => {
    const { vm } = previousStatus(reports.get(node.name), node)
    const { serialUUID, productUUID } = specOf(reports.get(node.name), node)?.machine ?? {}
    const given = [serialUUID, productUUID, node.systemUUID].flatMap(
      (uuid) => canonicalUUID(uuid ?? '') ?? [],
    )
    return vm === undefined
      ? { vCenter: '', uuids: [...given, ...given.map(swapUUID), ...providerUUIDs(node)] }
      : { vCenter: vm.vCenter, uuids: [vm.biosUUID] }
  })
  const [own, unbound] = [
    all.filter((each) => each.vCenter === vCenter),
    all.filter((each) => each.vCenter === ''),
  ]
  return [...new Set([...own, ...unbound].flatMap(({ uuids }) => uuids))]
}

/** @throws where the vCenter cannot be logged in to, with what `doctor` says of it, and where the signal aborts */
export async function recordVCenter(options: RecordOptions, signal: AbortSignal): Promise<VCenterRecording> {
  const { config, labels, around, version } = options
  const recorder = createRecorder(config)
  const recorded = { ...around, config, labels, openConnection: recorder.openConnection }
  const facts = await lookAtVCenter(
    { ...recorded, parentsIn: async () => [], isController: async () => false },
    signal,
  )
  signal.throwIfAborted()
  const lines = judgeVCenter(facts, around.clock.now())
  if (facts.login?.ok !== true) {
    const { check, message } = lines.find(({ status }) => status === 'fail') ?? {
      check: config.name,
      message: '',
    }
    throw new Error(`${check}: ${message}`)
  }
  const found = await sweep(recorded, signal)
  const some = options.uuids
    .filter((uuid) => found === undefined || found.includes(uuid))
    .slice(0, MOST_FOLLOWED)
  const uuids = some.length > 0 ? some : (found ?? []).slice(0, SAMPLED)
  const vms = await follow({ ...recorded, uuids, recorder, warn: options.warn }, signal)
  signal.throwIfAborted()

  const names = createPseudonyms(around.random)
  const cleaning = {
    names,
    paths: new Set(recorder.exchanges.flatMap(({ body = '' }) => pathsIn(body))),
    vms: new Set(vms.map(({ moref }) => moref)),
  }
  return {
    recording: 1,
    version,
    config: {
      datacenters: config.datacenters.map((each) => names.text(each)),
      labels: defined(labels, names.text),
    },
    vms: vms.map((vm) => replaced(recordedVM(vm, labels), names)),
    checks: Object.fromEntries(lines.map(({ check, status }) => [check.replace(/^.*: /, ''), status])),
    exchanges: withoutRepetitions(recorder.exchanges.map((each) => cleanExchange(each, cleaning))),
    replaced: names.counts(),
  }
}

/** A recording as the file has it. */
export function printRecording(recording: VCenterRecording): string {
  return `${JSON.stringify(recording, undefined, 1)}\n`
}

type Recorded = Prepared['around'] &
  Pick<RecordOptions, 'config' | 'labels'> & { readonly openConnection: typeof openConnection }

/** The BIOS UUIDs of all VMs; undefined where vCenter refuses to list them. */
async function sweep(options: Recorded, signal: AbortSignal): Promise<readonly string[] | undefined> {
  const { timings, clock } = options
  const { soap, content, reader, leave } = await visitVCenter({ ...options, metrics: NO_METRICS }, signal)
  try {
    const allVMs = createAllVMs({ soap, content, timings })
    const index = await createLocator({ soap, reader, allVMs, content, timings, clock }).sweep(signal)
    await allVMs.destroy(signal)
    return index && [...index.keys()]
  } finally {
    await leave()
  }
}

/** Runs an inventory until it knows all of these VMs, and has made each call that it makes. */
async function follow(
  options: Recorded &
    Pick<RecordOptions, 'warn'> & {
      readonly uuids: readonly string[]
      readonly recorder: Pick<ReturnType<typeof createRecorder>, 'exchanges'>
    },
  signal: AbortSignal,
): Promise<readonly VirtualMachine[]> {
  const { config, uuids, labels, clock, timings, recorder, warn } = options
  const begun = recorder.exchanges.length
  const inventory = openInventory({
    ...options,
    categories: labels,
    metrics: NO_METRICS,
    onChange: () => undefined,
    timings: { ...timings, resync: RESYNC, pollWait: POLL_WAIT },
  })
  for (const uuid of uuids) inventory.follow(uuid)
  const known = () => uuids.flatMap((uuid) => vmsOf(inventory.lookup(uuid)))
  const made = (operation: string) =>
    recorder.exchanges.slice(begun).filter(({ body = '' }) => operationOf(body) === operation).length
  const notMade = () =>
    uuids.length === 0 ? [] : ALL_OPERATIONS.filter((operation) => made(operation) === 0)
  const isWhole = () =>
    inventory.connected() &&
    uuids.every((uuid) => isKnown(inventory.lookup(uuid))) &&
    notMade().length === 0 &&
    made('WaitForUpdatesEx') > Math.min(1, uuids.length)

  function lackOf(): string {
    const calls = notMade().length === 0 ? '' : `; it lacks ${listed(notMade())}`
    const failure = inventory.failure()
    const why = failure === undefined ? '' : `: ${failure.message}`
    return `vCenter ${config.name} was not followed to the end within ${WITHIN / 1000} s, logins aside, and the recording has what it answered until then${calls}${why}`
  }

  async function work(signal: AbortSignal): Promise<void> {
    let hasWaited = false
    const held = () => {
      const isWaiting = inventory.failure()?.waiting === true
      hasWaited ||= isWaiting
      return isWaiting
    }
    /** A login that took long in vain would take as long again. */
    const isOver = () => isWhole() || (!held() && hasWaited && inventory.failure()?.reason === 'TimedOut')
    await waitUntil(isOver, { within: WITHIN, held, clock }, signal)
    if (!isWhole() && !signal.aborted) warn(lackOf())
    const [vm] = known()
    if (vm !== undefined) await probe(inventory, vm, signal)
    await clock.sleep(1.5 * RESYNC, signal)
  }

  let vms: readonly VirtualMachine[] = []
  await runTogether(
    [
      inventory.run,
      async (signal) => {
        await work(signal)
        vms = known()
      },
    ],
    signal,
  )
  return vms
}

/** Asks as a leader asks of a VM that is missing: of one that is there, and of one that is not. */
async function probe(inventory: RunningInventory, vm: VirtualMachine, signal: AbortSignal): Promise<void> {
  const { moref, name, biosUUID = '', instanceUUID = biosUUID } = vm
  const own = { vCenter: inventory.vCenter, vCenterInstanceUUID: inventory.instanceUUID() }
  await inventory.probe({ ...own, moref, name, biosUUID, instanceUUID }, signal)
  const nobody = { moref: 'vm-999999999', name: 'nobody', biosUUID: NOBODY, instanceUUID: NOBODY }
  await inventory.probe({ ...own, ...nobody }, signal)
}

/** No VM's. */
const NOBODY = '00000000-0000-4000-8000-000000000000'

function pathsIn(body: string): readonly string[] {
  return [...body.matchAll(/<pathSet>([^<]*)<\/pathSet>/g)].map(([, path = '']) =>
    path.replaceAll('&quot;', '"'),
  )
}

/** What Rollcall knows of a VM, as far as a recording tells it. */
export function recordedVM(vm: VirtualMachine, labels: RecordOptions['labels']): RecordedVM {
  const { biosUUID = '', moref, name, powerState, connectionState, host, cluster, datacenter, ancestry } = vm
  const { zone, region } = ancestry === undefined ? {} : resolveTopology(ancestry, labels, false)
  return {
    biosUUID,
    moref,
    name,
    powerState,
    connectionState,
    ...defined({ host, cluster, datacenter, zone, region }),
  }
}

function replaced(
  { biosUUID, moref, name, powerState, connectionState, ...places }: RecordedVM,
  names: Pseudonyms,
): RecordedVM {
  return {
    biosUUID: names.text(biosUUID),
    moref: names.moref(moref, 'VirtualMachine'),
    name: names.text(name),
    powerState,
    connectionState,
    ...defined(places, names.text),
  }
}

/** Without what is undefined. */
function defined<K extends string>(
  values: Readonly<Partial<Record<K, string | undefined>>>,
  change: (text: string) => string = (text) => text,
): { readonly [Key in K]?: string } {
  const set: { [Key in K]?: string } = {}
  for (const key in values) {
    const value = values[key]
    if (value !== undefined) set[key] = change(value)
  }
  return set
}

/** The same call with the same answer counts once. */
function withoutRepetitions(exchanges: readonly Exchange[]): readonly Exchange[] {
  return [...new Map(exchanges.map((each) => [JSON.stringify(each), each])).values()]
}
