/** What a request to a property collector asks for, and what vCenter answers. */
import { SoapFault } from '../../../controller/vcenter/wire/errors.ts'
import type { ManagedObjectReference } from '../../../controller/vcenter/wire/managed-object-reference.ts'
import { contentXML } from './elements.ts'
import type { SessionModel } from './session.ts'
import {
  FIELDS,
  ROOT,
  SESSIONS,
  type Shown,
  showAbove,
  showFields,
  showSessions,
  showVM,
  startsAbove,
  vmReference,
} from './values.ts'
import type { VCenterModel } from './vcenter.ts'

/** One PropertyFilterSpec. */
export interface Specs {
  /** Paths of VirtualMachine; other types are read with all that the model has. */
  readonly paths: readonly string[]
  readonly starts: readonly ManagedObjectReference[]
  /** Whether the selections go on from VMs to what stands above them. */
  readonly above: boolean
  /** Whether starts that do not exist are left out. */
  readonly lenient: boolean
}

/** Reads one of them as the real code writes it. */
export function parseSpecs(xml: string): Specs {
  const [, paths = ''] = /<type>VirtualMachine<\/type>((?:<pathSet>[^<]*<\/pathSet>)*)/.exec(xml) ?? []
  return {
    paths: Array.from(paths.matchAll(/<pathSet>([^<]*)/g), ([, path = '']) => path.replaceAll('&quot;', '"')),
    starts: Array.from(
      xml.matchAll(/<objectSet><obj type="(\w+)">([^<]*)/g),
      ([, type = '', value = '']) => ({
        type,
        value,
      }),
    ),
    above: xml.includes('<path>runtime.host</path>'),
    lenient: xml.includes('<reportMissingObjectsInResults>true'),
  }
}

/** The `objects` of all PropertyFilterSpecs. Throws a SoapFault. */
export function readProperties(
  vCenter: VCenterModel,
  session: SessionModel,
  parameters: string,
): readonly string[] {
  const [, ...specSets] = parameters.split('<specSet>')
  return specSets
    .flatMap((xml) => select(vCenter, session, parseSpecs(xml)))
    .map(({ object, values, refused, fault }) => contentXML(object, values, refused, fault))
}

function select(vCenter: VCenterModel, session: SessionModel, specs: Specs): readonly Shown[] {
  const { paths, lenient } = specs
  return specs.starts.flatMap((start) => {
    try {
      return selectFrom(vCenter, session, start, specs)
    } catch (error) {
      if (!lenient || !(error instanceof SoapFault)) throw error
      if (error.fault === 'ManagedObjectNotFound') return []
      // By the call, or by each property: vCenters do both.
      if (error.fault !== 'NoPermission' || vCenter.refusesCalls) throw error
      return [{ object: start, values: new Map(), refused: paths }]
    }
  })
}

function selectFrom(
  vCenter: VCenterModel,
  session: SessionModel,
  start: ManagedObjectReference,
  specs: Specs,
): readonly Shown[] {
  const { type, value } = start
  if (type === 'VirtualMachine') return [readVM(vCenter, value, specs.paths)]
  if (value === FIELDS) return [showFields(vCenter, start)]
  if (value === SESSIONS) return [showSessions(vCenter, start)]
  if (type === 'ListView' || type === 'ContainerView') return readView(vCenter, session, value, specs)
  // All folders and what is in them.
  if (value === ROOT && specs.paths.length > 0) return readView(vCenter, session, undefined, specs)
  return showAbove(vCenter, start)
}

function readVM(vCenter: VCenterModel, moref: string, paths: readonly string[]): Shown {
  const vm = vCenter.read(moref)
  if (vCenter.faults.get(moref) !== 'session') return showVM(vm, paths)
  return { object: vmReference(moref), values: new Map(), refused: paths, fault: 'NotAuthenticated' }
}

/** The VMs of a view that the account may see; of all without one. */
function readView(
  vCenter: VCenterModel,
  session: SessionModel,
  view: string | undefined,
  { paths, above }: Specs,
): readonly Shown[] {
  const members = view === undefined ? undefined : session.members(view)
  const vms = [...vCenter.vms.values()].filter(
    (vm) => members?.has(vm.moref) !== false && vCenter.isVisible(vm),
  )
  const shown = vms.map(({ moref }) => readVM(vCenter, moref, paths))
  if (!above) return shown
  const objects = new Map<string, Shown>()
  for (const start of vms.flatMap(startsAbove)) {
    if (objects.has(start.value)) continue
    for (const each of showAbove(vCenter, start)) objects.set(each.object.value, each)
  }
  return [...shown, ...objects.values()]
}
