/** Every key of `vsphere.conf` that Rollcall knows, by section. Which of them the CPI has too, `docs/configuration.md` says. */

import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import type { CertificatesConfig, Config } from '../config.ts'
import { shapeOfText } from '../tree.ts'
import { IDENTITY } from './identity.ts'
import { LABELS_OTHERS } from './ignored-keys.ts'
import { LIFECYCLE } from './lifecycle.ts'
import { namesOf, row, type SectionTable } from './row.ts'
import { choice, flag, itemsOf, listOf, name, parseCIDRs } from './values.ts'
import { GLOBAL, VCENTER } from './vcenter.ts'

const CERTIFICATES: SectionTable<CertificatesConfig> = {
  others: {},
  rows: {
    approve: row(flag, {
      default: 'false',
      meaning:
        "Whether kubelets' [serving certificates](certificates.md) are approved. Needs the component `approve-certificates`, in the chart `certificates.approve`.",
    }),
    require: row(choice(['proven', 'reported']), {
      default: 'proven',
      neverEmpty: true,
      meaning: 'Level that a Node needs: `proven` or `reported`.',
      warn: (level, { approve }) => (approve && level === 'reported' ? REPORTED : undefined),
    }),
    networks: row(listOf(parseCIDRs), {
      meaning:
        'Subnets, separated by commas, of all addresses in certificates. Required without `internalNetworkSubnetCidr`.',
      otherwise: 'the internal and external subnets under `nodes`',
    }),
    exclude: row(listOf(parseCIDRs), {
      meaning:
        "Addresses and subnets of those networks that no certificate may have, such as the API server's virtual address (`10.0.0.10/32`).",
    }),
    domains: row(listOf(parseDomains), {
      meaning:
        "Domains, separated by commas, that may follow the Node's name; otherwise only the name itself.",
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

const LABELS: SectionTable<Config['labels']> = {
  others: LABELS_OTHERS,
  rows: {
    zone: row(name, {
      meaning: 'Tag category; the nearest tag becomes `topology.kubernetes.io/zone`.',
      otherwise: 'no label',
    }),
    region: row(name, {
      meaning: 'The same for `topology.kubernetes.io/region`. Each works alone.',
      otherwise: 'no label',
    }),
  },
}

const TOPOLOGY: SectionTable<Config['topology']> = {
  others: {},
  rows: {
    required: row(flag, {
      default: 'false',
      meaning: 'Whether a new Node waits for a tag of each category under `labels`.',
      protects: 'a cluster that cannot grow without tags',
    }),
    onChange: row(choice(['report', 'relabel', 'ignore']), {
      default: 'report',
      meaning:
        "If a running Node's VM changes zone, region or size: `report` (in `TopologyResolved`), also `relabel` the Node, or `ignore`.",
      protects: 'labels that change under Pods, whose volumes stay',
    }),
  },
}

const NODES: SectionTable<Config['nodes']> = {
  others: {},
  rows: {
    internalNetworkSubnetCidr: row(listOf(parseCIDRs), {
      meaning: 'Subnets, separated by commas, for [`InternalIP`](#which-address-becomes-what).',
    }),
    externalNetworkSubnetCidr: row(listOf(parseCIDRs), { meaning: 'The same for `ExternalIP`.' }),
    internalVmNetworkName: row(name, {
      meaning: 'If no subnet matches: the vSphere network for `InternalIP`.',
    }),
    externalVmNetworkName: row(name, { meaning: 'The same for `ExternalIP`.' }),
    excludeInternalNetworkSubnetCidr: row(listOf(parseCIDRs), {
      meaning: 'Subnets, separated by commas, that never give `InternalIP`.',
    }),
    excludeExternalNetworkSubnetCidr: row(listOf(parseCIDRs), { meaning: 'The same for `ExternalIP`.' }),
    externalIP: row(choice(['first', 'none']), {
      meaning: '`ExternalIP` if nothing chooses one: `first`, the `InternalIP`, as in the CPI; or `none`.',
      default: 'first',
    }),
    requireAllFamilies: row(flag, {
      meaning: 'Whether a new Node waits for an address of each family in `ipFamily`, as in the CPI.',
      default: 'true',
    }),
  },
}

export const SECTIONS = {
  global: GLOBAL,
  vcenter: VCENTER,
  labels: LABELS,
  identity: IDENTITY,
  lifecycle: LIFECYCLE,
  topology: TOPOLOGY,
  nodes: NODES,
  certificates: CERTIFICATES,
} as const

/** The names of sections, in the order in which messages name them. */
export const SECTION_NAMES: readonly (keyof typeof SECTIONS)[] = namesOf(SECTIONS)

/** Other names of sections: the INI form's `[VirtualCenter "name"]`. */
export const SECTION_ALIASES: ReadonlyMap<string, keyof typeof SECTIONS> = new Map([
  ['virtualCenter', 'vcenter'],
])
