import type { Clock } from '../../agent/shared/clock.ts'
import type { DecisionConfig } from '../config/config.ts'
import { listed } from '../lib/listed.ts'
import type { Logger } from '../lib/log.ts'
import { every, type Task } from '../lib/tasks.ts'
import { twinsOf } from '../loops/node/gather/twin-vcenters.ts'
import type { RunningInventory } from '../vcenter/running-inventory.ts'

export interface TwinIdentitiesOptions {
  readonly servers: DecisionConfig['servers']
  readonly inventories: readonly Pick<RunningInventory, 'vCenter' | 'instanceUUID'>[]
  readonly clock: Clock
  readonly random: () => number
  readonly logger: Logger
}

/** Tells of servers whose vCenters say that they are one, as a cloned appliance does. */
export interface TwinIdentities {
  /**
   * One line for each identity. No reason not to be ready: one vCenter may have two DNS names, and a leader that is never ready
   * would stop the rollout of the configuration that mends it.
   */
  remarks(): readonly string[]
  /** Logs what is new of them. */
  readonly run: Task
}

const INTERVAL = 2_000

export function createTwinIdentities(options: TwinIdentitiesOptions): TwinIdentities {
  const { servers, inventories, clock, random, logger } = options
  let told = new Set<string>()

  function tell(): void {
    const twins = twinsOf(inventories, servers)
    for (const vCenters of twins) if (!told.has(String(vCenters))) logger.warn({ vCenters }, TWINS)
    told = new Set(twins.map(String))
  }

  return {
    remarks: () =>
      twinsOf(inventories, servers).map(
        (names) =>
          `vCenters ${listed(names)} say that they are one (about.instanceUuid), so what one alone says of a VM is not believed; see the log`,
      ),
    run: every(INTERVAL, async () => tell(), clock, random),
  }
}

const TWINS =
  'vCenters on several servers say that they are one (about.instanceUuid), so what one alone says of a VM is not believed; take a clone out of the configuration, or write one server name if they are one'
