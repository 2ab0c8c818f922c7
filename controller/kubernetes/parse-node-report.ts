import * as v from 'valibot'
import {
  ANNOTATION_REPORTED_AT,
  CONDITION_TYPES,
  MAX_FORMER_VMS,
  MAX_GROUP,
  MAX_PARENTS,
  type NodeReportStatus,
  parseSpec,
} from '../../agent/shared/node-report.ts'
import type { NodeReport } from '../types/node.ts'
import { shortText } from './parse-node.ts'

const NodeReportObject = v.object({
  metadata: v.object({
    name: v.pipe(v.string(), v.minLength(1)),
    uid: v.string(),
    resourceVersion: v.string(),
    generation: v.optional(v.number(), 0),
    annotations: v.nullish(v.record(v.string(), v.string()), {}),
  }),
  spec: v.optional(v.unknown()),
  status: v.optional(v.unknown()),
})

const text = v.exactOptional(v.string())

const BoundVM = v.object({
  vCenter: v.string(),
  vCenterInstanceUUID: v.string(),
  moref: v.string(),
  name: v.string(),
  instanceUUID: v.string(),
  biosUUID: v.string(),
  group: v.exactOptional(v.pipe(v.array(v.string()), v.maxLength(MAX_GROUP))),
  host: text,
  cluster: text,
  datacenter: text,
  parents: v.exactOptional(
    v.pipe(
      v.array(v.object({ type: v.string(), moref: v.string(), name: v.string() })),
      v.maxLength(MAX_PARENTS),
    ),
  ),
})

const Condition = v.object({
  type: v.picklist(CONDITION_TYPES),
  status: v.picklist(['True', 'False', 'Unknown']),
  reason: v.string(),
  message: v.string(),
  lastTransitionTime: v.string(),
  observedGeneration: v.exactOptional(v.number()),
})

const Address = v.object({ type: v.picklist(['Hostname', 'InternalIP', 'ExternalIP']), address: v.string() })

/** Each field is parsed separately, so that a value of another version in one does not lose the binding in another. */
const fields = {
  observedGeneration: v.number(),
  nodeUID: v.string(),
  vm: BoundVM,
  namedVM: BoundVM,
  formerVMs: v.pipe(v.array(BoundVM), v.maxLength(MAX_FORMER_VMS)),
  lastClaim: v.string(),
  obeyedAnnotation: v.string(),
  identityLevel: v.picklist(['asserted', 'reported', 'proven']),
  provenUntil: v.pipe(v.string(), v.isoTimestamp()),
  absentSince: v.pipe(v.string(), v.isoTimestamp()),
  brakeEngagedAt: v.pipe(v.string(), v.isoTimestamp()),
  brakeEngagedFor: text,
  topology: v.object({ zone: text, region: text }),
  instanceType: v.string(),
  addresses: v.array(Address),
}

/**
 * Parses a NodeReport; undefined for anything else. An invalid spec is reported as such. The status is this controller's
 * own: a field that cannot be read counts as absent and will be written again.
 */
export function parseNodeReport(object: unknown): NodeReport | undefined {
  const parsed = v.safeParse(NodeReportObject, object)
  if (!parsed.success) return undefined
  const { metadata, spec, status } = parsed.output
  const { annotations, ...named } = metadata
  const reportedAt = annotations[ANNOTATION_REPORTED_AT]
  return {
    ...named,
    reportedAt: reportedAt === undefined ? undefined : shortText(reportedAt),
    spec: parseSpec(spec),
    status: parseStatus(status),
  }
}

function parseStatus(value: unknown): NodeReportStatus {
  const given = v.safeParse(v.record(v.string(), v.unknown()), value)
  if (!given.success) return {}
  const readable = Object.entries(fields).flatMap(([name, schema]) => {
    const field = v.safeParse(schema, given.output[name])
    return field.success ? [[name, field.output] as const] : []
  })
  const list = v.safeParse(v.array(v.unknown()), given.output.conditions)
  const conditions = list.success ? list.output.filter((item) => v.is(Condition, item)) : []
  return { ...Object.fromEntries(readable), ...(list.success ? { conditions } : {}) }
}
