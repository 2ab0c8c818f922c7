import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import type { IPFamily } from '../config.ts'
import { GLOBAL_OTHERS, VCENTER_OTHERS } from './ignored-keys.ts'
import { row, type SectionTable } from './row.ts'
import { flag, itemsOf, listOf, names, text, textOf } from './values.ts'
import { parseNamespace, parsePort, parseSecretName, parseServer, parseUser } from './vcenter-values.ts'

/** What `global` and each vCenter have in common; the first is the default of the second. Texts are empty if not written. */
export interface VCenterSettings {
  readonly server: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly caFile: string
  readonly thumbprint: string
  readonly insecureFlag: boolean
  readonly datacenters: readonly string[]
  readonly ipFamily: readonly IPFamily[]
  readonly secretName: string
  readonly secretNamespace: string
}

const OR_ELSEWHERE = 'required without Secret and folder'

const ROWS: SectionTable<VCenterSettings>['rows'] = {
  server: row(textOf(parseServer, ''), {
    meaning: 'Host name or IP address, without scheme, port and path.',
    required: true,
  }),
  port: row(textOf(parsePort, 443), {
    meaning: '1 to 65535; 0 is not set.',
    default: '443',
    unset: '0',
  }),
  user: row(textOf(parseUser, ''), { meaning: '', otherwise: OR_ELSEWHERE }),
  password: row(text, {
    meaning: 'Literal; in quotes if it contains ` #` or `: `, or begins with a special character.',
    otherwise: OR_ELSEWHERE,
  }),
  caFile: row(text, {
    meaning: 'PEM file of CAs, or several separated by `:`, relative to `vsphere.conf`: [trust](#trust).',
  }),
  // Written like the other lists, but read where it is known whether it has an effect.
  thumbprint: row(
    { ...text, form: 'list', schema: names.schema },
    {
      meaning: "SHA-1 or SHA-256 of vCenter's certificate; a list, or separated by commas.",
    },
  ),
  insecureFlag: row(flag, {
    meaning: 'If true, no certificate is checked. Flags: `true`, `yes`, `on`, `y`, `1`, or their opposites.',
    default: 'false',
  }),
  datacenters: row(names, {
    meaning:
      'A list, or separated by commas: names (`dc-1`) or inventory paths (`/europe/dc-1`), also with wildcards (`dc-*`, `/*/dc-[12]`), or references (`Datacenter:datacenter-3`). In a name, `/`, `\\` and `%` are `%2f`, `%5c` and `%25`. Other VMs are refused (`DatacenterOutOfScope`).',
    otherwise: 'all',
  }),
  ipFamily: row(listOf(parseFamilies), {
    meaning: '`ipv4`, `ipv6` or a list of both, in order.',
    default: 'ipv4',
  }),
  secretName: row(textOf(parseSecretName, ''), {
    meaning: 'The [Secret](#user-and-password-in-a-secret) with user and password.',
  }),
  secretNamespace: row(textOf(parseNamespace, ''), {
    meaning: 'Its namespace; each needs the other.',
  }),
}

export const VCENTER: SectionTable<VCenterSettings> = { rows: ROWS, others: VCENTER_OTHERS }

/** As in the CPI: either case; empty items do not count. */
function parseFamilies(written: string): Result<readonly IPFamily[]> {
  const families: IPFamily[] = []
  for (const item of itemsOf(written)) {
    const family = item.toLowerCase()
    if (family !== 'ipv4' && family !== 'ipv6')
      return failed('expected ipv4, ipv6 or a list of both, got something else')
    if (!families.includes(family)) families.push(family)
  }
  return ok(families.length === 0 ? ['ipv4'] : families)
}

export interface GlobalSettings extends VCenterSettings {
  readonly secretsDirectory: string
}

export const GLOBAL: SectionTable<GlobalSettings> = {
  rows: {
    ...VCENTER.rows,
    secretsDirectory: row(text, {
      meaning: 'A [folder](#user-and-password-in-a-secret) instead, relative to `vsphere.conf`.',
    }),
  },
  others: GLOBAL_OTHERS,
}
