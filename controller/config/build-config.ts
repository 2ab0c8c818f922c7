import { isDeepStrictEqual } from 'node:util'
import {
  type Config,
  canonicalServer,
  type IPFamily,
  serverKey,
  type VCenterConfig,
  type VCenterCredentials,
} from './config.ts'
import { commonSource, sourceOf } from './credential-source.ts'
import type { Findings } from './findings.ts'
import { type Given, type GivenVCenter, type Sections, valuesOf } from './given.ts'
import { type ParseOptions, readTrust } from './read-trust.ts'
import { Secret } from './secret.ts'
import { standardOf } from './settings/row.ts'
import { SECTIONS } from './settings/sections.ts'
import { parseServer, VCENTER, type VCenterSettings } from './settings/vcenter.ts'

/**
 * Builds the configuration from what is given, with defaults from `global` as in the CPI.
 *
 * @returns undefined where something is wrong; it is then in the findings
 */
export async function buildConfig(
  sections: Sections,
  initialization: Config['initialization'],
  options: ParseOptions,
): Promise<Config | undefined> {
  const { findings } = options
  const wanted = vCentersOf(sections)
  const refused =
    findings.refused('vcenter') || findings.problems.some(({ path }) => path.startsWith('vcenter.'))
  if (wanted.length === 0 && !refused) {
    const message =
      'no vCenter: write "vcenter:", a name below it, and below that server, user and password; in INI, [VirtualCenter "SERVER"]'
    findings.refuse('vcenter', undefined, message)
  }
  const common = commonSource(sections.global, options)
  const checked: CheckedVCenter[] = []
  for (const one of wanted) {
    const vCenter = await checkVCenter(one, sections.global, common, options)
    if (vCenter !== undefined) checked.push(vCenter)
  }
  warnInline(checked, sections.global, findings)
  warnDoubled(checked, findings)
  const nodes = valuesOf(SECTIONS.nodes, sections.nodes, findings)
  const config: Config = {
    vCenters: checked.map(({ config }) => config),
    labels: valuesOf(SECTIONS.labels, sections.labels, findings),
    labelRules: sections.labelRules.map(({ value }) => value),
    identity: valuesOf(SECTIONS.identity, sections.identity, findings),
    lifecycle: valuesOf(SECTIONS.lifecycle, sections.lifecycle, findings),
    topology: valuesOf(SECTIONS.topology, sections.topology, findings),
    initialization,
    nodes,
    certificates: certificatesOf(sections, nodes, findings),
    ipFamilies: Object.fromEntries(checked.map(({ config, ipFamilies }) => [config.name, ipFamilies])),
    credentials: Object.fromEntries(
      checked.flatMap(({ config, credentials }) => (credentials ? [[config.name, credentials]] : [])),
    ),
  }
  warnIdleRequirement(sections, config, findings)
  refuseSharedLabels(sections.labelRules, config, findings)
  return findings.wrong ? undefined : config
}

/** Refused where no network is known: any address that a machine gives itself would be as good as another. */
function certificatesOf(
  { certificates: given }: Sections,
  { internalNetworkSubnetCidr: internal, externalNetworkSubnetCidr: external }: Config['nodes'],
  findings: Findings,
): Config['certificates'] {
  const certificates = valuesOf(SECTIONS.certificates, given, findings)
  if (certificates.networks.length > 0) return certificates
  if (certificates.approve && internal.length === 0 && !findings.wrong)
    findings.refuse(given.approve?.path ?? 'certificates.approve', given.approve?.at, NO_NETWORKS)
  return { ...certificates, networks: [...internal, ...external] }
}

const NO_NETWORKS =
  'needs the networks that addresses of Nodes are in: write internalNetworkSubnetCidr under "nodes", or networks here'

function warnIdleRequirement(
  { topology: { required } }: Sections,
  { labels }: Config,
  findings: Findings,
): void {
  if (required?.value !== true || labels.zone !== undefined || labels.region !== undefined) return
  if (findings.wrong) return
  findings.warn(
    required.path,
    required.at,
    'has no effect because the section labels names no category: write zone or region there',
  )
}

/** Refuses rules for labels that another setting gives a meaning of its own. */
function refuseSharedLabels(
  rules: Sections['labelRules'],
  { identity: { exempt }, initialization }: Config,
  findings: Findings,
): void {
  for (const { path, at, value } of rules) {
    const { label } = value
    if (exempt?.requirements.some(({ key }) => key === label) === true)
      findings.refuse(
        path,
        at,
        'is a label that "identity.exempt" selects by, so whoever may set tags or attributes in vCenter could exempt a Node: use another label',
      )
    if (Object.hasOwn(initialization.labels, label))
      findings.refuse(path, at, 'is a label that --node-labels gives: remove it there or here')
  }
}

