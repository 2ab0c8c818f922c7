/** Why vCenter itself may soon start or move a VM. */
import { readObject } from '../collect/object-content.ts'
import { lenientFilterSpec, objectSpec, propertySpec } from '../collect/retrieve-properties.ts'
import { type SoapFault, VCenterError } from '../wire/errors.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { toReference } from '../wire/soap.ts'
import { child, childrenOf, textOf, type XMLElement } from '../wire/xml.ts'
import type { ProbeClient } from './probe-client.ts'

export const MAY_RESTART_PATHS = [
  'runtime.faultToleranceState',
  'runtime.dasVmProtection',
  'recentTask',
] as const

/** Most tasks of a VM that are read; vCenter keeps them for minutes only. */
const MAX_TASKS = 64
const MAX_WORD = 100

const WITHOUT_FAULT_TOLERANCE = new Set(['', 'notConfigured', 'disabled'])

/** The reasons in words. A missing property is not a reason, but unreadable tasks are. */
export async function readMayRestart(
  client: ProbeClient,
  properties: ReadonlyMap<string, XMLElement>,
  missing: ReadonlyMap<string, SoapFault>,
): Promise<readonly string[]> {
  const reasons: string[] = []
  const faultTolerance = properties.get('runtime.faultToleranceState')?.text ?? ''
  if (!WITHOUT_FAULT_TOLERANCE.has(faultTolerance)) {
    reasons.push(`its fault tolerance is in state "${word(faultTolerance)}"`)
  }
  if (textOf(properties.get('runtime.dasVmProtection'), 'dasProtected') === 'true') {
    reasons.push('vSphere HA protects it')
  }
  const unreadable = missing.get('recentTask')
  if (unreadable !== undefined) return [...reasons, `its tasks cannot be read (${unreadable.fault})`]
  const tasks = childrenOf(properties.get('recentTask'), 'ManagedObjectReference').flatMap(
    (each) => toReference(each) ?? [],
  )
  return [...reasons, ...(await unfinished(client, tasks.slice(-MAX_TASKS)))]
}

/** Tasks that are queued or running. Tasks that cannot be read or are gone are ignored. */
async function unfinished(
  { call, content }: ProbeClient,
  tasks: readonly ManagedObjectReference[],
): Promise<string[]> {
  if (tasks.length === 0) return []
  const specs = lenientFilterSpec(
    propertySpec('Task', ['info.state', 'info.descriptionId']),
    tasks.map((task) => objectSpec(task)).join(''),
  )
  try {
    const parameters = `<specSet>${specs}</specSet><options/>`
    const response = await call('RetrievePropertiesEx', content.propertyCollector, parameters)
    const result = child(response, 'returnval')
    // Probes share this collector, so none of them can read a second page.
    if (textOf(result, 'token') !== undefined) return ['its tasks are too many to be read at once']
    return childrenOf(result, 'objects').flatMap((record) => {
      const { properties } = readObject(record)
      const state = properties.get('info.state')?.text
      if (state !== 'running' && state !== 'queued') return []
      return `a task "${word(properties.get('info.descriptionId')?.text ?? 'unknown')}" is ${state}`
    })
  } catch (error) {
    if (!(error instanceof VCenterError)) throw error
    // What was read of the VM itself is still valid.
    return [`its tasks cannot be read (${error.reason})`]
  }
}

function word(text: string): string {
  return text.slice(0, MAX_WORD).toWellFormed()
}
