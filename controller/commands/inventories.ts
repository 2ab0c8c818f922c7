import { isDeepStrictEqual } from 'node:util'
import { sameConnection } from '../config/changes.ts'
import type { Config, VCenterConfig } from '../config/config.ts'
import type { Secret } from '../config/secret.ts'
import { aborted } from '../tasks.ts'
import type { InventoryOptions, RunningInventory } from '../vcenter/inventory.ts'

export interface InventoriesOptions {
  /** Makes the inventory of one vCenter. */
  readonly open: (options: Pick<InventoryOptions, 'config' | 'categories' | 'onChange'>) => RunningInventory
  /** Ends them all. */
  readonly signal: AbortSignal
}

/**
 * The inventories of a term of leadership, which outlive what is built upon them: when the configuration changes, each
 * vCenter that it says nothing new about keeps its session and all that is known of its VMs.
 */
export interface Inventories {
  /** Fits them to this configuration: ends those that may not go on with it. Before any is taken by `take`. */
  adopt(config: Config): void
  /** The inventory of a vCenter of the adopted configuration. Its `run` waits; it ends with the term, or by `adopt`. */
  take(vCenter: VCenterConfig, onChange: InventoryOptions['onChange']): RunningInventory
  /** All that is to be followed is: what was followed for the configuration before, and is not now, need not be. */
  settle(): void
  /** Ends all that are left, and resolves when they have. Throws where one of them has failed. */
  close(): Promise<void>
}

interface Entry {
  readonly config: VCenterConfig
  /** As configured now: it is read for each login, so that one which changes needs no new session. */
  password: Secret
  readonly categories: Config['labels']
  readonly inventory: RunningInventory
  onChange: InventoryOptions['onChange']
  followed: Set<string>
  /** Followed for the configuration before, and not for this one so far. */
  former: Set<string>
  readonly end: AbortController
  running: Promise<void> | undefined
}

export function createInventories({ open, signal }: InventoriesOptions): Inventories {
  const entries = new Map<string, Entry>()
  const ending = new Map<Promise<void>, VCenterConfig>()
  let labels: Config['labels'] = { zone: undefined, region: undefined }

  function adopt(config: Config): void {
    labels = config.labels
    for (const [name, entry] of entries) {
      const wanted = config.vCenters.find((vCenter) => vCenter.name === name)
      if (wanted === undefined || !mayGoOn(entry, wanted, labels)) retire(entry)
      else if (!entry.password.equals(wanted.password)) {
        entry.password = wanted.password
        entry.inventory.passwordChanged()
      }
    }
  }

  function retire({ config, end, running }: Entry): void {
    entries.delete(config.name)
    end.abort()
    if (running === undefined) return
    ending.set(running, config)
    const ended = () => void ending.delete(running)
    // A defect is thrown by `close`.
    void running.then(ended, () => undefined)
  }

  function make(config: VCenterConfig): Entry {
    const entry: Entry = {
      config,
      password: config.password,
      categories: labels,
      inventory: open({
        config: {
          ...config,
          get password() {
            return entry.password
          },
        },
        categories: labels,
        onChange: (uuids) => entry.onChange(uuids),
      }),
      onChange: () => undefined,
      followed: new Set(),
      former: new Set(),
      end: new AbortController(),
      running: undefined,
    }
    return entry
  }

  async function run({ config, inventory, end }: Entry): Promise<void> {
    // One session with a vCenter, ever: the one before is logged out first.
    const before = [...ending].filter(([, other]) => sameServer(other, config)).map(([done]) => done)
    await Promise.all(before)
    const either = AbortSignal.any([signal, end.signal])
    if (!either.aborted) await inventory.run(either)
  }

  return {
    adopt,
    take(vCenter, onChange) {
      const entry = entries.get(vCenter.name) ?? make(vCenter)
      entries.set(vCenter.name, entry)
      entry.onChange = onChange
      entry.former = entry.followed
      entry.followed = new Set()
      const { inventory } = entry
      return {
        ...inventory,
        follow(uuid) {
          entry.followed.add(uuid)
          inventory.follow(uuid)
        },
        unfollow(uuid) {
          entry.followed.delete(uuid)
          entry.former.delete(uuid)
          inventory.unfollow(uuid)
        },
        async run(until) {
          entry.running ??= run(entry)
          await Promise.race([entry.running, aborted(until)])
        },
      }
    },
    settle() {
      for (const { inventory, followed, former } of entries.values()) {
        for (const uuid of former) if (!followed.has(uuid)) inventory.unfollow(uuid)
        former.clear()
      }
    },
    async close() {
      for (const entry of [...entries.values()]) retire(entry)
      await Promise.all(ending.keys())
    },
  }
}

/**
 * Whether nothing needs a new session. A password alone does not: the session that lives was made with the one before,
 * and vCenter may not know the new one yet.
 */
function mayGoOn(entry: Entry, wanted: VCenterConfig, labels: Config['labels']): boolean {
  return sameConnection(entry.config, wanted) && isDeepStrictEqual(entry.categories, labels)
}

function sameServer(a: VCenterConfig, b: VCenterConfig): boolean {
  return a.server === b.server && a.port === b.port
}
