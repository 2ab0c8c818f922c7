/** A probe of a vCenter that answers as a test says, through the whole of SOAP. */

import { systemClock } from '../../../agent/shared/clock.ts'
import type { BoundVM } from '../../../agent/shared/node-report.ts'
import { TIMINGS } from '../timings.ts'
import { type Canary, CanaryMemory } from '../vm-probe/canary.ts'
import { createProbeClient } from '../vm-probe/probe-client.ts'
import { probeVM } from '../vm-probe/prober.ts'
import type { HTTPRequest } from '../wire/connection.ts'
import type { VCenterError } from '../wire/errors.ts'
import { createSoapClient } from '../wire/soap.ts'
import {
  type FakeAnswer,
  type FakeConnection,
  fakeConnection,
  fault,
  operationOf,
  soap,
} from './fake-connection.ts'

export const BOUND: BoundVM = {
  vCenter: 'lab',
  vCenterInstanceUUID: 'vc',
  moref: 'vm-1',
  name: 'worker',
  instanceUUID: 'instance-1',
  biosUUID: 'bios-1',
  parents: [
    { type: 'Folder', moref: 'group-v12', name: 'workers' },
    { type: 'Folder', moref: 'group-d1', name: 'Datacenters' },
  ],
}

export const CANARIES = ['vm-7', 'vm-8', 'vm-9', 'vm-10'].map((moref) => ({
  moref,
  biosUUID: `bios of ${moref}`,
}))

export type Script = Record<string, (body: string) => FakeAnswer | string>

export const answer = (operation: string, content: string) => ({
  body: soap(`<${operation}Response>${content}</${operation}Response>`),
})
export const objects = (...records: string[]) => `<returnval>${records.join('')}</returnval>`
export const property = (path: string, value: string) =>
  `<propSet><name>${path}</name><val>${value}</val></propSet>`
export const missing = (path: string, type: string) =>
  `<missingSet><path>${path}</path><fault><fault x:type="${type}"/><localizedMessage/></fault></missingSet>`
export const record = (moref: string, ...content: string[]) =>
  `<objects><obj type="VirtualMachine">${moref}</obj>${content.join('')}</objects>`
export const gone = (type: string, value: string) =>
  fault('ManagedObjectNotFound', `<obj type="${type}">${value}</obj>`)
export const denied = (type: string, value: string) =>
  fault('NoPermission', `<object type="${type}">${value}</object><privilegeId>System.Read</privilegeId>`)
export const found = (...morefs: string[]) =>
  morefs.map((each) => `<returnval type="VirtualMachine">${each}</returnval>`).join('')
export const granted = (body: string, not?: string) =>
  [...body.matchAll(/<entity type="(\w+)">([^<]+)</g)]
    .map(([, type, value]) => {
      const each = (id: string) =>
        `<privAvailability><privId>${id}</privId><isGranted>${not !== `${id} on ${value}`}</isGranted></privAvailability>`
      return `<returnval><entity type="${type}">${value}</entity>${each('System.View')}${each('System.Read')}</returnval>`
    })
    .join('')
export const objectIn = (body: string) => /<obj type="\w+">([^<]+)</.exec(body)?.[1] ?? ''

/** A vCenter from which `vm-1` is gone, and that shows all others. */
const ABSENT: Script = {
  RetrievePropertiesEx: (body) => {
    const moref = objectIn(body)
    return moref === 'vm-1'
      ? gone('VirtualMachine', 'vm-1')
      : objects(record(moref, property('name', 'other')))
  },
  FindAllByUuid: (body) => {
    const canary = CANARIES.find(({ biosUUID }) => body.includes(`<uuid>${biosUUID}<`))
    return canary === undefined ? '' : found(canary.moref)
  },
  HasPrivilegeOnEntities: (body) => granted(body),
}

export interface Asked {
  readonly answers: Awaited<ReturnType<typeof probeVM>>
  readonly connection: FakeConnection
  readonly losses: readonly VCenterError[]
}

/** A probe client over this connection, in a session with this key. */
export function scriptedClient(
  connection: FakeConnection,
  { key, lost }: { readonly key: string | undefined; readonly lost: (error: VCenterError) => void },
) {
  const metrics = { call() {}, reconnect() {}, resynced() {}, unwatched() {} }
  const { signal } = new AbortController()
  const object = (type: string) => ({ type, value: type })
  return createProbeClient({
    vCenter: 'lab',
    access: {
      soap: createSoapClient({ connection, clock: systemClock, random: () => 0.5, metrics }),
      content: {
        instanceUUID: 'vc',
        rootFolder: { type: 'Folder', value: 'group-d1' },
        propertyCollector: object('PropertyCollector'),
        viewManager: object('ViewManager'),
        searchIndex: object('SearchIndex'),
        sessionManager: object('SessionManager'),
        authorizationManager: object('AuthorizationManager'),
      },
      login: { number: 1, key },
    },
    timings: TIMINGS,
    clock: systemClock,
    period: signal,
    signal,
    lost,
  })
}

export async function ask(
  script: Script,
  options: {
    vm?: Partial<BoundVM>
    own?: boolean
    key?: string | undefined
    /** VMs that are followed, and those that were seen before. */
    known?: readonly Canary[]
    seen?: readonly string[]
  } = {},
): Promise<Asked> {
  const losses: VCenterError[] = []
  const scripted = { ...ABSENT, ...script }
  const connection = fakeConnection((request: HTTPRequest) => {
    const operation = operationOf(request)
    const said = scripted[operation]?.(request.body ?? '') ?? fault('MethodNotFound')
    return typeof said === 'string' ? answer(operation, said) : said
  })
  const client = scriptedClient(connection, {
    key: 'key' in options ? options.key : 'session-key',
    lost: (error) => losses.push(error),
  })
  const { vm, own = true, known = CANARIES, seen = [] } = options
  const memory = new CanaryMemory()
  for (const moref of seen) memory.add(moref)
  const bound = { ...BOUND, ...vm }
  return {
    answers: await probeVM({
      client,
      vCenter: 'lab',
      vm: bound,
      own,
      canary: { vCenter: 'lab', known, memory },
    }),
    connection,
    losses,
  }
}

export const unknown = (reason: string, message = /./) => ({
  state: 'unknown',
  failure: { vCenter: 'lab', reason, message },
})
export const unproven = (reason: string, message = /./) => ({
  state: 'unproven',
  failure: { vCenter: 'lab', reason, message },
})
export const byMoref = (said: FakeAnswer | string): Script => ({
  RetrievePropertiesEx: (body) =>
    objectIn(body) === 'vm-1' ? said : objects(record(objectIn(body), property('name', 'other'))),
})
