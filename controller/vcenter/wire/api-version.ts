/** Chooses an API version where vCenter does not support the requested one. */
import type { Connection } from './connection.ts'
import { VSPHERE_API_VERSION } from './envelope.ts'
import { child, childrenOf, readXML, textOf, type XMLElement } from './xml.ts'

/** Every vCenter serves this without a session. */
const VERSIONS_PATH = '/sdk/vimServiceVersions.xml'
const NUMBERS = /^\d{1,5}(\.\d{1,5}){0,5}$/

/**
 * The API version for this server: of those it supports, the oldest that is not older than the one this code was written
 * for, as it differs least; otherwise the newest. Undefined where the server names none. Throws a VCenterError.
 */
export async function negotiateVersion(
  connection: Connection,
  deadline: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const request = { method: 'GET', path: VERSIONS_PATH, headers: {}, deadline, signal } as const
  const document = await connection.request(request, async ({ status, body }) =>
    status === 200 ? await readXML(body, 'namespaces') : undefined,
  )
  return chooseVersion(versionsIn(document))
}

function versionsIn(document: XMLElement | undefined): string[] {
  return childrenOf(document, 'namespace')
    .filter((namespace) => textOf(namespace, 'name') === 'urn:vim25')
    .flatMap((namespace) => [
      ...childrenOf(namespace, 'version'),
      ...childrenOf(child(namespace, 'priorVersions'), 'version'),
    ])
    .map(({ text }) => text.trim())
    .filter((version) => NUMBERS.test(version))
}

/** Exported for its test. */
export function chooseVersion(served: readonly string[]): string | undefined {
  const ascending = served.toSorted(compare)
  return ascending.find((version) => compare(version, VSPHERE_API_VERSION) >= 0) ?? ascending.at(-1)
}

function compare(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number))
  for (let i = 0; i < Math.max(left?.length ?? 0, right?.length ?? 0); i++) {
    const difference = (left?.[i] ?? 0) - (right?.[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
