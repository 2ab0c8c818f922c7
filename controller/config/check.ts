import { readCertificates } from './certificates.ts'
import type { Checked } from './checked.ts'
import type { Config, Trust, VCenterConfig } from './config.ts'
import type { Findings, Place } from './findings.ts'
import { checkIdentity } from './identity.ts'
import { LIFECYCLE_DEFAULTS, TOPOLOGY_DEFAULTS } from './lifecycle.ts'
import type { ReadFile } from './read-text.ts'
import { Secret } from './secret.ts'
import type { Section, Sections, Setting } from './sections.ts'
import { parseServer } from './server.ts'
import { take } from './take.ts'
import { parseThumbprint } from './thumbprint.ts'
import { shapeOfText } from './tree.ts'

const DEFAULT_PORT = 443

export interface CheckOptions {
  /** Where relative paths start. */
  readonly folder: string
  readonly readFile: ReadFile
  readonly findings: Findings
}

/**
 * Makes a configuration of what a file says, defaults from `global` as the CPI takes them.
 *
 * @returns undefined where something is wrong; it is then in the findings
 */
export async function checkSections(sections: Sections, options: CheckOptions): Promise<Config | undefined> {
  const { findings } = options
  const wanted = vCentersOf(sections)
  if (wanted.length === 0 && !findings.problems.some(({ path }) => path.startsWith('vcenter'))) {
    const message = 'no vCenter: write "vcenter:", a name below it, and below that server, user and password'
    findings.refuse('vcenter', undefined, message)
  }
  const [, second] = wanted
  if (second !== undefined) {
    const names = wanted.map(({ name }) => name).join(', ')
    findings.refuse(second.path, second.at, `several vCenters (${names}) are not served yet: keep one`)
  }
  const vCenters: VCenterConfig[] = []
  for (const one of wanted) {
    // One too many that `global` means only by its server has nothing else to be said of it.
    if (wanted.length > 1 && one.section === sections.global) continue
    const vCenter = await checkVCenter(one, sections.global, options)
    if (vCenter !== undefined) vCenters.push(vCenter)
  }
  const identity = checkIdentity(sections.identity, findings)
  if (findings.problems.length > 0) return undefined
  const { labels } = sections
  return {
    vCenters,
    labels: { zone: labels.get('zone')?.text, region: labels.get('region')?.text },
    identity,
    lifecycle: LIFECYCLE_DEFAULTS,
    topology: TOPOLOGY_DEFAULTS,
  }
}

interface WantedVCenter {
  readonly name: string
  readonly path: string
  readonly at: Place | undefined
  readonly section: Section
}

/**
 * `global.server` is a vCenter of its own, named after itself, unless one of that name stands under `vcenter`: the
 * CPI's rule. One that an entry under another name has as its server is the same vCenter, too.
 */
function vCentersOf({ global, vCenters }: Sections): readonly WantedVCenter[] {
  const listed = vCenters.map((one) => ({ ...one, path: `vcenter.${one.name}` }))
  const server = global.get('server')
  if (server === undefined) return listed
  const known = listed.some(({ name, section }) => [name, section.get('server')?.text].includes(server.text))
  return known ? listed : [...listed, { name: server.text, path: 'global', at: server.at, section: global }]
}

async function checkVCenter(
  { name, path, at, section }: WantedVCenter,
  global: Section,
  options: CheckOptions,
): Promise<VCenterConfig | undefined> {
  const { findings } = options
  const setting = (key: string): Setting | undefined => section.get(key) ?? global.get(key)
  /** Undefined where it is missing or wrong, which is then in the findings. */
  const required = (key: string, found: Setting | undefined, hint: string): Setting | undefined => {
    const refused = findings.refused(`${path}.${key}`) || findings.refused(`global.${key}`)
    if (found === undefined && !refused) findings.refuse(`${path}.${key}`, at, `is missing: ${hint}`)
    return found
  }
  // The server alone is not taken from `global`: there it means a vCenter of its own.
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

/** As in the CPI: a flag set in `global` cannot be taken back, and a CA is asked before a thumbprint is. */
async function checkTrust(
  section: Section,
  global: Section,
  options: CheckOptions,
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
  const hex = thumbprint === undefined ? undefined : take(thumbprint, parseThumbprint, findings)
  if (caFile !== undefined) {
    if (thumbprint !== undefined) findings.warn(thumbprint.path, thumbprint.at, IDLE_THUMBPRINT)
    const read = await readCertificates(caFile.text, folder, readFile)
    const pem = take(caFile, () => read, findings)
    return pem === undefined ? undefined : { kind: 'ca', pem }
  }
  if (thumbprint === undefined) return { kind: 'system' }
  return hex === undefined ? undefined : { kind: 'thumbprint', thumbprint: hex }
}

const IDLE_TRUST =
  'has no effect beside insecureFlag, no certificate is checked: remove insecureFlag to have this one used'
const IDLE_THUMBPRINT =
  'has no effect beside caFile, which alone decides here (the CPI takes either): remove caFile if this is what should count'

/** Addresses of both families are written, IPv4 first, whatever the machine has; nothing turns one off yet. */
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

function parsePort(text: string): Checked<number> {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  // Zero is the CPI's way of saying nothing.
  if (port === 0) return { ok: true, value: DEFAULT_PORT }
  if (port <= 65535) return { ok: true, value: port }
  return { ok: false, message: `expected a number from 1 to 65535, got ${shapeOfText(text)}` }
}

/** The words of YAML 1.1, which the CPI reads, and of its INI form. */
function parseFlag(text: string): Checked<boolean> {
  if (/^(true|yes|on|y|1)$/i.test(text)) return { ok: true, value: true }
  if (/^(false|no|off|n|0)$/i.test(text)) return { ok: true, value: false }
  return { ok: false, message: `expected true or false, got ${shapeOfText(text)}` }
}

/** The CPI takes a certificate as user and its key as password for a login by SAML token. */
function parseUser(text: string): Checked<string> {
  if (!text.includes('-----BEGIN')) return { ok: true, value: text }
  return { ok: false, message: 'a certificate as user is not supported yet: write a user name and password' }
}
