import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Cluster } from '../servers/cluster.ts'

/** The claims of a token of the API server's. */
export interface Claims {
  readonly exp: number
  readonly [claim: string]: unknown
}

/** The key with which the cluster's API server signs tokens: what only time can make of one, a test makes with it. */
export async function signingKey(cluster: Cluster): Promise<KeyObject> {
  return createPrivateKey(await readFile(cluster.tokenKeyFile))
}

/** The token with other claims, signed with `key`. */
export function resign(token: string, change: (claims: Claims) => object, key: KeyObject): string {
  const { header, claims } = parts(token)
  const signed = `${header}.${encode(change(claims))}`
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}

/** The token with other claims under the old signature. */
export function tamper(token: string, change: (claims: Claims) => object): string {
  const { header, claims, signature } = parts(token)
  return `${header}.${encode(change(claims))}.${signature}`
}

/** The token's claims with no signature at all, as a careless library would take them. */
export function unsigned(token: string): string {
  const { claims } = parts(token)
  return `${encode({ alg: 'none', typ: 'JWT' })}.${encode(claims)}.`
}

function parts(token: string): { header: string; claims: Claims; signature: string } {
  const [header = '', payload = '', signature = ''] = token.split('.')
  return { header, claims: JSON.parse(Buffer.from(payload, 'base64url').toString()), signature }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
