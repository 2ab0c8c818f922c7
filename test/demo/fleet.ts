import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { writeRpctool } from '../servers/rpctool.ts'
import { registerNode } from '../world/kubelet.ts'
import { writeMachine } from '../world/machine.ts'
import { createAgentPod, serviceAccountToken, writeTokenKubeconfig } from '../world/service-account.ts'
import type { ExpectedNode } from './scene.ts'
import type { DemoSite } from './site.ts'

type MachineSite = Pick<DemoSite, 'cluster' | 'vcsim' | 'dir'>

/** A machine whose kubelet has registered its Node, and whose agent can be started. */
export interface DemoMember {
  readonly root: string
  /** Of its agent. */
  readonly kubeconfig: string
  /** `performance.now()`. */
  readonly registeredAt: number
}

/**
 * Makes the machine's files and registers its Node with a credential of its own, as its kubelet would.
 *
 * @param said what the machine's firmware and network interfaces say that it is
 * @param runsIn the VM that its guest RPC speaks for, which is out of the machine's hands
 */
export async function register(
  site: MachineSite,
  said: Pick<ExpectedNode, 'name' | 'vm' | 'address' | 'agent'>,
  runsIn = said.vm,
): Promise<DemoMember> {
  const { cluster, vcsim, dir } = site
  const { name, vm, address } = said
  const root = join(dir, name)
  const nics = vm.vnics.map(({ mac }) => ({ name: 'ens192', mac, addresses: [`${address}/24`] }))
  await writeMachine(root, { vm, hostname: name, bootID: randomUUID(), nics })
  await writeRpctool(join(root, 'usr/bin'), { vcsim, vm: runsIn.ref })
  const node = await registerNode(cluster, { name, biosUUID: vm.uuid })
  const registeredAt = performance.now()
  const kubeconfig = said.agent === 'kubelet' ? node.kubeconfig : await podKubeconfig(site, name)
  return { root, kubeconfig, registeredAt }
}

/** The credential of the DaemonSet's Pod on this Node. */
async function podKubeconfig({ cluster, dir }: MachineSite, nodeName: string): Promise<string> {
  const pod = await createAgentPod(cluster, nodeName)
  const token = await serviceAccountToken(cluster, 'rollcall-agent', { pod })
  return writeTokenKubeconfig(join(dir, `${nodeName}.kubeconfig`), cluster, token)
}
