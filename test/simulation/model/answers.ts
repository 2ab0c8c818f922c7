/** What a vCenter answers to the SOAP operations that the real code sends. */
import { element, reference } from '../../../controller/vcenter/wire/envelope.ts'
import { SoapFault } from '../../../controller/vcenter/wire/errors.ts'
import type { ManagedObjectReference } from '../../../controller/vcenter/wire/managed-object-reference.ts'
import { parseSpecs, readProperties } from './property-specs.ts'
import type { Client, Page, Respond, SessionModel } from './session.ts'
import { ROOT, vmReference } from './values.ts'
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

/** The operations in a session. All else is not modelled. */
const OPERATIONS: Readonly<Record<string, Answer>> = {
  CurrentTime: () => '',
  Logout({ vCenter, session }) {
    session.over = true
    vCenter.sessions.delete(session.key)
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
    resultOf(session.firstPage(target.value, readProperties(vCenter, session, parameters), vCenter.page)),
  ContinueRetrievePropertiesEx: ({ vCenter, session, target, parameters }) =>
    resultOf(session.nextPage(target.value, /<token>([^<]*)/.exec(parameters)?.[1] ?? '', vCenter.page)),
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
    session.watch(target.value, starts[0]?.value ?? '', paths)
    return made({ type: 'PropertyFilter', value: `filter of ${target.value}` })
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

/**
 * Answers a request of a session, or one that needs none, by `respond`: at once, but for a wait for updates. Throws a
 * SoapFault as vCenter does. Returns how to give up, and a session that was made.
 */
export function answer(
  vCenter: VCenterModel,
  { operation, target, parameters }: SoapRequest,
  { cookie, client }: { readonly cookie: string | undefined; readonly client: Client },
  respond: Respond,
): { readonly giveUp?: () => void; readonly made?: SessionModel } {
  const inResponse = (content: string) =>
    `<${operation}Response xmlns="urn:vim25">${content}</${operation}Response>`
  const now = (content: string) => respond(() => inResponse(content))
  if (operation === 'RetrieveServiceContent') {
    now(serviceContent(vCenter))
    return {}
  }
  if (operation === 'Login') {
    const session = vCenter.login(client)
    now(`<returnval>${element('key', session.key)}</returnval>`)
    return { made: session }
  }
  const session = vCenter.session(cookie)
  if (operation === 'WaitForUpdatesEx') {
    const version = /<version>([^<]*)/.exec(parameters)?.[1] ?? ''
    const seconds = Number(/<maxWaitSeconds>(\d+)/.exec(parameters)?.[1])
    const giveUp = session.wait(target.value, version, seconds * 1_000, (content) =>
      respond(() => inResponse(content())),
    )
    return { giveUp }
  }
  const answers = OPERATIONS[operation]
  if (answers === undefined) throw new Error(`the operation ${operation} is not modelled`)
  now(answers({ vCenter, session, target, parameters }))
  return {}
}

function serviceContent({ instanceUUID }: VCenterModel): string {
  const names = ['propertyCollector', 'viewManager', 'searchIndex', 'sessionManager', 'authorizationManager']
  const about = element('apiType', 'VirtualCenter') + element('instanceUuid', instanceUUID)
  const managers = names.map((name) => reference(name, { type: 'ManagedObject', value: name }))
  const root = reference('rootFolder', { type: 'Folder', value: ROOT })
  return `<returnval><about>${about}</about>${root}${managers.join('')}</returnval>`
}
