import type { VCenterConfig } from '../config.ts'
import { ConfigError } from '../findings.ts'
import { loadConfig } from '../load.ts'
import type { Environment, GivenArguments } from '../overrides.ts'
import { CERTIFICATE } from './certificate.ts'

const FOLDER = '/etc/cloud'
const FILE = `${FOLDER}/vsphere.conf`

/** A file system without folders. */
export const noFolder = (): Promise<never> =>
  Promise.reject(Object.assign(new Error('no such folder'), { code: 'ENOENT' }))

/** A file system of these files; everything else is not there. */
export async function load(
  text: string | Uint8Array,
  files: Record<string, string> = {},
  environment: Environment = {},
  given?: GivenArguments,
) {
  const all: Record<string, string | Uint8Array> = {
    [`${FOLDER}/ca.pem`]: CERTIFICATE,
    ...files,
    [FILE]: text,
  }
  const readFile = async (path: string) => {
    const found = all[path]
    if (found === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
    return typeof found === 'string' ? new TextEncoder().encode(found) : found
  }
  // Folders are there where files are.
  const readFolder = async (path: string) => {
    const names = Object.keys(all).filter((name) => name.startsWith(`${path}/`))
    if (names.length === 0) return noFolder()
    return names.map((name) => name.slice(path.length + 1))
  }
  return loadConfig({
    path: FILE,
    readFile,
    readFolder,
    environment,
    ...(given === undefined ? {} : { given }),
  })
}

/** The one vCenter, password in clear, and the warnings without the file's folder. */
export async function loaded(text: string, files?: Record<string, string>) {
  const { config, warnings } = await load(text, files)
  const [vCenter, ...others] = config.vCenters
  if (others.length > 0) throw new Error(`expected one vCenter, got ${config.vCenters.length}`)
  return {
    labels: config.labels,
    identity: config.identity,
    vCenter: vCenter && { ...vCenter, password: vCenter.password.reveal() },
    warnings: warnings.map((warning) => warning.replace(`${FOLDER}/`, '')),
  }
}

/** The lines of the refusal, without the file's folder. */
export async function refusal(
  text: string | Uint8Array,
  files?: Record<string, string>,
  environment?: Environment,
): Promise<string[]> {
  const error = await load(text, files, environment).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof ConfigError)) throw new Error(`not refused: ${text}`, { cause: error })
  return error.message.split('\n').map((line) => line.replace(`${FOLDER}/`, ''))
}

/** The vCenter of {@link file} without further settings, its password in clear. */
export const BASE: Omit<VCenterConfig, 'password'> & { password: string } = {
  name: 'vc1',
  server: 'vc.example.com',
  port: 443,
  user: 'ops@vsphere.local',
  password: 'pw',
  trust: { kind: 'system' },
  datacenters: [],
}

/** A right file in its shortest form, plus these lines below the vCenter and below all. */
export const file = (settings = '', rest = '') =>
  `vcenter:\n  vc1:\n    server: vc.example.com\n    user: ops@vsphere.local\n    password: pw\n${settings}\n${rest}`
