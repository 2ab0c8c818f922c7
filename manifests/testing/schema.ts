import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'

/** The part of a structural schema that the CRD uses. */
export interface Schema {
  type: string
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  default?: unknown
  enum?: string[]
  format?: string
  pattern?: string
  maxLength?: number
  maxItems?: number
  minimum?: number
  maximum?: number
  'x-kubernetes-map-type'?: string
  'x-kubernetes-list-type'?: string
}

/** The schema of NodeReport as it stands in crd.yaml. */
export async function nodeReportSchema(): Promise<{ spec: Schema; status: Schema }> {
  const crd = parse(await readFile(join(import.meta.dirname, '../base/crd.yaml'), 'utf8'))
  const { spec, status } = crd.spec.versions[0].schema.openAPIV3Schema.properties
  return { spec, status }
}
