import type { DecisionConfig, VCenterConfig } from '../config/config.ts'
import { matchesDatacenter, pathOf } from '../config/datacenter-pattern.ts'
import { listed } from '../lib/format.ts'
import { type Basics, every } from '../lib/tasks.ts'
import { twinsOf } from '../loops/node/gather/twin-vcenters.ts'
import type { Trouble } from '../types/trouble.ts'
import type { TagLack } from '../types/virtual-machine.ts'
import type { RunningInventory } from '../vcenter/running-inventory.ts'

export interface VCenterRemarksOptions extends Basics {
  readonly vCenters: readonly Pick<VCenterConfig, 'name' | 'datacenters'>[]
  readonly servers: DecisionConfig['servers']
  readonly labels: DecisionConfig['labels']
  readonly labelRules: DecisionConfig['labelRules']
  readonly inventories: readonly Pick<
    RunningInventory,
    'vCenter' | 'instanceUUID' | 'datacenters' | 'lackingCategories' | 'unsteady'
  >[]
}

interface Finding extends Trouble {
  /** For the log. */
  readonly facts: object
}

const INTERVAL = 2_000

/**
 * What the vCenters' answers say about the configuration, and whether their connections last. It does not make the leader
 * unready; `run` logs each once.
 */
export function createVCenterRemarks(options: VCenterRemarksOptions) {
  const { clock, random, logger } = options
  const look = () => [
    ...unmatchedDatacenters(options),
    ...lackingCategories(options),
    ...twinIdentities(options),
    ...unsteadyConnections(options),
  ]
  let logged = new Set<string>()

  async function log(): Promise<void> {
    const found = look()
    for (const { key, facts, message } of found) if (!logged.has(key)) logger.warn(facts, message)
    logged = new Set(found.map(({ key }) => key))
  }

  return {
    troubles: (): readonly Trouble[] => look().map(({ key, text, message }) => ({ key, text, message })),
    run: every(INTERVAL, log, clock, random),
  }
}

/** Entries under `datacenters` that match no datacenter of their vCenter: a misspelled one is found before its Nodes come. */
function unmatchedDatacenters({ vCenters, inventories }: VCenterRemarksOptions): readonly Finding[] {
  return vCenters.flatMap(({ name, datacenters }) => {
    const seen = inventories.find(({ vCenter }) => vCenter === name)?.datacenters()
    const lost = datacenters.filter((each) => seen?.some((one) => matchesDatacenter(each, one)) === false)
    if (lost.length === 0) return []
    return {
      key: JSON.stringify([name, lost]),
      text: `vCenter ${name}: ${lost.length} of ${datacenters.length} datacenters in the configuration match none that the account can see; the log names them`,
      facts: { vCenter: name, datacenters: lost, seen: seen?.map(pathOf) },
      message: `vCenter ${name}: no datacenter that the account can see (${listed(seen?.map(pathOf) ?? [])}) fits ${listed(lost)} under "datacenters", so no VM there is found; correct the names, or give the account Read-only there`,
    }
  })
}

/** Settings that name a category without tags: no Node of that vCenter gets the label. */
function lackingCategories({ labels, labelRules, inventories }: VCenterRemarksOptions): readonly Finding[] {
  const places = (['zone', 'region'] as const).map((label) => ({
    setting: `labels.${label}`,
    category: labels[label],
    label: `a ${label}`,
  }))
  const rules = labelRules.flatMap(({ label, from }) =>
    from.kind === 'tagCategory' ? { setting: 'labelRules', category: from.name, label } : [],
  )
  return inventories.flatMap((inventory) => {
    const { vCenter } = inventory
    const lacking = inventory.lackingCategories()
    return [...places, ...rules].flatMap(({ setting, category, label }) => {
      const found = category === undefined ? undefined : lacking.get(category)
      if (category === undefined || found === undefined) return []
      const lack = typeof found === 'object' ? 'unread' : found
      const message = `vCenter ${vCenter}: ${setting} names tag category "${listed([category])}", ${LACKS[lack]}, so no new Node gets ${label}; ${NEXT[lack]}give the account Read-only as a global permission`
      return {
        key: JSON.stringify([vCenter, label, category, lack]),
        text: message,
        facts: { vCenter, setting, category },
        message,
      }
    })
  })
}

type Lack = Extract<TagLack, string> | 'unread'

const LACKS: Readonly<Record<Lack, string>> = {
  categories: 'in a vCenter that shows the account none at all',
  category: 'which vCenter does not show',
  tags: 'of which vCenter shows no tag',
  unread: 'of which vCenter shows no tag among what could be read',
}

const NEXT: Readonly<Record<Lack, string>> = {
  categories: 'create it, correct the name, or ',
  category: 'create it, correct the name, or ',
  tags: 'create a tag in it and attach it, or ',
  unread: 'correct the name, or ',
}

/**
 * Servers whose vCenters say that they are one, such as a cloned appliance. One vCenter may have two DNS names, and a leader
 * that is never ready would stop the rollout of the configuration that corrects it.
 */
function twinIdentities({ servers, inventories }: VCenterRemarksOptions): readonly Finding[] {
  return twinsOf(inventories, servers).map((vCenters) => ({
    key: String(vCenters),
    text: `vCenters ${listed(vCenters)} report the same instance UUID (about.instanceUuid), so VM data that only one of them reports is ignored; see the log`,
    facts: { vCenters },
    message: `vCenters ${listed(vCenters)} on several servers report the same instance UUID (about.instanceUuid), so VM data that only one of them reports is ignored; remove the clone from the configuration, or use one server name for all if they are the same vCenter`,
  }))
}

/**
 * Each failure alone is too short to be shown: the next connection reads all anew. So push that never works, beside reads that do,
 * would be in the log alone.
 */
function unsteadyConnections({ inventories }: VCenterRemarksOptions): readonly Finding[] {
  return inventories.flatMap((inventory) => {
    const failure = inventory.unsteady()
    if (failure === undefined) return []
    const { vCenter, reason, message } = failure
    const what = `vCenter ${vCenter} answers, but its connection fails again and again (${reason}), so changes are seen late`
    return {
      key: JSON.stringify([vCenter, 'unsteady']),
      text: `${what}; see the log`,
      facts: { vCenter, reason, error: message },
      message: `${what}: ${message}`,
    }
  })
}
