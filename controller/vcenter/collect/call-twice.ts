/** A second attempt after a fault that may pass. */
import { isRefusal } from '../wire/errors.ts'

/** Faults that would come again. Others may have been chance, such as a vCenter under load. */
const LASTING: ReadonlySet<string> = new Set(['NoPermission', 'ManagedObjectNotFound'])

/** Makes a call, and makes it again if it fails for an object in a way that may pass. Throws what the last attempt throws. */
export async function callTwice<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (!isRefusal(error) || LASTING.has(error.fault)) throw error
    return await call()
  }
}
