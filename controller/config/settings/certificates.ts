import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import type { CertificatesConfig } from '../config.ts'
import { shapeOfText } from '../tree.ts'
import { row, type SectionTable } from './row.ts'
import { parseCIDRs } from './subnets.ts'
import { choice, flag, itemsOf, listOf } from './values.ts'

export const CERTIFICATES: SectionTable<CertificatesConfig> = {
  others: {},
  rows: {
    approve: row(flag, {
      default: 'false',
      meaning:
        'Whether requests of kubelets for their [serving certificates](certificates.md) are approved. The controller needs more rights for that: the component `approve-certificates`, in the chart `certificates.approve`.',
    }),
    require: row(choice(['proven', 'reported']), {
      default: 'proven',
      neverEmpty: true,
      meaning: 'The level that a Node must have reached: `proven` or `reported`.',
      warn: (level, { approve }) => (approve && level === 'reported' ? REPORTED : undefined),
    }),
    networks: row(listOf(parseCIDRs), {
      meaning:
        'Subnets, separated by commas, that every address in a certificate must be in. One of the two must be there: these, or `internalNetworkSubnetCidr` under `nodes`.',
      otherwise: 'the internal and external subnets under `nodes`',
    }),
    exclude: row(listOf(parseCIDRs), {
      meaning:
        'Addresses and subnets of those networks that are in no certificate, such as the virtual address of the API server (`10.0.0.10/32`).',
    }),
    domains: row(listOf(parseDomains), {
      meaning:
        "Domains, separated by commas, that may follow the Node's name in a DNS name. Without one, only the Node's name itself may be there.",
    }),
  },
}

const REPORTED =
  'reported approves certificates for whoever has the credential of an agent or kubelet: set proven once agents write claims'

/** Lower-case names with dots between, without one at either end. */
function parseDomains(written: string): Result<readonly string[]> {
  const items = itemsOf(written).map((item) => item.toLowerCase())
  const wrong = items.find(
    (item) => !/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/.test(item),
  )
  if (wrong === undefined) return ok(items)
  return failed(`expected domains such as example.com, got ${shapeOfText(wrong)}`)
}
