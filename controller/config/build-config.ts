import type { Config, InitializationConfig, VCenterCredentials } from './config.ts'
import { commonSource, type SourceOptions, sourceOf, warnInline } from './credential-source.ts'
import type { Findings } from './findings.ts'
import { type Given, valuesOf } from './read-section.ts'
import { Secret } from './secret.ts'
import type { Sections } from './sections.ts'
import { SECTIONS } from './settings/all-sections.ts'
import { standardOf } from './settings/row.ts'
import { VCENTER, type VCenterSettings } from './settings/vcenter.ts'
import { readTrust } from './trust.ts'
import { parseServer } from './values.ts'
import { type CheckedVCenter, vCentersOf, type WantedVCenter, warnDoubled } from './vcenters.ts'

/**
 * Builds the configuration from what is given, with defaults from `global` as in the CPI.
 *
 * @returns undefined where something is wrong; it is then in the findings
 */
export async function buildConfig(
  sections: Sections,
  initialization: InitializationConfig,
  options: SourceOptions,
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
  const config: Config = {
    vCenters: checked.map(({ config }) => config),
    labels: valuesOf(SECTIONS.labels, sections.labels, findings),
    identity: valuesOf(SECTIONS.identity, sections.identity, findings),
    lifecycle: valuesOf(SECTIONS.lifecycle, sections.lifecycle, findings),
    topology: valuesOf(SECTIONS.topology, sections.topology, findings),
    initialization,
    nodes: valuesOf(SECTIONS.nodes, sections.nodes, findings),
    ipFamilies: Object.fromEntries(checked.map(({ config, ipFamilies }) => [config.name, ipFamilies])),
    credentials: Object.fromEntries(
      checked.flatMap(({ config, credentials }) => (credentials ? [[config.name, credentials]] : [])),
    ),
  }
  warnIdleRequirement(sections, config, findings)
  return findings.wrong ? undefined : config
}

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

async function checkVCenter(
  wanted: WantedVCenter,
  global: Sections['global'],
  common: VCenterCredentials | undefined,
  options: SourceOptions,
): Promise<CheckedVCenter | undefined> {
  const { name, path, at, given } = wanted
  const { findings } = options
  const inherited = <K extends keyof VCenterSettings>(key: K): Given<VCenterSettings[K]> | undefined =>
    given[key] ?? global[key]
  const value = <K extends keyof VCenterSettings>(key: K): VCenterSettings[K] => {
    const found = inherited(key)
    return found === undefined ? standardOf(VCENTER.rows, key) : found.value
  }
  const credentials = sourceOf(wanted, global, common, options)
  const required = (key: 'server' | 'user' | 'password', found: Given<string> | undefined, hint: string) => {
    // Only the server is not inherited from `global`: there it defines a vCenter of its own.
    const above = key === 'server' ? [] : [`global.${key}`, 'global']
    const refused = [`${path}.${key}`, ...above].some((each) => findings.refused(each))
    if (found !== undefined || refused) return
    findings.refuse(`${path}.${key}`, at, `is missing: ${hint}`)
  }
  required('server', given.server, serverHint(name))
  if (credentials === undefined) {
    required('user', inherited('user'), USER_HINT)
    required('password', inherited('password'), PASSWORD_HINT)
  }
  const insecureFlag = [given.insecureFlag, global.insecureFlag].find((flag) => flag?.value === true)
  const trust = await readTrust(
    { insecureFlag, caFile: inherited('caFile'), thumbprint: inherited('thumbprint') },
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