async function checkVCenter(
  wanted: GivenVCenter,
  global: Sections['global'],
  common: VCenterCredentials | undefined,
  options: ParseOptions,
): Promise<CheckedVCenter | undefined> {
  const { name, path, at, given } = wanted
  const { findings } = options
  const inherited: GivenVCenter['given'] = { ...global, ...given }
  const value = <K extends keyof VCenterSettings>(key: K): VCenterSettings[K] =>
    (inherited[key] ?? { value: standardOf(VCENTER, key) }).value
  const credentials = sourceOf(wanted, global, common, options)
  const required = (key: 'server' | 'user' | 'password', found: Given<string> | undefined, hint: string) => {
    // Only the server is not inherited from `global`: there it defines a vCenter of its own.
    const sections = key === 'server' ? [path] : [path, 'global']
    const settings = key === 'server' ? [key] : [key, 'secretName', 'secretNamespace', 'secretsDirectory']
    const refused =
      (key !== 'server' && findings.refused('global')) ||
      sections.some((section) => settings.some((each) => findings.refusedSetting(section, each)))
    if (found !== undefined || refused) return
    findings.refuse(`${path}.${key}`, at, `is missing: ${hint}`)
  }
  required('server', given.server, serverHint(name))
  if (credentials === undefined) {
    required('user', inherited.user, USER_HINT)
    required('password', inherited.password, PASSWORD_HINT)
  }
  const insecureFlag = [given.insecureFlag, global.insecureFlag].find((flag) => flag?.value === true)
  const trust = await readTrust(
    { insecureFlag, caFile: inherited.caFile, thumbprint: inherited.thumbprint },
    options,
  )
  if (given.server === undefined || trust === undefined) return undefined
  return {
    wanted,
    config: {
      name,
      server: given.server.value,
      port: value('port'),
      user: credentials ? '' : value('user'),
      password: new Secret(credentials ? '' : value('password')),
      ...(credentials && { noCredential: { state: 'pending' } }),
      trust,
      datacenters: value('datacenters'),
    },
    ipFamilies: value('ipFamily'),
    credentials,
  }
}

const USER_HINT = 'write it here or under "global", or write secretName and secretNamespace'
const PASSWORD_HINT =
  'write it here or under "global", in quotes if it contains # or a colon, or begins with another special character'

function serverHint(name: string): string {
  const written = name.includes('.') && parseServer(name).ok
  return written ? `write "server: ${name}"` : 'write the host name or IP address of vCenter'
}

/**
 * `global.server` is a vCenter of its own, named after its server, unless `vcenter` has an entry of that name (the CPI's
 * rule) or an entry with that server.
 */
function vCentersOf({ global, vCenters }: Sections): readonly GivenVCenter[] {
  const { server } = global
  if (server === undefined) return vCenters
  const same = (text: string | undefined): boolean =>
    text !== undefined && canonicalServer(text) === canonicalServer(server.value)
  const known = vCenters.some(({ name, given }) => same(name) || same(given.server?.value))
  return known
    ? vCenters
    : [...vCenters, { name: server.value, path: 'global', at: server.at, given: global }]
}

/** A vCenter as it is checked, and as it was given. */
interface CheckedVCenter {
  readonly wanted: GivenVCenter
  readonly config: VCenterConfig
  readonly ipFamilies: readonly IPFamily[]
  readonly credentials: VCenterCredentials | undefined
}

/** Warns of users and passwords beside a Secret or a folder. The CPI would first try to log in with them, and fail. */
function warnInline(
  vCenters: readonly CheckedVCenter[],
  global: Sections['global'],
  findings: Findings,
): void {
  const elsewhere = vCenters.filter(({ credentials }) => credentials !== undefined)
  const idle = elsewhere.flatMap(({ wanted: { given } }) => (given === global ? [] : [given]))
  if (elsewhere.length > 0 && elsewhere.length === vCenters.length) idle.push(global)
  for (const { user, password } of idle) {
    for (const one of [user, password])
      if (one !== undefined)
        findings.warn(one.path, one.at, 'has no effect because the Secret or folder is used: remove it here')
  }
}

/**
 * Warns of one server under two names where that is useless. With different accounts or datacenters it means two tenants, as
 * in the CPI.
 */
function warnDoubled(vCenters: readonly CheckedVCenter[], findings: Findings): void {
  for (const [index, vCenter] of vCenters.entries()) {
    const { wanted, config } = vCenter
    const other = vCenters
      .slice(0, index)
      .find(
        (each) =>
          serverKey(each.config) === serverKey(config) &&
          sameAccount(each, vCenter) &&
          sameDatacenters(each.config, config),
      )
    if (other === undefined) continue
    findings.warn(
      `${wanted.path}.server`,
      wanted.given.server?.at ?? wanted.at,
      `names the same server as ${other.wanted.path}, with the same user and datacenters, so everything is asked twice: keep one of the two`,
    )
  }
}

function sameAccount(a: CheckedVCenter, b: CheckedVCenter): boolean {
  return a.config.user === b.config.user && isDeepStrictEqual(a.credentials, b.credentials)
}

function sameDatacenters(a: VCenterConfig, b: VCenterConfig): boolean {
  return isDeepStrictEqual(new Set(a.datacenters), new Set(b.datacenters))
}
