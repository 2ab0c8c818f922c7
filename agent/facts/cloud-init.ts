import { asObject, decodeGuestinfo, MAX_METADATA, staticAddresses } from '../shared/cloud-init.ts'
import { ok, type Result } from '../shared/result.ts'
import { parseYAML } from '../shared/yaml.ts'
import { type Unreadable, unreadable } from './files.ts'

/** The data of cloud-init's VMware datasource. */
export interface CloudInit {
  readonly instanceID?: string
  readonly localHostname?: string
  /** Static addresses of a version 2 network configuration, as written there. */
  readonly addresses?: readonly string[]
}

/**
 * Reads `guestinfo.metadata`, encoded as `guestinfo.metadata.encoding` says. Fields of an unexpected
 * shape are left out; only a text that is not YAML, or a wrong encoding, makes the fact unreadable.
 */
export async function parseMetadata(
  text: string,
  encoding: string | undefined,
): Promise<Result<CloudInit, Unreadable>> {
  const metadata = await load('guestinfo.metadata', text, encoding)
  if (!metadata.ok) return metadata
  const fields = asObject(metadata.value)
  if (fields === undefined) return unreadable('Malformed', 'guestinfo.metadata is not a map of fields')
  const network = await readNetwork(fields)
  if (!network.ok) return network
  const instanceID = asText(fields['instance-id'], 128)
  const localHostname = asText(fields['local-hostname'], 253)
  const addresses = staticAddresses(network.value)
  return ok({
    ...(instanceID === undefined ? {} : { instanceID }),
    ...(localHostname === undefined ? {} : { localHostname }),
    ...(addresses.length === 0 ? {} : { addresses }),
  })
}

/** The network configuration is a map, or a text with its own encoding. */
async function readNetwork(fields: Readonly<Record<string, unknown>>): Promise<Result<unknown, Unreadable>> {
  const { network } = fields
  if (typeof network !== 'string') return ok(network)
  const encoding = fields['network.encoding']
  return load('guestinfo.metadata: network', network, typeof encoding === 'string' ? encoding : undefined)
}

async function load(
  name: string,
  text: string,
  encoding: string | undefined,
): Promise<Result<unknown, Unreadable>> {
  const decoded = decodeGuestinfo(name, text, encoding, MAX_METADATA)
  if (!decoded.ok) return decoded
  try {
    return ok(await parseYAML(decoded.value))
  } catch {
    // Any parser error, from a tab to nesting too deep for its stack; its message quotes the text.
    return unreadable('Malformed', `${name} is neither YAML nor JSON`)
  }
}

/** Printable ASCII of at most `max` characters; a number becomes its digits, as YAML authors expect. */
function asText(value: unknown, max: number): string | undefined {
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' && text.length <= max && /^[\x20-\x7e]+$/.test(text) ? text : undefined
}
