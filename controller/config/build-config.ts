import { readCertificates } from './certificates.ts'
import type { Config, Trust, VCenterConfig } from './config.ts'
import type { Findings } from './findings.ts'
import { checkIdentity } from './identity.ts'
import { checkLifecycle } from './lifecycle.ts'
import type { ReadFile } from './read-text.ts'
import { Secret } from './secret.ts'
import type { Section, Sections, Setting } from './sections.ts'
import {
  DEFAULT_PORT,
  parseChoice,
  parseFlag,
  parsePort,
  parseServer,
  parseThumbprints,
  parseUser,
  take,
} from './values.ts'
import { refuseDoubled, vCentersOf, type WantedVCenter } from './vcenters.ts'

export interface BuildConfigOptions {
  /** Where relative paths start. */
  readonly folder: string
  readonly readFile: ReadFile
  readonly findings: Findings
}

/**
 * Builds the configuration from a file's sections, with defaults from `global` as in the CPI.
 *
 * @returns undefined where something is wrong; it is then in the findings
 */
export async function buildConfig(
  sections: Sections,
  options: BuildConfigOptions,
): Promise<Config | undefined> {
  const { findings } = options
  const wanted = vCentersOf(sections)
  if (wanted.length === 0 && !findings.problems.some(({ path }) => path.startsWith('vcenter'))) {
    const message = 'no vCenter: write "vcenter:", a name below it, and below that server, user and password'
    findings.refuse('vcenter', undefined, message)
  }
  const checked = []
  for (const one of wanted) {
    const vCenter = await checkVCenter(one, sections.global, options)
    if (vCenter !== undefined) checked.push({ wanted: one, config: vCenter })
  }
  refuseDoubled(checked, findings)
  const identity = checkIdentity(sections.identity, findings)
  const lifecycle = checkLifecycle(sections.lifecycle, findings)
  const parseOnChange = (text: string) => parseChoice(text, ['report', 'relabel', 'ignore'])
  const onChange = take(sections.topology.get('onChange'), parseOnChange, findings) ?? 'report'
  if (findings.problems.length > 0) return undefined
  const { labels } = sections
  return {
    vCenters: checked.map(({ config }) => config),
    labels: { zone: labels.get('zone')?.text, region: labels.get('region')?.text },
    identity,
    lifecycle,
    topology: { onChange },
  }
}

async function checkVCenter(
  { name, path, at, section }: WantedVCenter,
  global: Section,
  options: BuildConfigOptions,
): Promise<VCenterConfig | undefined> {
  const { findings } = options
  const setting = (key: string): Setting | undefined => section.get(key) ?? global.get(key)
  /** Undefined where it is missing or wrong, which is then in the findings. */
  const required = (key: string, found: Setting | undefined, hint: string): Setting | undefined => {
    const refused = findings.refused(`${path}.${key}`) || findings.refused(`global.${key}`)
    if (found === undefined && !refused) findings.refuse(`${path}.${key}`, at, `is missing: ${hint}`)
    return found
  }
  // Only the server is not taken from `global`: there it names a vCenter of its own.
  const server = take(required('server', section.get('server'), serverHint(name)), parseServer, findings)
  const user = take(required('user', setting('user'), 'write it here or under "global"'), parseUser, findings)
  const password = required('password', setting('password'), PASSWORD_HINT)
  const port = setting('port')
  const checkedPort = port === undefined ? DEFAULT_PORT : take(port, parsePort, findings)
  checkIPFamily(setting('ipFamily'), findings)
  const trust = await checkTrust(section, global, options)
  if (server === undefined || user === undefined || password === undefined) return undefined
  if (checkedPort === undefined || trust === undefined) return undefined
  const datacenters = (setting('datacenters')?.text ?? '')
    .split(',')
    .map((datacenter) => datacenter.trim())
    .filter((datacenter) => datacenter !== '')
  return { name, server, port: checkedPort, user, password: new Secret(password.text), trust, datacenters }
}

const PASSWORD_HINT =
  'write it here or under "global", in quotes if it holds # or a colon, or begins with another special character'

function serverHint(name: string): string {
  const written = name.includes('.') && parseServer(name).ok
  return written ? `write "server: ${name}"` : 'write the host name or IP address of vCenter'
}

/** As in the CPI: a flag set in `global` cannot be unset, and a CA takes precedence over a thumbprint. */
async function checkTrust(
  section: Section,
  global: Section,
  options: BuildConfigOptions,
): Promise<Trust | undefined> {
  const { findings, folder, readFile } = options
  const flags = [section, global].map((where) => {
    const flag = where.get('insecureFlag')
    return flag === undefined ? false : take(flag, parseFlag, findings)
  })
  const caFile = section.get('caFile') ?? global.get('caFile')
  const thumbprint = section.get('thumbprint') ?? global.get('thumbprint')
  if (flags.includes(undefined)) return undefined
  if (flags.includes(true)) {
    for (const idle of [caFile, thumbprint])
      if (idle !== undefined) findings.warn(idle.path, idle.at, IDLE_TRUST)
    return { kind: 'insecure' }
  }
  const thumbprints = thumbprint === undefined ? undefined : take(thumbprint, parseThumbprints, findings)
  if (caFile !== undefined) {
    if (thumbprint !== undefined) findings.warn(thumbprint.path, thumbprint.at, IDLE_THUMBPRINT)
    const read = await readCertificates(caFile.text, folder, readFile)
    const pem = take(caFile, () => read, findings)
    return pem === undefined ? undefined : { kind: 'ca', pem }
  }
  if (thumbprint === undefined) return { kind: 'system' }
  return thumbprints === undefined ? undefined : { kind: 'thumbprint', thumbprints }
}

const IDLE_TRUST =
  'has no effect beside insecureFlag, no certificate is checked: remove insecureFlag to have this one used'
const IDLE_THUMBPRINT =
  'has no effect beside caFile, which alone decides here (the CPI takes either): remove caFile if this is what should count'

/** Addresses of both families are always written, IPv4 first; nothing can turn one off yet. */
function checkIPFamily(setting: Setting | undefined, findings: Findings): void {
  if (setting === undefined) return
  const families = setting.text.split(',').map((family) => family.trim().toLowerCase())
  if (families.some((family) => family !== 'ipv4' && family !== 'ipv6')) {
    findings.refuse(setting.path, setting.at, 'expected ipv4, ipv6 or a list of both, got something else')
  } else if (families[0] === 'ipv6') {
    const message =
      'IPv6 first or alone is not supported yet: remove it, and put the order into the kubelet --node-ip'
    findings.refuse(setting.path, setting.at, message)
  } else if (families.length === 1) {
    const message = 'has no effect, an IPv6 address is written as well where a machine has one: remove it'
    findings.warn(setting.path, setting.at, message)
  }
}
