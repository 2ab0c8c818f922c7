/** What a file means, in one form for both readers, so that they can be compared. */
import type { Config } from '../../controller/config/config.ts'
import type { CPIConfig } from './oracle.ts'

export interface Comparable {
  readonly vCenters: Readonly<Record<string, ComparableVCenter>>
  readonly labels: { readonly zone: string; readonly region: string }
  readonly nodes: Readonly<Record<string, readonly string[]>>
}

interface ComparableVCenter {
  readonly server: string
  readonly port: string
  readonly user: string
  readonly password: string
  readonly trust: string
  readonly datacenters: readonly string[]
  readonly ipFamilies: readonly string[]
  /** A folder is not named: the CPI forgets it where it does not exist. */
  readonly credentials: string
}

/** Our own values. */
export function ours({ vCenters, labels, nodes, ipFamilies, credentials }: Config): Comparable {
  // These two are Rollcall's own.
  const { externalIP: _, requireAllFamilies: __, ...shared } = nodes
  return {
    vCenters: Object.fromEntries(
      vCenters.map((vCenter) => {
        const { name, server, port, user, password, trust, datacenters } = vCenter
        const source = credentials[name]
        const compared: ComparableVCenter = {
          server,
          port: String(port),
          user,
          password: password.reveal(),
          trust: trust.kind === 'thumbprint' ? trust.thumbprints.join(' ') : trust.kind,
          datacenters,
          ipFamilies: ipFamilies[name] ?? [],
          credentials:
            source?.kind === 'secret' ? `${source.namespace}/${source.name}` : (source?.kind ?? 'none'),
        }
        return [name, compared]
      }),
    ),
    labels: { zone: labels.zone ?? '', region: labels.region ?? '' },
    nodes: Object.fromEntries(
      Object.entries<string | readonly string[] | undefined>(shared).map(([key, value]) => [
        key.toLowerCase(),
        value === undefined ? [] : typeof value === 'string' ? [value] : value,
      ]),
    ),
  }
}

/** The CPI's values, each as it is taken later: lists taken apart, and what a certificate must have. */
export function theirs({ VirtualCenter, Labels, Nodes, Global }: CPIConfig, text: string): Comparable {
  // By then the CPI has forgotten a folder that does not exist.
  const folder = /secrets-?directory"?\s*[:=]\s*["']?\//i.test(text)
  return {
    vCenters: Object.fromEntries(
      Object.entries(VirtualCenter).map(([name, one]) => {
        const credentials = credentialsOf(one, Global, folder)
        // What stands beside a Secret is what the CPI fails its first login with.
        const [user, password] = credentials === 'none' ? [one.User, one.Password] : ['', '']
        const compared: ComparableVCenter = {
          server: one.VCenterIP.replace(/^\[(.*)\]$/, '$1'),
          port: one.VCenterPort,
          user,
          password,
          trust: trustOf(one),
          datacenters: items(one.Datacenters),
          ipFamilies: (one.IPFamilyPriority ?? []).map((family) => family.trim().toLowerCase()),
          credentials,
        }
        return [name, compared]
      }),
    ),
    labels: { zone: Labels.Zone, region: Labels.Region },
    nodes: Object.fromEntries(
      Object.entries(Nodes).map(([key, value]) => [
        key.toLowerCase(),
        key.endsWith('CIDR') ? items(value).map((item) => item.toLowerCase()) : value === '' ? [] : [value],
      ]),
    ),
  }
}

function trustOf({ InsecureFlag, CAFile, Thumbprint }: CPIConfig['VirtualCenter'][string]): string {
  if (InsecureFlag) return 'insecure'
  const either = [...(CAFile === '' ? [] : ['ca']), ...(Thumbprint === '' ? [] : [Thumbprint])]
  return either.join(' or ').replaceAll(':', '').toLowerCase() || 'system'
}

function credentialsOf(
  { SecretRef }: CPIConfig['VirtualCenter'][string],
  { SecretName, SecretNamespace }: CPIConfig['Global'],
  folder: boolean,
): string {
  if (SecretRef === '' || SecretRef.includes('/')) return SecretRef || 'none'
  if (SecretName !== '' && SecretNamespace !== '') return `${SecretNamespace}/${SecretName}`
  // The vCenters of [Global] and of variables refer to what is given for all, even if nothing is.
  return folder ? 'directory' : 'none'
}

function items(list: string): readonly string[] {
  return list
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}
