/** The names that Kubernetes gives objects: what goes into a request's path is checked here. */
import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import { shapeOfText } from '../tree.ts'

/** RFC 1123's label. */
const LABEL = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?'

export function parseSecretName(text: string): Result<string> {
  if (text.length <= 253 && /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(text) && !/\.[.-]|-\./.test(text))
    return ok(text)
  return failed(
    `expected the name of a Secret, of lower-case letters, digits, "-" and ".", got ${shapeOfText(text)}`,
  )
}

export function parseNamespace(text: string): Result<string> {
  if (new RegExp(`^${LABEL}$`).test(text)) return ok(text)
  return failed(
    `expected the name of a namespace, of lower-case letters, digits and "-", got ${shapeOfText(text)}`,
  )
}
