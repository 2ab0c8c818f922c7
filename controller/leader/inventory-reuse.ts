import { isDeepStrictEqual } from 'node:util'
import { anySignal } from '../../agent/shared/any-signal.ts'
import { type Config, serverKey, type VCenterConfig } from '../config/config.ts'
import { sameConnection } from '../config/watch.ts'
import { aborted } from '../lib/tasks.ts'
import type { InventoryOptions } from '../vcenter/inventory.ts'
import type { RunningInventory } from '../vcenter/running-inventory.ts'

/** Opens the inventory of one vCenter. */
export type OpenInventory = (
  options: Pick<InventoryOptions, 'config' | 'categories' | 'sources' | 'onChange'>,
) => RunningInventory

interface Entry {
  readonly config: VCenterConfig
  /** As configured now. They are read at each login, so a new password needs no new session. */
  login: Pick<VCenterConfig, 'password' | 'oddity'>
  readonly read: ReturnType<typeof readFor>
  readonly inventory: RunningInventory
  onChange: InventoryOptions['onChange']
  followed: Set<string>
  /** UUIDs followed for the former configuration and not yet for this one. */
  former: Set<string>
  readonly end: AbortController
  running: Promise<void> | undefined
}

/**
 * The inventories of a term of leadership. They outlive changes of the configuration: a vCenter whose settings did not
 * change keeps its session and everything known about its VMs.
 *
 * @param signal ends all of them
 */
export function createInventoryReuse(open: OpenInventory, signal: AbortSignal) {
  const entries = new Map<string, Entry>()
  const ending = new Map<Promise<void>, VCenterConfig>()
  let read: Entry['read'] = { categories: { zone: undefined, region: undefined }, sources: [] }

  /** Adopts a configuration: ends inventories that cannot continue with it. To be called before `take`. */
  function adopt(config: Config): void {
    read = readFor(config)
    for (const [name, entry] of entries) {
      const wanted = config.vCenters.find((vCenter) => vCenter.name === name)
      // A new password is no reason to log in again: the session was made with the old one, and vCenter may not know the new
      // one yet.
      const mayGoOn =
        wanted !== undefined && sameConnection(entry.config, wanted) && isDeepStrictEqual(entry.read, read)
      if (!mayGoOn) retire(entry)
      else {
        const same = entry.login.password.equals(wanted.password)
        entry.login = wanted
        if (!same) entry.inventory.passwordChanged()
      }
    }
  }

  function retire({ config, end, running }: Entry): void {
    entries.delete(config.name)
    end.abort()
    if (running === undefined) return
    ending.set(running, config)
    const ended = () => void ending.delete(running)
    // `close` throws defects.
    void running.then(ended, () => undefined)
  }

  function make(config: VCenterConfig): Entry {
    const entry: Entry = {
      config,
      login: config,
      read,
      inventory: open({
        config: {
          ...config,
          get password() {
            return entry.login.password
          },
          get oddity() {
            return entry.login.oddity
          },
        },
        ...read,
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
    // Never more sessions with one vCenter than entries that name it: the old one is logged out first.
    const before = [...ending]
      .filter(([, other]) => serverKey(other) === serverKey(config))
      .map(([done]) => done)
    await Promise.all(before)
    const either = anySignal([signal, end.signal])
    if (!either.aborted) await inventory.run(either)
  }

  return {
    adopt,
    /** The inventory of a vCenter of the adopted configuration. It ends with the term or by `adopt`, not with its `run`. */
    take(vCenter: VCenterConfig, onChange: InventoryOptions['onChange']): RunningInventory {
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
    /** Everything needed is followed now: UUIDs that only the former configuration needed are dropped. */
    settle(): void {
      for (const { inventory, followed, former } of entries.values()) {
        for (const uuid of former) if (!followed.has(uuid)) inventory.unfollow(uuid)
        former.clear()
      }
    },
    /** Ends the remaining inventories and waits for them. Throws if one of them has failed. */
    async close(): Promise<void> {
      for (const entry of [...entries.values()]) retire(entry)
      await Promise.all(ending.keys())
    },
  }
}

/** What an inventory reads for the labels of Nodes. */
function readFor({ labels, labelRules }: Config) {
  return { categories: labels, sources: labelRules.map(({ from }) => from) }
}
