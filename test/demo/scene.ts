import type { VcsimVM } from '../servers/control.ts'
import type { Vcsim } from '../servers/vcsim.ts'

/** Tag categories, as vsphere.conf names them. */
export const CATEGORIES = { zone: 'k8s-zone', region: 'k8s-region' } as const

export const DATACENTER = 'DC0'
export const HOSTS_PER_CLUSTER = 3

const REGION = 'region-1'

/** What the VMs of a cluster are like, and the instance type that the CPI would give them. */
const ZONES = [
  {
    zone: 'zone-a',
    cluster: 'DC0_C0',
    subnet: '10.20.0',
    vm: { cpus: 4, memoryMB: 16_384, guestId: 'ubuntu64Guest' },
    instanceType: 'vsphere-vm.cpu-4.mem-16gb.os-ubuntu',
  },
  {
    zone: 'zone-b',
    cluster: 'DC0_C1',
    subnet: '10.20.1',
    vm: { cpus: 8, memoryMB: 32_768, guestId: 'vmwarePhoton64Guest' },
    instanceType: 'vsphere-vm.cpu-8.mem-32gb.os-photon',
  },
] as const

export const CLUSTERS = ZONES.length

/** A VM as the simulator has it, and the Node that it should become. */
export interface ExpectedNode {
  readonly name: string
  readonly vm: VcsimVM
  readonly address: string
  readonly zone: string
  readonly region: string
  readonly instanceType: string
  /** Whose credential its agent has: that of the kubelet (systemd unit), or a pod-bound token (DaemonSet). */
  readonly agent: 'kubelet' | 'pod'
}

/** A machine that says it is another's VM, by a credential of its own that is valid. */
export interface DemoForger {
  /** What it says it is: the victim's VM, under its own name and address. */
  readonly pretense: Pick<ExpectedNode, 'name' | 'vm' | 'address' | 'agent'>
  /** The VM that it really runs in. */
  readonly vm: VcsimVM
  readonly victim: ExpectedNode
}

export interface DemoScene {
  readonly nodes: readonly ExpectedNode[]
  readonly forger: DemoForger
}

/** Dresses the simulator: sizes, tags, and what VMware Tools would say of each guest. The last VM is the forger's. */
export async function setScene(vcsim: Vcsim): Promise<DemoScene> {
  const all = await vcsim.vms()
  const nodes = planNodes(all.slice(0, -1))
  const forger = planForger(nodes, all.at(-1))
  const { vm: forgersVM, pretense } = forger
  await vcsim.setState(...all.map((vm) => ({ vm: vm.ref, ...zoneOf(vm).vm })))
  await vcsim.tag(
    { category: CATEGORIES.region, tag: REGION, object: DATACENTER },
    ...ZONES.map(({ zone, cluster }) => ({ category: CATEGORIES.zone, tag: zone, object: cluster })),
  )
  await vcsim.setGuest(
    ...[...nodes, { ...pretense, vm: forgersVM }].map(({ name, vm, address }) => ({
      vm: vm.ref,
      hostName: name,
      nics: [{ addresses: [`${address}/24`] }],
    })),
  )
  return { nodes, forger }
}

/** Which Node each VM becomes; the names have nothing in common, for Rollcall does not go by names. */
export function planNodes(vms: readonly VcsimVM[]): ExpectedNode[] {
  const digits = String(vms.length).length
  return vms.map((vm, i) => {
    const { zone, subnet, instanceType } = zoneOf(vm)
    return {
      name: `worker-${String(i + 1).padStart(digits, '0')}`,
      vm,
      address: `${subnet}.${11 + i}`,
      zone,
      region: REGION,
      instanceType,
      // Both kinds in both zones.
      agent: Math.floor(i / ZONES.length) % 2 === 0 ? 'kubelet' : 'pod',
    }
  })
}

function planForger(nodes: readonly ExpectedNode[], vm: VcsimVM | undefined): DemoForger {
  const [victim] = nodes
  if (!victim || !vm) throw new Error('a forger needs a VM of its own and one to lay claim to')
  const address = `${zoneOf(vm).subnet}.${11 + nodes.length}`
  return { victim, vm, pretense: { name: 'forger', vm: victim.vm, address, agent: 'kubelet' } }
}

function zoneOf(vm: VcsimVM): (typeof ZONES)[number] {
  const zone = ZONES.find(({ cluster }) => cluster === vm.cluster)
  if (!zone) throw new Error(`VM ${vm.name} is in cluster ${vm.cluster}, for which the demo has no zone`)
  return zone
}
