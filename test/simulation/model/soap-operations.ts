/** What a vCenter answers to the SOAP operations that the real code sends. */

import { SoapFault } from '../../../controller/vcenter/wire/errors.ts'
import type { ManagedObjectReference } from '../../../controller/vcenter/wire/managed-object-reference.ts'
import { element, reference } from '../../../controller/vcenter/wire/soap.ts'
import type { Page, Respond } from './collector.ts'
import { parseSpecs, readProperties } from './property-specs.ts'
import { type Client, OWN_COLLECTOR, type SessionModel } from './session.ts'
import { FIELDS, ROOT, SESSIONS, vmReference } from './values.ts'
import type { VCenterModel } from './vcenter.ts'

/** A request, as far as the model reads it. */
export interface SoapRequest {
  readonly operation: string
  readonly target: ManagedObjectReference
  readonly parameters: string
}

/** The content of the response; what it throws is a SoapFault. */
type Answer = (asked: Asked) => string

interface Asked {
  readonly vCenter: VCenterModel
  readonly session: SessionModel
  readonly target: ManagedObjectReference
  readonly parameters: string
}

const made = (object: ManagedObjectReference): string => reference('returnval', object)
const resultOf = ({ token, objects }: Page): string => {
  const more = token === undefined ? '' : element('token', token)
  return objects.length === 0 ? '' : `<returnval>${more}${objects.join('')}</returnval>`
}
const destroy: Answer = ({ session, target }) => {
  session.destroy(target)
  return ''
}

/** The operations in a session. All else is not modeled. */
const OPERATIONS: Readonly<Record<string, Answer>> = {
  CurrentTime: () => '',
  Logout({ vCenter, session }) {
    session.over = true
    vCenter.sessions.delete(session.key)
    return ''
  },
  TerminateSession({ vCenter, parameters }) {
    for (const [, key = ''] of parameters.matchAll(/<sessionId>([^<]*)/g)) {
      const ended = vCenter.sessions.get(key)
      if (ended !== undefined) ended.over = true
      vCenter.sessions.delete(key)
    }
    return ''
  },
  FindAllByUuid({ vCenter, parameters }) {
    const kind = parameters.includes('<instanceUuid>true') ? 'instance' : 'bios'
    const uuid = /<uuid>([^<]*)/.exec(parameters)?.[1] ?? ''
    return vCenter
      .search(uuid, kind)
      .map(({ moref }) => made(vmReference(moref)))
      .join('')
  },
  RetrievePropertiesEx: ({ vCenter, session, target, parameters }) =>
    resultOf(
      session.collector(target.value).firstPage(readProperties(vCenter, session, parameters), vCenter.page),
    ),
  ContinueRetrievePropertiesEx: ({ vCenter, session, target, parameters }) =>
    resultOf(
      session.collector(target.value).nextPage(/<token>([^<]*)/.exec(parameters)?.[1] ?? '', vCenter.page),
    ),
  HasPrivilegeOnEntities({ vCenter, parameters }) {
    return referencesIn(parameters, 'entity')
      .map((object) => {
        const { type, value } = object
        const folder = vCenter.folders.find(({ moref }) => moref === value)
        if (type === 'Folder' && folder === undefined && value !== ROOT)
          throw new SoapFault('ManagedObjectNotFound', '', object)
        const granted = element('isGranted', !vCenter.denied.has(value))
        const privileges = ['System.View', 'System.Read'].map(
          (privilege) => `<privAvailability>${element('privId', privilege)}${granted}</privAvailability>`,
        )
        return `<returnval>${reference('entity', object)}${privileges.join('')}</returnval>`
      })
      .join('')
  },
  CreateContainerView: ({ session }) => made(session.createView('ContainerView')),
  CreateListView: ({ session }) => made(session.createView('ListView')),
  ModifyListView({ vCenter, session, target, parameters }) {
    const [added, removed] = [referencesIn(parameters, 'add'), referencesIn(parameters, 'remove')]
    const known = added.filter(({ value }) => vCenter.vms.has(value))
    // What the account may not see fails the whole call; what is gone is named in the answer.
    for (const { value } of known) vCenter.read(value)
    session.change(target.value, known, removed)
    return added
      .filter((each) => !known.includes(each))
      .map(made)
      .join('')
  },
  DestroyView: destroy,
  CreatePropertyCollector: ({ session }) => made(session.createCollector()),
  CreateFilter({ session, target, parameters }) {
    const { paths, starts } = parseSpecs(parameters)
    return made(session.watch(target.value, starts, paths))
  },
  CancelWaitForUpdates({ session, target }) {
    session.collector(target.value).breakWait(() => {
      throw new SoapFault('RequestCanceled', '')
    })
    return ''
  },
  DestroyPropertyCollector: destroy,
}

/** Parses what the real code has written. */
export function parseRequest(body: string): SoapRequest {
  const [, operation = '', type = '', value = '', parameters = ''] =
    /<soapenv:Body><(\w+) [^>]*><_this type="(\w+)">([^<]*)<\/_this>(.*)<\/\1>/s.exec(body) ?? []
  return { operation, target: { type, value }, parameters }
}

function referencesIn(parameters: string, name: string): readonly ManagedObjectReference[] {
  return Array.from(
    parameters.matchAll(new RegExp(`<${name} type="(\\w+)">([^<]*)`, 'g')),
    ([, type = '', value = '']) => ({ type, value }),
  )
}

/** A request that vCenter has begun to work on. */
export interface Begun {
  /** Answers: at once, but for a wait for updates. Returns how to give up. */
  start(respond: Respond): (() => void) | undefined
  /** A session that was made. */
  readonly made?: SessionModel
}

/** Takes a request of a session, or one that needs none. Throws a SoapFault as vCenter does. */
export function answer(
  vCenter: VCenterModel,
  { operation, target, parameters }: SoapRequest,
  { cookie, client }: { readonly cookie: string | undefined; readonly client: Client },
): Begun {
  const inResponse = (content: string) =>
    `<${operation}Response xmlns="urn:vim25">${content}</${operation}Response>`
  const now = (content: string) => (respond: Respond) => {
    respond(() => inResponse(content))
    return undefined
  }
  if (operation === 'RetrieveServiceContent') return { start: now(serviceContent(vCenter)) }
  if (operation === 'Login') {
    const made = vCenter.login(client)
    return { start: now(`<returnval>${element('key', made.key)}</returnval>`), made }
  }
  const session = vCenter.session(cookie)
  if (operation === 'WaitForUpdatesEx') {
    const version = /<version>([^<]*)/.exec(parameters)?.[1] ?? ''
    const seconds = Number(/<maxWaitSeconds>(\d+)/.exec(parameters)?.[1])
    return {
      start: (respond) =>
        session
          .collector(target.value)
          .wait(version, seconds * 1_000, (content) => respond(() => inResponse(content()))),
    }
  }
  const answers = OPERATIONS[operation]
  if (answers === undefined) throw new Error(`the operation ${operation} is not modeled`)
  return { start: now(answers({ vCenter, session, target, parameters })) }
}

function serviceContent({ instanceUUID }: VCenterModel): string {
  const names = [OWN_COLLECTOR, 'viewManager', 'searchIndex', SESSIONS, 'authorizationManager', FIELDS]
  const about = element('apiType', 'VirtualCenter') + element('instanceUuid', instanceUUID)
  const managers = names.map((name) => reference(name, { type: 'ManagedObject', value: name }))
  const root = reference('rootFolder', { type: 'Folder', value: ROOT })
  return `<returnval><about>${about}</about>${root}${managers.join('')}</returnval>`
}
