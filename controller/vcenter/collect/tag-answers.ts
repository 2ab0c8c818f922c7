/** What an answer of the tag service says: the value, or that one object, tag or category cannot be read. */
import * as v from 'valibot'
import { isBadAnswer, isRESTRefusal, RESTAnswerError } from '../session/rest-interfaces.ts'
import { DeadlineError, UnansweredError, type VCenterError } from '../wire/errors.ts'

/** The answer of the tag service. Throws a VCenterError for a value of another shape. */
export function parseTagAnswer<const S extends v.GenericSchema>(schema: S, value: unknown): v.InferOutput<S> {
  const result = v.safeParse(schema, value)
  if (result.success) return result.output
  const [issue] = result.issues
  throw new RESTAnswerError(
    'tagging',
    `vCenter answers about tags in an unknown form: ${issue.message.slice(0, 200)}`,
  )
}

/** Makes a call about one object, tag or category again where vCenter fails at it: the failure may be temporary. */
export async function askTwice<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (!isBadAnswer(error) || hangs(error)) throw error
  }
  return await ask()
}

/** Whether the call has taken all the time that it had: another such call takes as long. */
export function hangs(error: unknown): boolean {
  return error instanceof UnansweredError && error.cause instanceof DeadlineError
}

/** Whether an error of a call that was made twice is about its one object, tag or category alone. */
export function isOfOne(error: unknown): error is VCenterError {
  return isRESTRefusal(error) || isBadAnswer(error)
}
