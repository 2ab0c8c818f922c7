/** XML of a SOAP answer, as vCenter writes it. */

import type { SoapFault } from '../../../controller/vcenter/wire/errors.ts'
import type { ManagedObjectReference } from '../../../controller/vcenter/wire/managed-object-reference.ts'
import { element, reference } from '../../../controller/vcenter/wire/soap.ts'

/** Values of properties by path, as the content of `val`; undefined for one that is not set. */
export type Values = ReadonlyMap<string, string | undefined>

export function inEnvelope(content: string): string {
  return (
    '<?xml version="1.0" encoding="UTF-8"?>' +
    '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" ' +
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">' +
    `<soapenv:Body>${content}</soapenv:Body></soapenv:Envelope>`
  )
}

/** A SOAP fault, as it stands in the body. */
export function faultXML({ fault, object }: SoapFault): string {
  const named = object === undefined ? '' : reference(fault === 'NoPermission' ? 'object' : 'obj', object)
  const detail = `<${fault}Fault xmlns="urn:vim25" xsi:type="${fault}">${named}</${fault}Fault>`
  return `<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring/><detail>${detail}</detail></soapenv:Fault>`
}

/** An ObjectContent: what is set, and which paths may not be read, by which fault. */
export function contentXML(
  object: ManagedObjectReference,
  values: Values,
  refused: readonly string[],
  fault?: string,
): string {
  let sets = ''
  for (const [path, value] of values) {
    if (value !== undefined) sets += `<propSet>${element('name', path)}${value}</propSet>`
  }
  return `<objects>${reference('obj', object)}${sets}${missingXML(refused, fault)}</objects>`
}

/** MissingProperty elements: the account may not read these, or they fail otherwise. */
export function missingXML(paths: readonly string[], why = 'NoPermission'): string {
  return paths
    .map((path) => {
      const fault = `<fault xsi:type="${why}"/><localizedMessage/>`
      return `<missingSet>${element('path', path)}<fault>${fault}</fault></missingSet>`
    })
    .join('')
}

export function textValue(text: string | number | boolean): string {
  return element('val', text)
}

export function referenceValue(object: ManagedObjectReference): string {
  return reference('val', object)
}
