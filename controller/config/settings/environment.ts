/**
 * Every environment variable that the CPI reads, what the CPI does with it (v1.36.0, from its source), and what Rollcall does.
 * The CPI's docs say that a variable takes precedence over the file; where its code does something else, Rollcall follows the docs.
 */
import type { Config, NodesConfig } from '../config.ts'
import type { GlobalSettings, VCenterSettings } from './vcenter.ts'

export interface Variable {
  readonly name: string
  /** What the CPI does with it. */
  readonly cpi: string
}

/** The variables that set a section's settings, by setting. */
export type Variables<S> = { readonly [K in keyof S]?: Variable }

const FOR_NAMED = 'only for vCenters named by variables'
/** Of those below `VCENTER_<id>_` because the check whether they are set is inverted. */
const UNUSED = 'never uses it'
const AS_MEANT = 'overrides the file'

export const GLOBAL_VARIABLES: Variables<GlobalSettings> = {
  server: { name: 'VSPHERE_VCENTER', cpi: UNUSED },
  port: {
    name: 'VSPHERE_VCENTER_PORT',
    cpi: `${FOR_NAMED}; also as a vCenter's name`,
  },
  user: { name: 'VSPHERE_USER', cpi: FOR_NAMED },
  password: { name: 'VSPHERE_PASSWORD', cpi: FOR_NAMED },
  datacenters: { name: 'VSPHERE_DATACENTER', cpi: FOR_NAMED },
  caFile: { name: 'VSPHERE_CAFILE', cpi: FOR_NAMED },
  thumbprint: { name: 'VSPHERE_THUMBPRINT', cpi: FOR_NAMED },
  insecureFlag: { name: 'VSPHERE_INSECURE', cpi: UNUSED },
  secretName: {
    name: 'VSPHERE_SECRET_NAME',
    cpi: `${AS_MEANT}, except for user and password`,
  },
  secretNamespace: { name: 'VSPHERE_SECRET_NAMESPACE', cpi: `${AS_MEANT}, except for user and password` },
  secretsDirectory: {
    name: 'VSPHERE_SECRETS_DIRECTORY',
    cpi: `${AS_MEANT} if the folder exists; otherwise \`/etc/cloud/secrets\``,
  },
}

export const LABEL_VARIABLES: Variables<Config['labels']> = {
  zone: { name: 'VSPHERE_LABEL_ZONE', cpi: AS_MEANT },
  region: { name: 'VSPHERE_LABEL_REGION', cpi: AS_MEANT },
}

export const NODE_VARIABLES: Variables<NodesConfig> = {
  internalNetworkSubnetCidr: { name: 'VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR', cpi: AS_MEANT },
  externalNetworkSubnetCidr: { name: 'VSPHERE_NODES_EXTERNAL_NETWORK_SUBNET_CIDR', cpi: AS_MEANT },
  internalVmNetworkName: { name: 'VSPHERE_NODES_INTERNAL_VM_NETWORK_NAME', cpi: AS_MEANT },
  externalVmNetworkName: { name: 'VSPHERE_NODES_EXTERNAL_VM_NETWORK_NAME', cpi: AS_MEANT },
}

/** What begins the name of a variable that names a vCenter; an ID of its own follows. */
export const NAMING = 'VSPHERE_VCENTER_'

const ELSE_GLOBAL = 'replaces what the file says about that vCenter'
const NO_EQUALS = 'a value that contains `=` is not found'

/** Of the vCenter that `VSPHERE_VCENTER_<id>` names: what follows `VCENTER_<id>_`. */
export const VCENTER_VARIABLES: Variables<VCenterSettings> = {
  server: { name: 'SERVER', cpi: 'the server, by default the name' },
  port: { name: 'PORT', cpi: ELSE_GLOBAL },
  user: { name: 'USERNAME', cpi: ELSE_GLOBAL },
  password: { name: 'PASSWORD', cpi: `${ELSE_GLOBAL}; ${NO_EQUALS}` },
  datacenters: { name: 'DATACENTERS', cpi: ELSE_GLOBAL },
  caFile: { name: 'CAFILE', cpi: ELSE_GLOBAL },
  thumbprint: { name: 'THUMBPRINT', cpi: ELSE_GLOBAL },
  insecureFlag: { name: 'INSECURE', cpi: UNUSED },
  ipFamily: { name: 'IP_FAMILY', cpi: `${UNUSED}; without it there is no IP family` },
  secretName: { name: 'SECRET_NAME', cpi: ELSE_GLOBAL },
  secretNamespace: { name: 'SECRET_NAMESPACE', cpi: ELSE_GLOBAL },
}

export interface IdleVariable extends Variable {
  readonly because: string
}

const NO_REPEATS = 'calls to vCenter are repeated until they succeed'

/** What may follow `VCENTER_<id>_` without effect. */
export const IDLE_SUFFIX: IdleVariable = { name: 'ROUNDTRIP', cpi: UNUSED, because: NO_REPEATS }

export const IDLE_VARIABLES: readonly IdleVariable[] = [
  { name: 'VSPHERE_ROUNDTRIP_COUNT', cpi: UNUSED, because: NO_REPEATS },
  {
    name: 'VSPHERE_KUBE_CONFIG',
    cpi: UNUSED,
    because: 'the kubeconfig is the one given by --kubeconfig',
  },
  ...['HTTPS_PROXY', 'https_proxy'].map((name) => ({
    name,
    cpi: 'goes through that proxy, except for `NO_PROXY`',
    because: 'vCenter and the API server are reached directly',
  })),
  {
    name: 'ENABLE_ALPHA_DUAL_STACK',
    cpi: 'any value allows two IP families',
    because: 'two families are always allowed',
  },
  ...[
    'MANAGER_HOST',
    'USERNAME',
    'PASSWORD',
    'ALLOW_UNVERIFIED_SSL',
    'CLIENT_AUTH_CERT_FILE',
    'CLIENT_AUTH_KEY_FILE',
    'CA_FILE',
    'SECRET_NAME',
    'SECRET_NAMESPACE',
  ].map((name) => ({
    name: `NSXT_${name}`,
    cpi: 'overrides the section `nsxt`',
    because: 'Rollcall does not talk to NSX-T',
  })),
]

/** Its presence alone counts, even if it is empty. */
export const SKIP_DELETION: Variable = {
  name: 'SKIP_NODE_DELETION',
  cpi: 'with any value, no Nodes are deleted',
}

/** What may follow `VCENTER_<id>_`. */
export const SUFFIXES: readonly string[] = [...Object.values(VCENTER_VARIABLES), IDLE_SUFFIX].map(
  ({ name }) => name,
)

const WITH_EFFECT: ReadonlySet<string> = new Set([
  ...[GLOBAL_VARIABLES, LABEL_VARIABLES, NODE_VARIABLES].flatMap((variables) =>
    Object.values(variables).map(({ name }) => name),
  ),
  SKIP_DELETION.name,
])

/** Every name in the table but those of a single vCenter. */
export const KNOWN_VARIABLES: ReadonlySet<string> = new Set([
  ...WITH_EFFECT,
  ...IDLE_VARIABLES.map(({ name }) => name),
])

/** Whether a variable of this name overrides the file. */
export function hasEffect(variable: string): boolean {
  if (WITH_EFFECT.has(variable) || variable.startsWith(NAMING)) return true
  const suffix = SUFFIXES.find((one) => variable.startsWith('VCENTER_') && variable.endsWith(`_${one}`))
  return suffix !== undefined && suffix !== IDLE_SUFFIX.name
}
