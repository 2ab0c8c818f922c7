import type { Config } from '../../controller/config/config.ts'
import { Findings } from '../../controller/config/findings.ts'
import { parseConfig } from '../../controller/config/load.ts'
import { chooseAddresses } from '../../controller/loops/node/decide/addresses/choose-addresses.ts'
import { agentlessReport } from '../../controller/loops/node/facts/previous-status.ts'
import { readStaticAddresses } from '../../controller/vcenter/properties/static-addresses.ts'
import { node, vm } from '../fixtures/facts.ts'
import type { AddressOutcome, Configured, ReportedMachine } from './oracle.ts'

/** What Rollcall makes of each machine, by configuration, where there is no agent. */
export async function askRollcall(
  configured: readonly Configured[],
): Promise<readonly (readonly AddressOutcome[])[]> {
  return Promise.all(
    configured.map(async ({ text, machines }) => {
      const config = await read(text)
      return machines.map((machine) => ofMachine(machine, config))
    }),
  )
}

async function read(text: string): Promise<Config> {
  const findings = new Findings()
  const options = { folder: '/etc/cloud', readFile: nothing, defaultFolder: false, findings }
  const here = text.replaceAll('@HOST@', 'vc.example.com').replaceAll('@PORT@', '443')
  const parsed = await parseConfig(here, {}, options)
  if (parsed === undefined) throw new Error(findings.problems.map(({ message }) => message).join('\n'))
  return parsed.config
}

async function nothing(): Promise<never> {
  throw new Error('no file is read')
}

function ofMachine(
  { nics, guestinfo = {}, nodeIP }: ReportedMachine,
  { nodes, ipFamilies }: Config,
): AddressOutcome {
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
    holder: () => undefined,
  })
  return addresses === undefined || awaitsAddresses
    ? { error: `${condition.reason}: ${condition.message}` }
    : { addresses }
}
