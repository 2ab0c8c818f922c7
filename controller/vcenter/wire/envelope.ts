/** Writes SOAP requests. vSphere's WSDL fixes the order of elements; callers must keep it. */
import { VCenterError } from './errors.ts'
import type { ManagedObjectReference } from './managed-object-reference.ts'

/**
 * The requested API version: that of the oldest supported vCenter. Later vCenters support it too and answer in it, so no
 * answer contains an unknown type and no call is spent on negotiation. Where it is refused, see `api-version.ts`.
 */
export const VSPHERE_API_VERSION = '6.7'

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  // A parser turns a bare carriage return into a line feed, which would change a password.
  '\r': '&#13;',
}

/** Text for an element or an attribute. Throws a VCenterError for a character that XML 1.0 cannot carry. */
export function escapeText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
  if (/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/.test(text) || !text.isWellFormed()) {
    throw new VCenterError(
      'UnusableValue',
      'a value for vCenter holds a control character, which XML cannot carry; check user and password',
    )
  }
  return text.replace(/[&<>"\r]/g, (character) => ESCAPES[character] ?? character)
}

/** An element with text. */
export function element(name: string, text: string | number | boolean): string {
  return `<${name}>${escapeText(String(text))}</${name}>`
}

/** An element with a reference. */
export function reference(name: string, { type, value }: ManagedObjectReference): string {
  return `<${name} type="${escapeText(type)}">${escapeText(value)}</${name}>`
}

/** The whole request. `parameters` are elements already written; `operationID` identifies the call in vCenter's logs. */
export function envelope(
  operation: string,
  target: ManagedObjectReference,
  parameters: string,
  operationID: string,
): string {
  return (
    '<?xml version="1.0" encoding="UTF-8"?>' +
    '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" ' +
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">' +
    `<soapenv:Header>${element('operationID', operationID)}</soapenv:Header><soapenv:Body>` +
    `<${operation} xmlns="urn:vim25">${reference('_this', target)}${parameters}</${operation}>` +
    '</soapenv:Body></soapenv:Envelope>'
  )
}
