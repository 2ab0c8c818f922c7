// Serving certificates of kubelets: who asks, for what, and what happens to the Node meanwhile.
import type { Test } from 'tap'
import type { Ask } from '../model/certificates.ts'
import type { Machine } from '../model/machine.ts'
import { scenario } from '../scenario.ts'
import type { FixedScene } from '../scene.ts'
import { NETWORK } from '../settings.ts'

const APPROVING = { approve: true, networks: [NETWORK] } as const
const setting = { nodes: ['worker', 'canary'], certificates: APPROVING } as const
/** Longer than an approval waits for Nodes that are being initialized, milliseconds. */
const DECIDED = 40_000
const KUBELETS = ['system:nodes', 'system:authenticated']

type Scene = FixedScene<string>

const decisionOn = ({ world }: Scene, request: string) =>
  world.api.requests.get(request)?.status.conditions[0]?.type ?? 'none'

/** What becomes of a request, and of what reason the Node's report speaks then. */
async function outcome(scene: Scene, { nodeName }: Machine, request: string): Promise<string> {
  await scene.pass(DECIDED)
  return `${decisionOn(scene, request)} ${scene.condition(nodeName, 'ServingCertificate')?.reason}`
}

async function served(scene: Scene, machine: Machine): Promise<void> {
  await scene.until(`${machine.nodeName} serves`, () => scene.world.certificates.serves(machine))
}

/** A machine that is new, known in a minute, and asks for nothing itself. */
async function joinsQuietly(scene: Scene): Promise<Machine> {
  const machine = scene.joins('worker')
  machine.claimDelay = 60_000
  await scene.until('it has a Node', () => scene.node('worker') !== undefined)
  machine.kubelet = false
  return machine
}

scenario('kubelets ask for what is theirs, again and again', setting, async (scene, t) => {
  const { certificates, api } = scene.world
  for (const machine of scene.members) await served(scene, machine)
  await scene.said('worker', { status: 'True', reason: 'CertificateApproved' }, 'ServingCertificate')
  // Until they have renewed it once, and all that is old is cleared away.
  await scene.pass(3_000_000)
  t.ok(certificates.asked.size >= 4)
  t.ok(api.requests.size < certificates.asked.size)
  t.equal(scene.nodeWrites('worker'), 2, 'the Node itself is not written for that')
  const late = scene.joins('late')
  await served(scene, late)
})

scenario('a request that is not right waits, whatever is wrong', setting, async (scene, t) => {
  const { worker } = scene.cast
  const { certificates } = scene.world
  const { address = '' } = worker
  const cases: readonly (readonly [string, Partial<Ask>, string])[] = [
    ['an address that nobody has', { addresses: [address, '10.0.200.1'] }, 'NameNotVerified'],
    ['a name that nobody has', { dnsNames: ['worker', 'worker.example.org'] }, 'NameNotVerified'],
    ['a wildcard', { dnsNames: ['*.worker'] }, 'NameNotVerified'],
    ['an address as a name', { dnsNames: [address] }, 'NameNotVerified'],
    ['its address, mapped to IPv6', { addresses: [`::ffff:${address}`] }, 'NameNotVerified'],
    ['the API server', { dnsNames: ['kubernetes.default.svc'] }, 'NameNotVerified'],
    ['another common name', { commonName: 'system:node:canary' }, 'RequestNotOfKubelet'],
    ['another organization', { organizations: ['system:masters'] }, 'RequestNotOfKubelet'],
    ['one more organization', { organizations: ['system:nodes', 'system:masters'] }, 'RequestNotOfKubelet'],
    ['a client certificate', { usages: ['digital signature', 'client auth'] }, 'RequestNotOfKubelet'],
    [
      'one for clients as well',
      { usages: ['digital signature', 'server auth', 'client auth'] },
      'RequestNotOfKubelet',
    ],
    ['no name at all', { dnsNames: [], addresses: [] }, 'RequestMalformed'],
  ]
  for (const [what, differs, reason] of cases)
    t.equal(await outcome(scene, worker, certificates.ask(worker, differs)), `none ${reason}`, what)
  t.equal(await outcome(scene, worker, certificates.ask(worker)), 'Approved CertificateApproved')
})

