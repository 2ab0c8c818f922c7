/** Asks Rollcall's own code what it makes of files, Secrets and machines. */
import type { Config } from '../../controller/config/config.ts'
import { findCredential } from '../../controller/config/credentials/find-credential.ts'
import { Findings } from '../../controller/config/findings.ts'
import { parseConfig } from '../../controller/config/load.ts'
import { Secret } from '../../controller/config/secret.ts'
import { CERTIFICATE } from '../../controller/config/testing/certificate.ts'
import { chooseAddresses } from '../../controller/loops/node/decide/addresses/choose-addresses.ts'
import { NO_WITNESS } from '../../controller/loops/node/decide/addresses/usable-addresses.ts'
import { agentlessReport } from '../../controller/loops/node/facts/previous-status.ts'
import { readStaticAddresses } from '../../controller/vcenter/properties/property-values.ts'
import { node, vm } from '../fixtures/facts.ts'
import type { ChosenAddresses, ReadOutcome } from './compare.ts'
import type { Configured, ReportedMachine, WrittenConfig, WrittenSecret } from './oracle.ts'

/** Each file named .pem or .crt has a certificate, but below /nowhere. */
async function readFile(path: string): Promise<Uint8Array> {
  if (path.startsWith('/nowhere/')) throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
  return new TextEncoder().encode(CERTIFICATE)
}

/** Reads a file, as if everything were served that Rollcall parses. */
export async function readConfig({ text, environment = {} }: WrittenConfig): Promise<ReadOutcome<Config>> {
  const findings = new Findings()
  const decoded = new TextDecoder().decode(new TextEncoder().encode(text))
  const parsed = await parseConfig(decoded, environment, {
    folder: '/etc/cloud',
    readFile,
    defaultFolder: false,
    findings,
  })
  return parsed === undefined
    ? { refusal: findings.problems.map(({ path, message }) => `${path}: ${message}`).join('\n') }
    : { value: parsed.config }
}

/** Finds user and password, or session manager and token, in a Secret. */
export function readCredential({ secret, server }: WrittenSecret): ReadOutcome<string> {
  const data = new Map(Object.entries(secret).map(([key, value]) => [key, new Secret(value)]))
  const found = findCredential(data, server)
  if (!found.ok) return { refusal: found.message }
  const { user, password, sessionManager } = found.value
  return {
    value:
      sessionManager === undefined
        ? `${user}/${password.reveal()}`
        : `${sessionManager} ${password.reveal()}`,
  }
}

/** Chooses the addresses of each machine's new Node where there is no agent. */
export async function chooseFor({
  text,
  machines,
}: Configured): Promise<readonly ReadOutcome<ChosenAddresses>[]> {
  const config = await readConfig({
    text: text.replaceAll('@HOST@', 'vc.example.com').replaceAll('@PORT@', '443'),
  })
  if ('refusal' in config) throw new Error(config.refusal)
  return machines.map((machine) => ofMachine(machine, config.value))
}

function ofMachine(
  { nics, guestinfo = {}, nodeIP }: ReportedMachine,
  { nodes, ipFamilies }: Config,
): ReadOutcome<ChosenAddresses> {
  const own = node({ name: 'worker-1', providedNodeIP: nodeIP })
  const machine = vm({
    vCenter: { name: 'main', instanceUUID: 'bbbbbbbb-2222-4333-8444-555555555555' },
    nics: nics.flatMap(({ mac, deviceConfigID }) => (deviceConfigID === -1 ? [] : [{ mac }])),
    guestNICs: nics.map(({ addresses, ...nic }) => ({
      ...nic,
      addresses: addresses.map((address) => ({ address, prefixLength: undefined })),
    })),
    staticAddresses: readStaticAddresses(
      guestinfo['guestinfo.metadata'],
      guestinfo['guestinfo.metadata.encoding'],
    ),
  })
  const { addresses, awaitsAddresses, condition } = chooseAddresses(agentlessReport(own), machine, {
    node: own,
    macs: [],
    settings: { nodes, ipFamilies },
    before: [],
    wasBound: false,
    holder: () => undefined,
    witness: () => NO_WITNESS,
  })
  return addresses === undefined || awaitsAddresses
    ? { refusal: `${condition.reason}: ${condition.message}` }
    : { value: addresses }
}
