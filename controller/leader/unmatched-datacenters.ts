import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../agent/shared/clock.ts'
import type { VCenterConfig } from '../config/config.ts'
import { type DatacenterPath, matchesDatacenter } from '../config/datacenter-pattern.ts'
import type { Logger } from '../lib/log.ts'
import { every, type Task } from '../lib/tasks.ts'
import type { RunningInventory } from '../vcenter/running-inventory.ts'

export interface UnmatchedDatacentersOptions {
  readonly vCenters: readonly Pick<VCenterConfig, 'name' | 'datacenters'>[]
  readonly inventories: readonly Pick<RunningInventory, 'vCenter' | 'datacenters'>[]
  readonly clock: Clock
  readonly random: () => number
  readonly logger: Logger
}

/** Tells of entries under `datacenters` that mean no datacenter of their vCenter: of a misspelled one, before its Nodes come. */
export interface UnmatchedDatacenters {
  /** One line for each vCenter that has such, without names: anyone can read them. The log has those. */
  remarks(): readonly string[]
  /** Logs what is new of them. */
  readonly run: Task
}

const INTERVAL = 2_000

export function createUnmatchedDatacenters(options: UnmatchedDatacentersOptions): UnmatchedDatacenters {
  const { vCenters, inventories, clock, random, logger } = options
  const told = new Map<string, unknown>()

  const unmatched = () =>
    vCenters.flatMap(({ name, datacenters }) => {
      const seen = inventories.find(({ vCenter }) => vCenter === name)?.datacenters()
      const lost = datacenters.filter((each) => seen?.some((one) => matchesDatacenter(each, one)) === false)
      return lost.length === 0 ? [] : [{ name, of: datacenters.length, lost, seen: seen?.map(pathOf) }]
    })

  function tell(): void {
    const news = unmatched()
    for (const { name, lost, seen } of news) {
      if (!isDeepStrictEqual(told.get(name), lost))
        logger.warn({ vCenter: name, datacenters: lost, seen }, UNMATCHED)
    }
    told.clear()
    for (const { name, lost } of news) told.set(name, lost)
  }

  return {
    remarks: () =>
      unmatched().map(
        ({ name, of, lost }) =>
          `vCenter ${name}: ${lost.length} of ${of} datacenters in the configuration match none that the account can see; the log names them`,
      ),
    run: every(INTERVAL, async () => tell(), clock, random),
  }
}

const UNMATCHED =
  'datacenters in the configuration match none that the account can see, and no VM in them is found; correct the names, or give the account Read-only there'

function pathOf({ path }: DatacenterPath): string {
  return `/${path.join('/')}`
}
