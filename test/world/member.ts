/** A machine with its files, its Node and its agent. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { VcsimVM } from '../servers/control.ts'
import { type RpctoolOptions, writeRpctool } from '../servers/rpctool.ts'
import { startAgent } from './agent.ts'
import { type RegisteredNode, registerNode } from './kubelet.ts'
import { type MachineNic, writeMachine, writeNics } from './machine.ts'
import type { Program } from './program.ts'
import { podKubeconfig } from './service-account.ts'
import type { StageServers } from './stage.ts'

export interface MemberOptions {
  readonly vm?: VcsimVM
  /** Of its one NIC, with prefix length; by default one of its own. */
  readonly addresses?: readonly string[]
  /** The kubelet's --node-ip. */
  readonly nodeIP?: string
  /** The kubelet's --provider-id. */
  readonly providerID?: string
  /** The kubelet's --node-labels, and its taints where they are not as usual. */
  readonly labels?: Record<string, string>
  readonly taints?: { key: string; effect: string }[]
  /** The VM that it really runs in, where its files tell of another. */
  readonly runsIn?: VcsimVM
  /** Whose credential its agent has: the kubelet's (systemd unit, the default), or its Pod's token (DaemonSet). */
  readonly agentOf?: 'kubelet' | 'pod'
  /** Of that Pod. */
  readonly namespace?: string
  /** Whether VMware Tools have told vCenter its host name and its addresses before its Node comes. */
  readonly tools?: boolean
  /** What the guest RPC tool may not; null is no tool at all. */
  readonly rpctool?: Pick<RpctoolOptions, 'deny' | 'disable' | 'hang' | 'vmtoolsd'> | null
}

export interface Member extends RegisteredNode {
  readonly vm: VcsimVM
  readonly bootID: string
  /** The machine's files, as its agent sees them. */
  readonly root: string
  readonly address: string
  /** Starts the machine's agent; it ends with the test. */
  agent(...args: string[]): Promise<Program>
  /** Runs the agent with `--once`; fails unless the report was sent. */
  reportOnce(): Promise<void>
  setAddresses(...addresses: string[]): Promise<void>
  /** Runs the agent once more, on a machine that says it is this VM, or has this MAC. */
  reportAs(machine: { readonly vm?: Pick<VcsimVM, 'uuid' | 'vnics'>; readonly mac?: string }): Promise<void>
  /** Lets its guest RPC tool write the claim, and runs the agent once more. */
  claim(): Promise<void>
}

interface MemberContext extends StageServers {
  /** Lets a program end with the test. */
  readonly ending: <T extends Program>(program: T) => T
}

/** Writes the machine's files, and registers its Node; no agent runs yet. */
export async function createMember(
  { cluster, vcsim, dir, ending }: MemberContext,
  { name, vm, address }: Pick<Member, 'name' | 'vm' | 'address'>,
  {
    runsIn = vm,
    agentOf = 'kubelet',
    namespace,
    rpctool = {},
    tools = false,
    addresses = [`${address}/24`],
    nodeIP,
    providerID,
    labels,
    taints,
  }: Omit<MemberOptions, 'vm'>,
): Promise<Member> {
  const nic = (list: readonly string[]): MachineNic[] =>
    vm.vnics.slice(0, 1).map(({ mac }) => ({ name: 'ens192', mac, addresses: list }))
  const root = join(dir, name)
  const bootID = randomUUID()
  await writeMachine(root, { vm, hostname: `${name}.example`, bootID, nics: nic(addresses) })
  if (rpctool !== null) await writeRpctool(join(root, 'usr/bin'), { vcsim, vm: runsIn.ref, ...rpctool })
  if (tools) await vcsim.setGuest({ vm: vm.ref, hostName: name, nics: [{ addresses: [...addresses] }] })
  const node = await registerNode(cluster, {
    name,
    biosUUID: vm.uuid,
    ...(nodeIP === undefined ? {} : { nodeIP }),
    ...(providerID === undefined ? {} : { providerID }),
    ...(labels === undefined ? {} : { labels }),
    ...(taints === undefined ? {} : { taints }),
  })
  const kubeconfig =
    agentOf === 'kubelet'
      ? node.kubeconfig
      : await podKubeconfig(cluster, join(dir, `${name}.pod`), name, namespace)
  const agent = async (...args: string[]) => ending(await startAgent({ kubeconfig, root, args }))
  const reportOnce = async () => {
    const program = await agent('--once')
    const { code } = await program.ended
    if (code !== 0) throw new Error(`the report of ${name} was not sent: ${program.output()}`)
  }
  return {
    ...node,
    vm,
    root,
    bootID,
    address,
    agent,
    reportOnce,
    setAddresses: (...list) => writeNics(root, nic(list)),
    async reportAs({ vm: other = vm, mac = other.vnics[0]?.mac ?? '' }) {
      const nics = [{ name: 'ens192', mac, addresses }]
      await writeMachine(root, { vm: other, hostname: `${name}.example`, bootID, nics })
      await reportOnce()
    },
    async claim() {
      await writeRpctool(join(root, 'usr/bin'), { vcsim, vm: vm.ref })
      await reportOnce()
    },
  }
}
