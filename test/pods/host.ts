import { join } from 'node:path'
import type { VcsimVM } from '../servers/control.ts'
import type { Server } from '../servers/processes.ts'
import { makeCgroup } from './cgroups.ts'
import { startContainerd } from './containerd.ts'
import { startKubelet } from './kubelet.ts'
import { type NamespacedMachine, startMachine } from './machine.ts'
import type { Parts } from './parts.ts'
import type { PodsStage } from './stage.ts'

/** A machine that runs Pods, and is to have a control-plane Node. */
export interface Host extends AsyncDisposable {
  readonly machine: NamespacedMachine
  readonly vm: VcsimVM
  readonly containerd: Server
  startKubelet(): Promise<void>
  stopKubelet(): Promise<void>
}

export const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane'

/** Starts all but the kubelet. */
export async function startHost(
  { cluster, vcsim }: PodsStage,
  { folder, archives, runc }: Parts,
  index: number,
): Promise<Host> {
  const name = `control-${index}`
  const vm = (await vcsim.vms())[index]
  if (vm === undefined) throw new Error('there are too few VMs')
  const machine = await startMachine(name, index, vm, join(folder, name))
  const { socket, server: containerd } = await startContainerd(machine, { runc, archives })
  const cgroup = `${folder.replace(/^.*\//, '/')}/${name}`
  await makeCgroup(cgroup)
  let kubelet: Server | undefined
  const stopKubelet = async () => {
    await kubelet?.stop()
    kubelet = undefined
  }
  return {
    machine,
    vm,
    containerd,
    async startKubelet() {
      const taints = [{ key: CONTROL_PLANE, effect: 'NoSchedule' }]
      kubelet = await startKubelet(machine, { cluster, socket, cgroup, taints })
    },
    stopKubelet,
    async [Symbol.asyncDispose]() {
      await stopKubelet()
      await containerd.stop(0)
      await machine[Symbol.asyncDispose]()
    },
  }
}
