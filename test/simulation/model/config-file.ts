/** The controller's configuration file, and a folder with credentials beside it: people write them, each replica reads them. */
import type { DecisionConfig, LifecycleConfig } from '../../../controller/config/config.ts'
import type { ConfigSource } from '../../../controller/config/load.ts'
import { noFolder } from '../../../controller/config/testing/load.ts'
import type { Timeline } from '../timeline.ts'
import type { Process } from './process.ts'

export interface ConfigFile {
  /** What it says at the beginning; people return to it. */
  readonly original: DecisionConfig
  /** What the last valid text says. */
  readonly settings: DecisionConfig
  /** When `lifecycle.deletion` was last changed in it, milliseconds; it may be invalid by now. */
  readonly deletionSince: number
  /** Since when the file is invalid; undefined while it is not. */
  readonly invalidSince: number | undefined
  /** Somebody changes the file, if only what makes no difference to any Node; with `reconnect`, all vCenters' settings too. */
  write(change: Partial<LifecycleConfig>, reconnect?: boolean): void
  /** Somebody adds a vCenter, with the datacenters of another one; before all others, or after them. */
  add(name: string, like: string, place?: 'first' | 'last'): void
  remove(name: string): void
  /** Whether the file, if it is valid, names this one. */
  names(name: string): boolean
  /** Somebody makes a mistake, or mends it. */
  spoil(invalid: boolean): void
  /** The next time that a replica reads the file, somebody is writing it: what it finds is valid, and not meant. */
  tear(reader: Process): void
  /** Somebody takes the folder with the credentials away, or puts it back; nothing where the file has them. */
  credentials(there: boolean): void
  source(reader: Process): ConfigSource
}

export interface ConfigFileOptions {
  readonly settings: DecisionConfig
  readonly vCenters: readonly string[]
  /** Whether users and passwords are in a folder. */
  readonly apart: boolean
  readonly timeline: Timeline
}

/** A vCenter that only half-written and invalid texts name. */
const UNMEANT = 'vc-unmeant'
const PATH = '/etc/rollcall/vsphere.conf'
const FOLDER = '/etc/rollcall/credentials'

export function createConfigFile(options: ConfigFileOptions): ConfigFile {
  const { settings: original, apart, timeline } = options
  /** Their names, and whose datacenters they have. */
  let vCenters = new Map(options.vCenters.map((name) => [name, name]))
  const torn = new Set<Process>()
  let written = original.lifecycle
  let valid = original
  let deletionSince = -Infinity
  let invalidSince: number | undefined
  let revision = 0
  let insecureFlag = false
  let folder = apart
  let content: Uint8Array = new Uint8Array()

  /** JSON is YAML. */
  function text(names: readonly string[], mistakes: object = {}): Uint8Array {
    const { labels, labelRules, identity, topology, datacenters, certificates } = original
    const { absentFor, leaderAge, waitForVolumes, outOfServiceAfter } = written
    const access = { insecureFlag, ...(apart ? {} : { user: 'rollcall', password: 'secret' }) }
    const said = {
      global: apart ? { secretsDirectory: FOLDER } : {},
      vcenter: Object.fromEntries(
        names.map((name) => [
          name,
          { server: name, ...access, datacenters: datacenters[vCenters.get(name) ?? name] ?? [] },
        ]),
      ),
      labels,
      labelRules: labelRules.map(({ from, map, ...rule }) => ({
        ...rule,
        from: { [from.kind]: 'name' in from ? from.name : 'name' },
        map: Object.fromEntries(map),
      })),
      identity,
      lifecycle: {
        ...written,
        absentFor: duration(absentFor),
        leaderAge: duration(leaderAge),
        waitForVolumes: duration(waitForVolumes),
        outOfServiceAfter: duration(outOfServiceAfter),
      },
      topology,
      certificates,
      // Nobody is there.
      nodes: { excludeExternalNetworkSubnetCidr: [`192.0.2.${revision % 256}/32`] },
      ...mistakes,
    }
    return new TextEncoder().encode(JSON.stringify(said))
  }

  /** Each time another, or it would be what two looks have found. */
  function half(): Uint8Array {
    revision++
    return text([...vCenters.keys(), UNMEANT])
  }

  function save(): void {
    const invalid = invalidSince !== undefined
    content = invalid ? text([...vCenters.keys(), UNMEANT], { mistake: 1 }) : text([...vCenters.keys()])
    if (invalid) return
    if (valid.lifecycle.deletion !== written.deletion) deletionSince = timeline.now
    valid = { ...original, lifecycle: written }
  }

  save()
  return {
    original,
    get settings() {
      return valid
    },
    get deletionSince() {
      return deletionSince
    },
    get invalidSince() {
      return invalidSince
    },
    write(change, reconnect = false) {
      written = { ...written, ...change }
      if (reconnect) insecureFlag = !insecureFlag
      revision++
      save()
    },
    add(name, like, place = 'last') {
      vCenters = new Map(place === 'first' ? [[name, like], ...vCenters] : [...vCenters, [name, like]])
      revision++
      save()
    },
    remove(name) {
      vCenters.delete(name)
      revision++
      save()
    },
    names: (name) => vCenters.has(name),
    spoil(invalid) {
      invalidSince = invalid ? (invalidSince ?? timeline.now) : undefined
      save()
    },
    tear: (reader) => torn.add(reader),
    credentials(there) {
      folder = apart && there
    },
    source: (reader) => ({
      path: PATH,
      async readFile(path) {
        if (path !== PATH) return new TextEncoder().encode('rollcall')
        return torn.delete(reader) ? half() : content
      },
      async readFolder(path) {
        if (path !== FOLDER || !folder) return noFolder()
        return [...vCenters.keys()].flatMap((name) => [`${name}.username`, `${name}.password`])
      },
    }),
  }
}

function duration(ms: number | undefined): string {
  return ms === undefined ? 'off' : `${ms}ms`
}
