/** Elements of a SOAP answer, as the reader of XML would hand them over. */
import type { ManagedObjectReference } from '../../../controller/vcenter/wire/managed-object-reference.ts'
import type { XMLElement } from '../../../controller/vcenter/wire/xml.ts'

export function element(name: string, ...children: XMLElement[]): XMLElement {
  return { name, type: undefined, kind: undefined, text: '', children }
}

export function text(name: string, value: string): XMLElement {
  return { ...element(name), text: value }
}

export function toElement(name: string, { type, value }: ManagedObjectReference): XMLElement {
  return { ...text(name, value), kind: type }
}

/** An ObjectContent. */
export function content(
  object: ManagedObjectReference,
  properties: Readonly<Record<string, string>>,
): XMLElement {
  const sets = Object.entries(properties).map(([name, value]) =>
    element('propSet', text('name', name), text('val', value)),
  )
  return element('objects', toElement('obj', object), ...sets)
}
