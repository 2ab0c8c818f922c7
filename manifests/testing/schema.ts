import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'

/** The part of a structural schema that the CRD uses. */
export interface StructuralSchema {
  type: string
  description?: string
  properties?: Record<string, StructuralSchema>
  required?: string[]
  items?: StructuralSchema
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
export async function nodeReportSchema(): Promise<{ spec: StructuralSchema; status: StructuralSchema }> {
  const crd = parse(await readFile(join(import.meta.dirname, '../base/crd.yaml'), 'utf8'))
  const { spec, status } = crd.spec.versions[0].schema.openAPIV3Schema.properties
  return { spec, status }
}
