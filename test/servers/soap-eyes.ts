/** A simulator, and what a client sees of it. */
import type { Teardown } from '../world/stage.ts'
import type { VcsimVM } from './control.ts'
import { openSoap } from './soap.ts'
import { startVcsim, type VcsimOptions } from './vcsim.ts'

export const SHARED_COLLECTOR = { type: 'PropertyCollector', ref: 'propertyCollector' }
export const SEARCH_INDEX = { type: 'SearchIndex', ref: 'SearchIndex' }
const VIEW_MANAGER = { type: 'ViewManager', ref: 'ViewManager' }

/** The reference or value that an answer returns. */
export function returned(text: string): string | undefined {
  return /<returnval[^>]*>([^<]+)</.exec(text)?.[1]
}

export function object(ref: string, type = 'VirtualMachine'): string {
  return `<obj type="${type}">${ref}</obj>`
}

/** What to read of which objects, as a filter and a read have it. */
export function propertySpec(type: string, paths: readonly string[], objects: string): string {
  const sets = paths.map((path) => `<pathSet>${path}</pathSet>`).join('')
  return `<propSet><type>${type}</type>${sets}</propSet>${objects}`
}

/** All that is on a view. */
export function membersOf(view: string | undefined, type: 'ContainerView' | 'ListView'): string {
  const members = `<type>${type}</type><path>view</path><skip>false</skip>`
  return `<objectSet>${object(view ?? '', type)}<skip>true</skip><selectSet xsi:type="TraversalSpec"><name>m</name>${members}</selectSet></objectSet>`
}

/** Starts a simulator and logs a client in, both ended with the test. */
export async function openEyes(t: Teardown, options: VcsimOptions = {}) {
  const vcsim = await startVcsim({ vms: 3, ...options })
  t.teardown(() => vcsim.stop())
  const soap = await openSoap(vcsim)
  t.teardown(async () => await soap[Symbol.asyncDispose]())
  await soap.login()
  return {
    vcsim,
    soap,
    async search(uuid: string, instance = false): Promise<string[]> {
      const inner = `<uuid>${uuid}</uuid><vmSearch>true</vmSearch><instanceUuid>${instance}</instanceUuid>`
      const { text } = await soap.call('FindAllByUuid', SEARCH_INDEX, inner)
      return Array.from(text.matchAll(/<returnval[^>]*>([^<]+)</g), ([, ref = '']) => ref)
    },
    async read(type: string, ref: string, ...paths: string[]): Promise<string> {
      const spec = propertySpec(type, paths, `<objectSet>${object(ref, type)}</objectSet>`)
      return (
        await soap.call('RetrievePropertiesEx', SHARED_COLLECTOR, `<specSet>${spec}</specSet><options/>`)
      ).text
    },
    /** Opens a view of all machines. */
    async viewAll(): Promise<string | undefined> {
      const all = '<type>VirtualMachine</type><recursive>true</recursive>'
      const inner = `<container type="Folder">group-d1</container>${all}`
      return returned((await soap.call('CreateContainerView', VIEW_MANAGER, inner)).text)
    },
    /** Opens a view of these machines. */
    async viewOf(...vms: readonly VcsimVM[]): Promise<string | undefined> {
      const inner = vms.map(({ ref }) => object(ref)).join('')
      return returned((await soap.call('CreateListView', VIEW_MANAGER, inner)).text)
    },
    /** Watches paths of the machines on a view; each call resolves with the text of the next update. */
    async watch(view: string | undefined, type: 'ContainerView' | 'ListView', ...paths: readonly string[]) {
      const spec = propertySpec('VirtualMachine', paths, membersOf(view, type))
      const missing = '<reportMissingObjectsInResults>true</reportMissingObjectsInResults>'
      const filter = `<spec>${spec}${missing}</spec><partialUpdates>false</partialUpdates>`
      await soap.call('CreateFilter', SHARED_COLLECTOR, filter)
      let version = ''
      return async (seconds = 10): Promise<string> => {
        const options = `<options><maxWaitSeconds>${seconds}</maxWaitSeconds></options>`
        const inner = `<version>${version}</version>${options}`
        const { text } = await soap.call('WaitForUpdatesEx', SHARED_COLLECTOR, inner)
        version = /<version>([^<]*)</.exec(text)?.[1] ?? version
        return text
      }
    },
  }
}

/** The first machines of a simulator. */
export async function firstVMs({ vms }: { vms(): Promise<VcsimVM[]> }): Promise<[VcsimVM, VcsimVM, VcsimVM]> {
  const [first, second, third] = await vms()
  if (!first || !second || !third) throw new Error('too few machines')
  return [first, second, third]
}

/** What an update says became of machines. */
export function kinds(update: string): Record<string, string> {
  const pattern = /<kind>(\w+)<\/kind><obj type="VirtualMachine">([^<]+)</g
  return Object.fromEntries([...update.matchAll(pattern)].map(([, kind, ref]) => [ref ?? '', kind ?? '']))
}
