/** Who asks for serving certificates beside the kubelets that ask for their own, and what comes between. */
import type { Ask } from '../model/certificates.ts'
import type { Machine } from '../model/machine.ts'
import type { Random } from '../random.ts'
import type { World } from '../world.ts'
import type { Fault, Faults } from './fault.ts'

/** How often somebody asks, milliseconds. */
const PACE = { least: 2_000, most: 60_000 }
const FLOOD = { requests: 60, most: 2_000 }

/** What is wrong with a request that has the credential of a kubelet. */
type Wrong = (machine: Machine, world: World) => Partial<Ask>

/** Of another Node. */
const ANOTHERS: readonly Wrong[] = [
  (machine, { random, machines }) => withAddress(machine, other(machines.all, machine, random).address),
  (machine, { random, machines }) => ({ dnsNames: [other(machines.all, machine, random).nodeName] }),
  (machine, { random, machines }) => ({
    commonName: `system:node:${other(machines.all, machine, random).nodeName}`,
  }),
  (machine, { machines }) => {
    const former = machines.all.find((each) => each !== machine && each.nodeName === machine.nodeName)
    return withAddress(machine, former?.address)
  },
]

/** Of nobody, or of all. */
const NOBODYS: readonly Wrong[] = [
  (machine) => withAddress(machine, '10.0.200.1'),
  (machine) => withAddress(machine, '192.0.2.1'),
  (machine) => withAddress(machine, '0.0.0.0'),
  (machine) => withAddress(machine, '127.0.0.1'),
  (machine) => withAddress(machine, '169.254.1.1'),
  (machine) => withAddress(machine, 'fe80::1'),
  (machine) => ({ addresses: [`::ffff:${machine.address}`] }),
  ({ address = '' }) => ({ dnsNames: [address] }),
  ({ nodeName }) => ({ dnsNames: [`*.${nodeName}`] }),
  ({ nodeName }) => ({ dnsNames: [`${nodeName}.`] }),
  ({ nodeName }) => ({ dnsNames: [`${nodeName}.example.org`] }),
  () => ({ dnsNames: ['kubernetes.default.svc'] }),
  () => ({ dnsNames: ['localhost'] }),
  () => ({ dnsNames: [], addresses: [] }),
  () => ({ organizations: ['system:masters'] }),
  () => ({ organizations: ['system:nodes', 'system:masters'] }),
  () => ({ usages: ['digital signature', 'server auth', 'client auth'] }),
  () => ({ usages: ['digital signature', 'client auth'] }),
]

/** Whoever may say of himself what he likes, but for one thing. */
const STRANGERS: readonly Wrong[] = [
  () => ({}),
  ({ nodeName }) => ({ username: `system:node:${nodeName}`, groups: ['system:authenticated'] }),
  ({ nodeName }) => ({
    username: `system:node:${nodeName}`,
    groups: ['system:nodes', 'system:authenticated', 'system:masters'],
  }),
  ({ nodeName }) => ({
    username: `system:node:${nodeName}`,
    groups: KUBELETS,
    extra: { 'authentication.kubernetes.io/credential-id': ['JTI=ea28ed49-2e11-4280-9ec5-bc3d1d84661a'] },
  }),
  ({ nodeName }) => ({
    username: `system:node:${nodeName}`,
    groups: KUBELETS,
    extra: { 'example.com/impersonated-by': ['tenant'] },
  }),
]
const KUBELETS = ['system:nodes', 'system:authenticated']

function withAddress({ address }: Machine, another: string | undefined): Partial<Ask> {
  return { addresses: [address, another].filter((each) => each !== undefined) }
}

function other(machines: readonly Machine[], machine: Machine, random: Random): Machine {
  const others = machines.filter(({ nodeName }) => nodeName !== machine.nodeName)
  return others[random.below(others.length)] ?? machine
}

/** Goes on until it is ended. */
function again(act: (world: World, machine: Machine) => void): Fault {
  return (world, { machine }) => {
    if (!world.settings.certificates.approve) return undefined
    const { random, timeline, api } = world
    let over = false
    const next = (): void => {
      if (over) return
      if (!api.away) act(world, machine)
      timeline.after(random.between(PACE.least, PACE.most), `somebody asks at ${machine.nodeName}`, next)
    }
    next()
    return () => {
      over = true
    }
  }
}

function asks(wrong: readonly Wrong[]): Fault {
  return again((world, machine) => {
    world.certificates.ask(machine, world.random.pick(wrong)(machine, world))
  })
}

function refused(what: 'list' | 'approval'): Fault {
  return ({ api }) => {
    api.requestsRefused = what
    return () => {
      api.requestsRefused = undefined
    }
  }
}

export const CERTIFICATE_FAULTS: Faults = {
  'asks-for-anothers': asks(ANOTHERS),
  'asks-for-nobodys': asks(NOBODYS),
  'stranger-asks': again((world, machine) => {
    const names = world.certificates.namesOf(machine) ?? { dnsNames: [machine.nodeName], addresses: [] }
    const { nodeName } = machine
    const { random, certificates } = world
    certificates.askAsStranger({
      ...names,
      commonName: `system:node:${nodeName}`,
      ...random.pick(STRANGERS)(machine, world),
    })
  }),
  /** Right ones, of one kubelet. */
  'asks-in-flood'(world, { machine }) {
    const { settings, api, certificates, random, timeline } = world
    if (!settings.certificates.approve) return undefined
    for (let number = 0; number < FLOOD.requests; number++)
      timeline.after(random.below(FLOOD.most) * number, `${machine.nodeName} asks again`, () => {
        if (!api.away) certificates.ask(machine)
      })
    return undefined
  },
  /** It asks for what is its own, and its Node registers anew while the request waits. */
  'registers-anew-after-asking'({ settings, api, machines, certificates, random, timeline }, { machine }) {
    if (!settings.certificates.approve || api.away) return undefined
    certificates.ask(machine)
    api.putNode(machine.nodeName, undefined)
    timeline.after(random.between(0, 20_000), `${machine.nodeName} registers anew`, () => {
      machines.kubelets.start(machine)
      machines.restartAgent(machine)
    })
    return undefined
  },
  /** It asks, and is off a moment later. */
  'stops-after-asking'(world, { machine }) {
    const { settings, api, machines, certificates, random, timeline } = world
    if (!settings.certificates.approve || api.away) return undefined
    certificates.ask(machine)
    timeline.after(random.pick([0, 10, 200, 5_000]), `${machine.nodeName} is off`, () =>
      machines.halt(machine, 'poweredOff'),
    )
    return () => {
      if (machine.power === 'poweredOff') machines.boot(machine)
    }
  },
  'requests-unlistable': refused('list'),
  'approvals-refused': refused('approval'),
}
