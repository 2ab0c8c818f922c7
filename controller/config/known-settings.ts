/**
 * Every setting that Rollcall knows, and what becomes of it. All are the CPI's, by their names in its YAML
 * form, but those of {@link IDENTITY}, {@link LIFECYCLE} and {@link TOPOLOGY}; `insecure-flag` and `insecure_flag`, as in its INI form, are the same setting as `insecureFlag`.
 */
export type SettingSupport =
  | { readonly is: 'supported' }
  /** Text, or a list of text, which becomes one text with commas between, as in the CPI. */
  | { readonly is: 'supported list' }
  /** Has no meaning here; accepted with a warning. */
  | { readonly is: 'ignored'; readonly because: string }
  /** Nodes would come out otherwise than its author expects; refused until it is supported. */
  | { readonly is: 'refused'; readonly because: string }

export type KnownSettings = ReadonlyMap<string, SettingSupport>

const SUPPORTED: SettingSupport = { is: 'supported' }
const SUPPORTED_LIST: SettingSupport = { is: 'supported list' }

const BY_SECRET: SettingSupport = {
  is: 'refused',
  because: 'credentials from a Secret are not supported yet: write user and password here and remove this',
}
const BY_NETWORK: SettingSupport = {
  is: 'refused',
  because:
    'choosing addresses by subnet or network is not supported yet: remove it if the kubelet --node-ip will do',
}
const NO_API: SettingSupport = {
  is: 'ignored',
  because: 'has no effect, Rollcall has no such API: remove it',
}

/** What `global` and each vCenter have in common. */
const COMMON: readonly [string, SettingSupport][] = [
  ['server', SUPPORTED],
  ['port', SUPPORTED],
  ['user', SUPPORTED],
  ['password', SUPPORTED],
  ['insecureFlag', SUPPORTED],
  ['caFile', SUPPORTED],
  ['thumbprint', SUPPORTED_LIST],
  ['datacenters', SUPPORTED_LIST],
  ['ipFamily', SUPPORTED_LIST],
  [
    'soapRoundtripCount',
    { is: 'ignored', because: 'has no effect, calls to vCenter are repeated until they succeed: remove it' },
  ],
  ['secretName', BY_SECRET],
  ['secretNamespace', BY_SECRET],
]

export const GLOBAL: KnownSettings = new Map([
  ...COMMON,
  ['secretsDirectory', BY_SECRET],
  ['apiDisable', NO_API],
  ['apiBinding', NO_API],
  [
    'serviceAccount',
    { is: 'ignored', because: 'has no effect, the Pod says which account it uses: remove it' },
  ],
])

export const VCENTER: KnownSettings = new Map(COMMON)

export const LABELS: KnownSettings = new Map([
  ['zone', SUPPORTED],
  ['region', SUPPORTED],
])

/** Rollcall's own. */
export const IDENTITY: KnownSettings = new Map([
  ['require', SUPPORTED],
  ['exempt', SUPPORTED],
])

/** Rollcall's own. */
export const LIFECYCLE: KnownSettings = new Map([
  ['deletion', SUPPORTED],
  ['unbound', SUPPORTED],
  ['confirmations', SUPPORTED],
  ['absentFor', SUPPORTED],
  ['leaderAge', SUPPORTED],
  ['deletionsPerMinute', SUPPORTED],
  ['maxAbsentShare', SUPPORTED],
  ['maxAbsentMinimum', SUPPORTED],
  ['waitForVolumes', SUPPORTED],
  ['outOfServiceAfter', SUPPORTED],
  ['outOfServiceControlPlane', SUPPORTED],
])

/** Rollcall's own. */
export const TOPOLOGY: KnownSettings = new Map([['onChange', SUPPORTED]])

export const NODES: KnownSettings = new Map([
  ['internalNetworkSubnetCidr', BY_NETWORK],
  ['externalNetworkSubnetCidr', BY_NETWORK],
  ['internalVmNetworkName', BY_NETWORK],
  ['externalVmNetworkName', BY_NETWORK],
  ['excludeInternalNetworkSubnetCidr', BY_NETWORK],
  ['excludeExternalNetworkSubnetCidr', BY_NETWORK],
])

/** Sections of the CPI that are about something else than nodes. Empty ones pass. */
export const FOREIGN_SECTIONS: KnownSettings = new Map([
  [
    'loadBalancer',
    { is: 'refused', because: 'NSX-T load balancers are not supported: remove it once no Service needs one' },
  ],
  [
    'loadBalancerClass',
    { is: 'refused', because: 'NSX-T load balancers are not supported: remove it once no Service needs one' },
  ],
  ['route', { is: 'refused', because: 'NSX-T routes are not supported: remove it once the CNI needs none' }],
  ['nsxt', { is: 'ignored', because: 'has no effect, nothing here talks to NSX-T: remove it' }],
])

/** Two spellings of one setting come out the same. */
export function spelling(key: string): string {
  return key.toLowerCase().replaceAll(/[-_]/g, '')
}
