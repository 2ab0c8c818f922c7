/** Writes SOAP requests. The order of elements is fixed by vSphere's WSDL: callers give them in that order. */
import { VCenterError } from './errors.ts'
import type { ManagedObjectReference } from './managed-object-reference.ts'

/**
 * The API version asked for: that of the oldest vCenter supported. Later ones serve it too, in that version's words, so
 * no answer holds a type that this code has never seen, and no call is spent on negotiating. Where it is refused, see
 * `api-version.ts`.
 */
export const API_VERSION = '6.7'

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  // A parser makes a line feed of a bare carriage return, which would change a password.
  '\r': '&#13;',
}

/** Text for an element or an attribute. Throws a VCenterError for a character that XML 1.0 cannot carry. */
export function escapeText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
  if (/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/.test(text) || !text.isWellFormed()) {
    throw new VCenterError(
      'UnusableValue',
      'a value for vCenter holds a control character, which XML cannot carry, check user and password',
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

/** The whole request: `parameters` are elements already written, by `operationID` vCenter's logs name the call. */
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