scenario('whoever is no kubelet gets nothing', setting, async (scene, t) => {
  const { worker } = scene.cast
  const { certificates } = scene.world
  const [commonName, names] = ['system:node:worker', certificates.namesOf(worker)]
  const asKubelet = { username: commonName, commonName, groups: KUBELETS, ...names }
  const credential = 'authentication.kubernetes.io/credential-id'
  const cases: readonly (readonly [string, Partial<Ask>])[] = [
    ['one who lacks the group', { groups: ['system:authenticated'] }],
    ['one who is in another group as well', { groups: [...KUBELETS, 'system:masters'] }],
    ['a token', { extra: { [credential]: ['JTI=ea28ed49-2e11-4280-9ec5-bc3d1d84661a'] } }],
    ['one who is impersonated', { extra: { 'example.com/by': ['tenant'] } }],
  ]
  for (const [what, differs] of cases) {
    const request = certificates.askAsStranger({ ...asKubelet, ...differs })
    t.equal(await outcome(scene, worker, request), 'none RequestNotOfKubelet', what)
  }
  const request = certificates.askAsStranger({ commonName, ...names })
  t.match(await outcome(scene, worker, request), /^none /, 'a Pod')
})

scenario("what is another Node's is denied, and nothing else", setting, async (scene, t) => {
  const { worker, canary } = scene.cast
  const { certificates } = scene.world
  const cases: readonly (readonly [string, Partial<Ask>, string])[] = [
    ['its address', { addresses: [canary.address ?? ''] }, 'Denied CertificateDenied'],
    ['its name', { dnsNames: ['worker', 'canary'] }, 'Denied CertificateDenied'],
    ['its name in capitals', { dnsNames: ['Canary'] }, 'Denied CertificateDenied'],
    ['the own name in capitals', { dnsNames: ['Worker'] }, 'none NameNotVerified'],
  ]
  for (const [what, differs, wanted] of cases)
    t.equal(await outcome(scene, worker, certificates.ask(worker, differs)), wanted, what)
})

scenario(
  'a Node registers anew between request and approval',
  { nodes: ['canary'], certificates: APPROVING },
  async (scene, t) => {
    const { api, machines, certificates } = scene.world
    const machine = await joinsQuietly(scene)
    const request = certificates.ask(machine)
    await scene.pass(2_000)
    api.putNode('worker', undefined)
    machine.kubelet = true
    machines.kubelets.start(machine)
    machine.kubelet = false
    machines.restartAgent(machine)
    await scene.settled('worker')
    await scene.said('worker', { reason: 'RequestOlderThanNode' }, 'ServingCertificate')
    machine.kubelet = true
    await served(scene, machine)
    t.equal(decisionOn(scene, request), 'none')
  },
)

scenario('a VM is off, and runs again', setting, async (scene, t) => {
  const { worker } = scene.cast
  const { certificates, machines } = scene.world
  machines.halt(worker, 'poweredOff')
  await scene.pass(100_000)
  const request = certificates.ask(worker)
  await scene.said('worker', { reason: 'NodeNotVerified', message: /does not run/ }, 'ServingCertificate')
  await scene.pass(DECIDED)
  t.equal(decisionOn(scene, request), 'none')
  machines.boot(worker)
  await scene.until('it is approved', () => decisionOn(scene, request) === 'Approved')
})

scenario('a VM moves to another vCenter', { ...setting, second: 'empty' }, async (scene, t) => {
  const { worker } = scene.cast
  const { certificates, machines, vCenters } = scene.world
  const other = vCenters[1]
  if (other === undefined) throw new Error('there is a second vCenter')
  scene.hide(worker)
  await scene.pass(5_000)
  const request = certificates.ask(worker)
  t.equal(await outcome(scene, worker, request), 'none NodeNotVerified')
  machines.register(worker, other)
  await scene.until('it is approved', () => decisionOn(scene, request) === 'Approved')
})

scenario('a Node that is being deleted', setting, async (scene, t) => {
  const { worker } = scene.cast
  const { api, certificates } = scene.world
  api.setFinalizers('worker', ['example.com/finalizer'])
  api.putNode('worker', undefined)
  await scene.pass(10_000)
  t.match(await outcome(scene, worker, certificates.ask(worker)), /^none /)
})

