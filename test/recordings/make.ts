/** Records vcsim: `node test/recordings/make.ts` writes its recordings anew. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { systemClock } from '../../agent/shared/clock.ts'
import {
  formatClaim,
  GUESTINFO_CLAIM,
  GUESTINFO_METADATA,
  GUESTINFO_METADATA_ENCODING,
} from '../../agent/shared/node-report.ts'
import { VERSION } from '../../agent/shared/version.ts'
import { runAsProgram } from '../../build/entry.ts'
import { Secret } from '../../controller/config/secret.ts'
import {
  printRecording,
  recordVCenter,
  type VCenterRecording,
} from '../../controller/inspect/recording/record-vcenter.ts'
import { testLogins } from '../../controller/vcenter/testing/logins.ts'
import { TIMINGS } from '../../controller/vcenter/timings.ts'
import { drawClaim } from '../fixtures/claim.ts'
import type { VcsimVM } from '../servers/control.ts'
import { startVcsim, type Vcsim } from '../servers/vcsim.ts'

/** What the simulator is like, by the name of the file. */
export const SCENES = ['vcsim', 'vcsim-strict'] as const
type Scene = (typeof SCENES)[number]

export const fileOf = (scene: Scene) => join(import.meta.dirname, `${scene}.json`)

const METADATA = `network:
  version: 2
  ethernets:
    ens192:
      addresses: [10.77.31.5/24]
local-hostname: payroll-worker-7
`
const CLAIM = drawClaim('6f1f8e0a-3c5b-4a57-9c57-4d9f0a1b2c3d')

/** All that a VM can say of itself. */
async function talkative(vcsim: Vcsim, { ref: vm }: VcsimVM): Promise<void> {
  const addresses = ['10.77.31.5/24', '84.19.7.133/28', '2a02:58:1c::5/64', 'fd5e:77::5/64']
  const hostName = 'payroll-worker-7.zurich.sparkasse.invalid'
  await vcsim.setGuest({ vm, hostName, nics: [{ network: 'ledger-lan', addresses }] })
  await vcsim.setGuestinfo(
    { vm, key: GUESTINFO_CLAIM, value: formatClaim(CLAIM) },
    { vm, key: GUESTINFO_METADATA, value: Buffer.from(METADATA).toString('base64') },
    { vm, key: GUESTINFO_METADATA_ENCODING, value: 'base64' },
  )
}

/** Only the newer interfaces, an account that may not see everything, and a VM that is off. */
async function strict(vcsim: Vcsim, { ref: vm }: VcsimVM): Promise<void> {
  await vcsim.setGeneration({ restGone: true, apiVersions: ['8.0.3.0', '8.0.2.0'] })
  await vcsim.setState({ vm, powerState: 'poweredOff' })
  const operation = 'RetrievePropertiesEx'
  await vcsim.fault({ operation, object: 'SessionManager', kind: 'fault', fault: 'NoPermission' })
}

/** The recording, and all that it must not have in it. */
export async function recordSimulator(
  scene: Scene,
): Promise<{ readonly recording: VCenterRecording; readonly secrets: readonly string[] }> {
  await using vcsim = await startVcsim({
    vms: 3,
    clusters: 2,
    user: 'rollcall@zurich.sparkasse.invalid',
    password: 'opensesame-7f3a',
    apiVersion: '8.0.3.0',
  })
  const [first, second] = await vcsim.vms()
  if (first === undefined || second === undefined) throw new Error('there are three')
  await vcsim.govc('object.rename', `/DC0/vm/${first.name}`, 'payroll-worker-7')
  await vcsim.govc('object.rename', '/DC0', 'Zurich')
  await vcsim.tag(
    { category: 'sparkasse-zone', tag: 'vaulthall-eastern', object: first.cluster },
    { category: 'sparkasse-region', tag: 'helvetia', object: 'Zurich' },
    { category: 'costcenter', tag: 'treasury', object: first.cluster },
  )
  await (scene === 'vcsim' ? talkative : strict)(vcsim, first)
  const recording = await recordVCenter(
    {
      config: {
        name: 'main',
        server: vcsim.host,
        port: vcsim.port,
        user: vcsim.username,
        password: new Secret(vcsim.password),
        trust: { kind: 'ca', pem: await readFile(vcsim.certificateFile, 'utf8') },
        datacenters: ['Zurich'],
      },
      labels: { zone: 'sparkasse-zone', region: 'sparkasse-region' },
      // Without Nodes it follows some VMs.
      uuids: scene === 'vcsim' ? [first.uuid, second.uuid] : [],
      version: VERSION,
      warn: (message) => process.stderr.write(`${message}\n`),
      around: {
        logins: testLogins(),
        alone: () => undefined,
        userAgent: 'rollcall-controller/recording',
        timings: TIMINGS,
        clock: systemClock,
        random: Math.random,
        logger: pino({ level: 'silent' }),
      },
    },
    new AbortController().signal,
  )
  const { nodeUID, bootID, nonce } = CLAIM
  const own = [vcsim.username, vcsim.password, nodeUID, bootID, nonce ?? '']
  const planted =
    'rollcall@ zurich sparkasse opensesame payroll worker vaulthall eastern helvetia treasury costcenter ledger 10.77.31 84.19.7 2a02:58 fd5e:77'
  const vms = [first, second].flatMap(({ uuid, instanceUuid, vnics, host }) => [
    uuid,
    instanceUuid,
    host,
    ...vnics.map(({ mac }) => mac),
  ])
  return { recording, secrets: [...own, ...planted.split(' '), ...vms] }
}

async function main(): Promise<void> {
  for (const scene of SCENES) {
    const { recording } = await recordSimulator(scene)
    await writeFile(fileOf(scene), printRecording(recording))
  }
}

if (import.meta.main) runAsProgram(main)
