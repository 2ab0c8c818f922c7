/** An inventory against a simulated vCenter. */

import { readFile } from 'node:fs/promises'
import { pino } from 'pino'
import type { Test } from 'tap'
import { type Clock, systemClock } from '../../../agent/shared/clock.ts'
import { until } from '../../../test/fixtures/until.ts'
import type { VcsimVM } from '../../../test/servers/control.ts'
import { startVcsim, type Vcsim, type VcsimOptions } from '../../../test/servers/vcsim.ts'
import type { VCenterConfig } from '../../config/config.ts'
import { Secret } from '../../config/secret.ts'
import type { Lookup } from '../../types/inventory.ts'
import { bindingParents, type VirtualMachine } from '../../types/virtual-machine.ts'
import { type InventoryOptions, openInventory } from '../inventory.ts'
import type { RunningInventory } from '../running-inventory.ts'
import type { LoginLimiter } from '../session/login-limiter.ts'
import { TIMINGS, type Timings } from '../timings.ts'
import { testLogins } from './logins.ts'

/** As in service, but for what a test would have to wait for. How long a call may take is not among these: on a busy machine any takes seconds. */
export const QUICK: Timings = {
  ...TIMINGS,
  doubt: 300,
  pollWait: 5_000,
  failureGrace: 1_500,
  members: { quiet: 100, max: 1_000, spacing: 100 },
  tags: { quiet: 50, max: 200, spacing: 100 },
  provability: { quiet: 50, max: 200, spacing: 100 },
  unanswered: { base: 500, max: 1_000 },
  backoff: { base: 200, max: 1_000 },
}

/** A time that is not over before the whole test file is given up: what waits for it does not end. */
export const NEVER = 3_600_000

export interface Lab {
  readonly vCenter: Vcsim
  readonly inventory: RunningInventory
  /** UUIDs of all calls of onChange, in order. */
  readonly changes: ReadonlySet<string>[]
  /** Corrections of each resync, in order. */
  readonly corrections: readonly number[]
  /** How many VMs could not be watched, whenever that was told. */
  readonly unwatched: readonly number[]
  /** Lines of the log. */
  readonly log: string[]
  /** Ends the inventory and resolves when `run` has. */
  stop(): Promise<void>
}

export interface LabOptions {
  readonly simulator?: VcsimOptions
  readonly config?: Partial<VCenterConfig>
  readonly timings?: Timings
  readonly categories?: InventoryOptions['categories']
  readonly sources?: InventoryOptions['sources']
  readonly clock?: Clock
  readonly client?: string
  readonly logins?: LoginLimiter
  /** Another lab's vCenter, which goes on; by default one of its own. */
  readonly vCenter?: Vcsim
  readonly openConnection?: InventoryOptions['openConnection']
  /** Called at each change, with what there is at that moment. */
  readonly onChange?: (vms: readonly VirtualMachine[]) => void
  /** Sets the scene before anything is asked. */
  readonly before?: (vCenter: Vcsim) => Promise<unknown>
}

/** How a simulated vCenter is configured, as `lab`. */
export async function configOf(vCenter: Vcsim) {
  return {
    name: 'lab',
    server: vCenter.host,
    port: vCenter.port,
    user: vCenter.username,
    password: new Secret(vCenter.password),
    trust: { kind: 'ca', pem: await readFile(vCenter.certificateFile, 'utf8') },
    datacenters: [],
  } as const satisfies VCenterConfig
}

/** Starts both; the test's end stops them. */
export async function openLab(t: Test, options: LabOptions = {}): Promise<Lab> {
  const vCenter = options.vCenter ?? (await startVcsim({ vms: 3, ...options.simulator }))
  if (options.vCenter === undefined) t.teardown(() => vCenter.stop())
  await options.before?.(vCenter)
  await vCenter.resetCalls()
  const changes: ReadonlySet<string>[] = []
  const corrections: number[] = []
  const unwatched: number[] = []
  const log: string[] = []
  const inventory = openInventory({
    config: { ...(await configOf(vCenter)), ...options.config },
    categories: options.categories ?? { zone: 'k8s-zone', region: 'k8s-region' },
    ...(options.sources === undefined ? {} : { sources: options.sources }),
    userAgent: 'rollcall-controller/test',
    client: options.client,
    clock: options.clock ?? systemClock,
    random: Math.random,
    logger: pino({ level: 'debug' }, { write: (line) => void log.push(line) }),
    logins: options.logins ?? testLogins(),
    metrics: {
      call() {},
      reconnect() {},
      resynced: (count) => void corrections.push(count),
      unwatched: (vms) => void unwatched.push(vms),
    },
    onChange(uuids) {
      changes.push(uuids)
      options.onChange?.([...uuids].flatMap((uuid) => vmsOf(inventory.lookup(uuid)) ?? []))
    },
    timings: options.timings ?? QUICK,
    ...(options.openConnection === undefined ? {} : { openConnection: options.openConnection }),
  })
  const end = new AbortController()
  const running = inventory.run(end.signal)
  const stop = async () => {
    end.abort()
    await running
  }
  // Before the simulator's own teardown, because they run in reverse order.
  t.teardown(stop)
  return { vCenter, inventory, changes, corrections, unwatched, log, stop }
}

/** The VMs of an answer; undefined while there is none. */
export function vmsOf(lookup: Lookup): readonly VirtualMachine[] | undefined {
  return lookup.state === 'answered' ? lookup.vms : undefined
}

/** Waits until the UUID is answered, by as many VMs. */
export function answered({ inventory }: Lab, uuid: string, count = 1): Promise<readonly VirtualMachine[]> {
  return until(`${count} VM(s) with ${uuid}`, () => {
    const vms = vmsOf(inventory.lookup(uuid))
    return vms?.length === count && vms
  })
}

/** Waits until all about these VMs has been reported: what is above them is known, and what the account could prove of them. */
export async function told({ inventory }: Lab, ...uuids: readonly string[]): Promise<void> {
  await until(`all is known of ${uuids.length} VM(s)`, () =>
    uuids.every((uuid) => {
      const ancestry = vmsOf(inventory.lookup(uuid))?.[0]?.ancestry
      return ancestry !== undefined && inventory.provable(bindingParents(ancestry)) !== undefined
    }),
  )
}

/** The simulator's VM in this place. */
export async function vmAt({ vCenter }: Lab, index: number): Promise<VcsimVM> {
  const vm = (await vCenter.vms())[index]
  if (vm === undefined) throw new Error(`the simulator has no VM ${index}`)
  return vm
}
