/** Parses answers of the tag service. */
import * as v from 'valibot'
import { RESTError } from '../session/rest.ts'
import { VCenterError } from '../wire/errors.ts'

/** Whether the error is about the requested objects or tags, not about the state of vCenter. */
export function isRESTRefusal(error: unknown): error is RESTError {
  return (
    error instanceof RESTError &&
    error.status >= 400 &&
    error.status < 500 &&
    ![401, 408, 429].includes(error.status)
  )
}

/** Throws a VCenterError for a value of another shape. */
export function parse<const S extends v.GenericSchema>(schema: S, value: unknown): v.InferOutput<S> {
  const result = v.safeParse(schema, value)
  if (result.success) return result.output
  const [issue] = result.issues
  throw new VCenterError(
    'MalformedAnswer',
    `vCenter answers about tags in an unknown form: ${issue.message.slice(0, 200)}`,
  )
}
