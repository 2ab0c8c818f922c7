/** What a vCenter answers to the SOAP operations that the real code sends. */
import { SoapFault } from '../../../controller/vcenter/wire/errors.ts'
import type { SoapCall } from '../../../controller/vcenter/wire/soap.ts'
import type { XMLElement } from '../../../controller/vcenter/wire/xml.ts'
import { content, element, text, toElement } from './elements.ts'
import { shownPower, type VM } from './machine.ts'
import type { SessionModel, VCenterModel } from './vcenter.ts'

type Answer = (vCenter: VCenterModel, parameters: string) => XMLElement[]

/** The operations in a session. All else is not modelled. */
const OPERATIONS: Readonly<Record<string, Answer>> = {
  CurrentTime: () => [],
  Logout: () => [],
  FindAllByUuid(vCenter, parameters) {
    const kind = parameters.includes('<instanceUuid>true') ? 'instance' : 'bios'
    const uuid = /<uuid>([^<]*)/.exec(parameters)?.[1] ?? ''
    return vCenter.search(uuid, kind).map(({ moref }) => toElement('returnval', vmReference(moref)))
  },
  RetrievePropertiesEx(vCenter, parameters) {
    const [, type, value = ''] = /<obj type="(\w+)">([^<]*)/.exec(parameters) ?? []
    if (type !== 'VirtualMachine') {
      const visible = [...vCenter.vms.values()].filter(vCenter.isVisible)
      return [element('returnval', ...visible.map((vm) => propertiesOf(vm, vCenter)))]
    }
    return [element('returnval', propertiesOf(vCenter.read(value), vCenter))]
  },
  HasPrivilegeOnEntities(vCenter, parameters) {
    return [...parameters.matchAll(/<entity type="(\w+)">([^<]*)/g)].map(([, type = '', value = '']) => {
      const object = { type, value }
      const folder = vCenter.folders.find(({ moref }) => moref === value)
      if (type === 'Folder' && folder === undefined && value !== ROOT)
        throw new SoapFault('ManagedObjectNotFound', '', object)
      const granted = String(!vCenter.denied.has(value))
      const privileges = ['System.View', 'System.Read'].map((privilege) =>
        element('privAvailability', text('privId', privilege), text('isGranted', granted)),
      )
      return element('returnval', toElement('entity', object), ...privileges)
    })
  },
  CreatePropertyCollector: () => [
    toElement('returnval', { type: 'PropertyCollector', value: 'collector-2' }),
  ],
  DestroyPropertyCollector: () => [],
}

/** Of the root folder. */
export const ROOT = 'group-d1'

export interface Reply {
  readonly response: XMLElement
  /** A session that was made. */
  readonly session?: SessionModel
}

/** Throws a SoapFault as vCenter does. `owner` is who asks. */
export function answer(
  vCenter: VCenterModel,
  call: SoapCall,
  cookie: string | undefined,
  owner: string,
): Reply {
  const { operation, parameters = '' } = call
  const response = (...children: XMLElement[]) => element(`${operation}Response`, ...children)
  if (operation === 'RetrieveServiceContent') return { response: response(serviceContent(vCenter)) }
  if (operation === 'Login') {
    const session = vCenter.login(owner)
    return { response: response(element('returnval', text('key', session.key))), session }
  }
  vCenter.session(cookie)
  const answers = OPERATIONS[operation]
  if (answers === undefined) throw new Error(`the operation ${operation} is not modelled`)
  const reply = { response: response(...answers(vCenter, parameters)) }
  if (operation === 'Logout') vCenter.sessions.delete(cookie ?? '')
  return reply
}

function serviceContent({ instanceUUID }: VCenterModel): XMLElement {
  const names = ['propertyCollector', 'viewManager', 'searchIndex', 'sessionManager', 'authorizationManager']
  return element(
    'returnval',
    element('about', text('apiType', 'VirtualCenter'), text('instanceUuid', instanceUUID)),
    toElement('rootFolder', { type: 'Folder', value: ROOT }),
    ...names.map((name) => toElement(name, { type: 'ManagedObject', value: name })),
  )
}

function propertiesOf(vm: VM, { reticent }: VCenterModel): XMLElement {
  const { moref, name, biosUUID, connectionState } = vm
  if (reticent.has(moref)) {
    const { children, ...rest } = content(vmReference(moref), { name })
    return { ...rest, children: [...children, ...ESSENTIAL.map(noPermission)] }
  }
  return content(vmReference(moref), {
    name,
    ...(connectionState === 'inaccessible' ? {} : { 'config.uuid': biosUUID }),
    'runtime.connectionState': connectionState,
    'runtime.powerState': shownPower(vm),
  })
}

const ESSENTIAL = ['config.uuid', 'runtime.connectionState', 'runtime.powerState']

function noPermission(path: string): XMLElement {
  const fault = { ...element('fault'), type: 'NoPermission' }
  return element('missingSet', text('path', path), element('fault', fault))
}

function vmReference(value: string) {
  return { type: 'VirtualMachine', value }
}