scenario('a Node that is not proven', { nodes: ['canary'], certificates: APPROVING }, async (scene, t) => {
  const machine = scene.joins('worker')
  machine.claims = 'nothing'
  await scene.settled('worker')
  await scene.said('worker', { message: /must be proven and is reported/ }, 'ServingCertificate')
  t.notOk(scene.world.certificates.serves(machine))
  machine.claims = 'with-nonce'
  scene.world.machines.restartAgent(machine)
  await served(scene, machine)
})

scenario(
  'names and addresses that are in no certificate, though they are those of a Node',
  {
    nodes: ['canary'],
    certificates: { approve: true, networks: ['0.0.0.0/0'], exclude: ['10.0.77.7/32'], domains: ['local'] },
  },
  async (scene, t) => {
    const cases: readonly (readonly [string, string])[] = [
      ['kubernetes', '10.0.77.1'],
      ['kubelet.svc', '10.0.77.2'],
      ['worker', '10.0.77.7'],
    ]
    for (const [nodeName, address] of cases) {
      const machine = scene.joins(nodeName, { address })
      await scene.settled(nodeName)
      t.equal(await outcome(scene, machine, scene.world.certificates.ask(machine)), 'none NameNotAllowed')
    }
  },
)

scenario(
  'an address outside of the networks',
  { nodes: ['canary'], certificates: { approve: true, networks: ['10.0.0.0/24'] } },
  async (scene, t) => {
    const machine = scene.joins('worker', { address: '10.0.77.1' })
    await scene.settled('worker')
    t.equal(await outcome(scene, machine, scene.world.certificates.ask(machine)), 'none NameNotAllowed')
  },
)

scenario('a flood of right requests', setting, async (scene, t) => {
  const { worker, canary } = scene.cast
  const { certificates, timeline } = scene.world
  const flood = Array.from({ length: 40 }, (_, index) => {
    const made: string[] = []
    timeline.after(index * 1_500, 'it asks again', () => made.push(certificates.ask(worker)))
    return made
  })
  await scene.pass(30_000)
  t.equal(await outcome(scene, canary, certificates.ask(canary)), 'Approved CertificateApproved')
  await scene.said('worker', { reason: 'TooManyRequests' }, 'ServingCertificate')
  const approved = flood.flat().filter((request) => decisionOn(scene, request) === 'Approved')
  t.ok(approved.length > 0 && approved.length <= 6, `${approved.length}`)
  await scene.until('its turn comes', () => decisionOn(scene, flood.at(-1)?.[0] ?? '') === 'Approved')
})

scenario('a flood of right requests goes on under another configuration', setting, async (scene, t) => {
  const { worker } = scene.cast
  const { certificates, timeline, configFile } = scene.world
  const flood: string[] = []
  for (let index = 0; index < 40; index++)
    timeline.after(index * 3_000, 'it asks again', () => flood.push(certificates.ask(worker)))
  await scene.said('worker', { reason: 'TooManyRequests' }, 'ServingCertificate')
  const approved = () => flood.filter((request) => decisionOn(scene, request) === 'Approved').length
  const before = approved()
  configFile.write({ waitForVolumes: 60_000 })
  await scene.pass(60_000)
  t.equal(approved(), before)
})

scenario(
  'of several requests that wait the newest counts',
  { nodes: ['canary'], certificates: APPROVING },
  async (scene, t) => {
    const { certificates } = scene.world
    const machine = await joinsQuietly(scene)
    const first = certificates.ask(machine)
    await scene.pass(2_000)
    const last = certificates.ask(machine)
    await scene.until('the last is approved', () => decisionOn(scene, last) === 'Approved')
    await scene.pass(DECIDED)
    t.equal(decisionOn(scene, first), 'none')
  },
)

for (const [what, refused] of [
  ['listed', 'list'],
  ['approved', 'approval'],
] as const)
  scenario(`requests may not be ${what} for a while`, setting, async (scene, t: Test) => {
    const { worker } = scene.cast
    const { api, certificates } = scene.world
    api.requestsRefused = refused
    await scene.nextLeader()
    const request = certificates.ask(worker)
    scene.joins('new')
    await scene.settled('new')
    await scene.pass(DECIDED)
    t.equal(decisionOn(scene, request), 'none')
    api.requestsRefused = undefined
    await scene.until('it is approved', () => decisionOn(scene, request) === 'Approved')
  })
