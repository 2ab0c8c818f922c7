import ipaddr from 'ipaddr.js'
import { failed, ok, type Result } from '../../../../../agent/shared/result.ts'
import { type Family, parseAddress } from './candidate-addresses.ts'

/** What the kubelet's `--node-ip` asks for. */
export interface NodeIPs {
  /** At most one per family, in the kubelet's order. */
  readonly addresses: readonly { readonly address: string; readonly family: Family }[]
  /** `0.0.0.0` or `::` names no address, only the family that comes first. */
  readonly preferred: Family | undefined
}

/**
 * Reads the annotation `alpha.kubernetes.io/provided-node-ip`: one address, or two of different families with a comma
 * (KEP-3705); an unspecified one states a preference only (`k8s.io/cloud-provider/node/helpers`).
 */
export function parseProvidedNodeIP(text: string | undefined): Result<NodeIPs> {
  if (text === undefined || text.trim() === '') return ok({ addresses: [], preferred: undefined })
  const addresses: { address: string; family: Family }[] = []
  let preferred: Family | undefined
  for (const part of text.split(',').map((item) => item.trim())) {
    if (ipaddr.isValid(part) && ipaddr.process(part).range() === 'unspecified') {
      preferred = ipaddr.process(part).kind()
      continue
    }
    const parsed = parseAddress(part)
    if (parsed === undefined || addresses.some(({ family }) => family === parsed.family)) {
      return failed(
        `the annotation alpha.kubernetes.io/provided-node-ip (${text.length} characters) is neither one address nor one of each family; correct the kubelet's --node-ip`,
      )
    }
    addresses.push(parsed)
  }
  return ok({ addresses, preferred })
}
