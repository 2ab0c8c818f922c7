import * as v from 'valibot'

/** The fields of a NodeReport as this version writes and reads them; a test compares them with `crd.yaml`. */
export const REPORT_FIELDS: readonly string[] = `
  spec.nodeUID spec.bootID spec.agentVersion spec.refreshSeconds spec.machine spec.machine.vendor spec.machine.product
  spec.machine.serialUUID spec.machine.productUUID spec.hostname spec.interfaces
  spec.interfaces.name spec.interfaces.mac spec.interfaces.defaultRoute spec.interfaces.addresses
  spec.interfaces.addresses.address spec.interfaces.addresses.prefixLength
  spec.interfaces.addresses.temporary spec.interfaces.addresses.deprecated
  spec.interfaces.addresses.secondary spec.tools spec.tools.version spec.tools.guestinfoReadable
  spec.tools.guestinfoWritable spec.cloudInit spec.cloudInit.instanceID
  spec.cloudInit.localHostname spec.cloudInit.addresses spec.claim spec.claim.written
  spec.claim.reason spec.claim.message spec.claim.digest spec.unreadable spec.unreadable.fact
  spec.unreadable.reason spec.unreadable.message status.observedGeneration status.nodeUID
  status.vm status.vm.vCenter status.vm.vCenterInstanceUUID status.vm.moref status.vm.name
  status.vm.instanceUUID status.vm.biosUUID status.vm.group status.vm.host status.vm.cluster status.vm.datacenter
  status.vm.parents status.vm.parents.type status.vm.parents.moref status.vm.parents.name
  status.namedVM status.namedVM.vCenter status.namedVM.vCenterInstanceUUID status.namedVM.moref
  status.namedVM.name status.namedVM.instanceUUID status.namedVM.biosUUID status.namedVM.group status.namedVM.host
  status.namedVM.cluster status.namedVM.datacenter status.namedVM.parents
  status.namedVM.parents.type status.namedVM.parents.moref status.namedVM.parents.name
  status.formerVMs status.formerVMs.vCenter status.formerVMs.vCenterInstanceUUID
  status.formerVMs.moref status.formerVMs.name status.formerVMs.instanceUUID
  status.formerVMs.biosUUID status.formerVMs.group status.formerVMs.host status.formerVMs.cluster
  status.formerVMs.datacenter status.formerVMs.parents status.formerVMs.parents.type
  status.formerVMs.parents.moref status.formerVMs.parents.name status.lastClaim
  status.obeyedAnnotation
  status.identityLevel status.provenUntil status.absentSince status.brakeEngagedAt
  status.brakeEngagedFor status.deletionUnmet status.topology status.topology.zone status.topology.region
  status.instanceType status.addresses status.addresses.type status.addresses.address
  status.conditions status.conditions.type status.conditions.status status.conditions.reason
  status.conditions.message status.conditions.lastTransitionTime
  status.conditions.observedGeneration
`
  .trim()
  .split(/\s+/)

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>> | undefined
  readonly items?: Schema | undefined
}

const SchemaObject: v.GenericSchema<unknown, Schema> = v.object({
  properties: v.optional(
    v.record(
      v.string(),
      v.lazy(() => SchemaObject),
    ),
  ),
  items: v.optional(v.lazy(() => SchemaObject)),
})

/**
 * Paths of the fields under `spec` and `status`; those of a list's items stand under the list.
 *
 * @param object the schema of a NodeReport, as the API server publishes it
 * @returns undefined for anything else
 */
export function fieldsOf(object: unknown): readonly string[] | undefined {
  const parsed = v.safeParse(SchemaObject, object)
  const properties = parsed.success ? parsed.output.properties : undefined
  return properties && ['spec', 'status'].flatMap((name) => below(name, properties[name]))
}

function below(path: string, schema: Schema | undefined): readonly string[] {
  const { properties = {} } = schema?.items ?? schema ?? {}
  return Object.entries(properties).flatMap(([name, inner]) => {
    const own = `${path}.${name}`
    return [own, ...below(own, inner)]
  })
}
