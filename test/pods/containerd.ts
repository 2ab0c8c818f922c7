import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { serverBinary } from '../servers/build.ts'
import type { Server } from '../servers/processes.ts'
import { PAUSE_IMAGE } from './images.ts'
import type { NamespacedMachine } from './machine.ts'

export interface Containerd {
  readonly socket: string
  readonly server: Server
}

/** Starts containerd on a machine, and imports the images of these archives. */
export async function startContainerd(
  machine: NamespacedMachine,
  { runc, archives }: { readonly runc: string; readonly archives: readonly string[] },
): Promise<Containerd> {
  const [containerd, shim, ctr] = await Promise.all(
    (['containerd', 'containerd-shim-runc-v2', 'ctr'] as const).map((name) => serverBinary(name)),
  )
  if (containerd === undefined || shim === undefined || ctr === undefined) throw new Error('no containerd')
  const at = (path: string) => join(machine.dir, path)
  const socket = at('containerd.sock')
  await writeFile(at('spec.json'), JSON.stringify(withMachinesSys(await machine.run(ctr, ['oci', 'spec']))))
  await writeFile(at('containerd.toml'), configuration(at, runc))
  const server = await machine.start({
    name: `containerd of ${machine.name}`,
    command: containerd,
    args: ['--config', at('containerd.toml')],
    env: { ...process.env, PATH: `${dirname(shim)}:${process.env.PATH}` },
    ready: async () => {
      await machine.run(ctr, ['--address', socket, 'plugins', 'ls'])
    },
  })
  for (const archive of archives)
    await machine.run(ctr, ['--address', socket, '--namespace', 'k8s.io', 'images', 'import', archive])
  return { socket, server }
}

/** Does what a network plugin's DaemonSet does to a machine: its Node becomes ready. The Pods here use the host's network. */
export async function installNetwork({ dir }: NamespacedMachine): Promise<void> {
  const conflist = { cniVersion: '1.0.0', name: 'none', plugins: [{ type: 'none' }] }
  await mkdir(join(dir, 'cni'), { recursive: true })
  await writeFile(join(dir, 'cni/none.conflist'), JSON.stringify(conflist))
}

/** Containers see the machine's /sys, where they would otherwise get one that shows the real machine's firmware. */
function withMachinesSys(spec: string): unknown {
  const { mounts, ...rest } = JSON.parse(spec) as { mounts: { destination: string }[] }
  const sys = {
    destination: '/sys',
    type: 'bind',
    source: '/sys',
    options: ['bind', 'ro', 'nosuid', 'noexec', 'nodev'],
  }
  return { ...rest, mounts: mounts.map((mount) => (mount.destination === '/sys' ? sys : mount)) }
}

function configuration(at: (path: string) => string, runc: string): string {
  const text = (value: string) => JSON.stringify(value)
  return `version = 3
root = ${text(at('containerd'))}
state = ${text(at('containerd-state'))}

[grpc]
address = ${text(at('containerd.sock'))}

[plugins.'io.containerd.internal.v1.opt']
path = ${text(at('opt'))}

[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = ${text(PAUSE_IMAGE)}

[plugins.'io.containerd.cri.v1.runtime']
# The kubelet asks for values that take a capability which root in a sandbox may lack.
restrict_oom_score_adj = true
disable_apparmor = true

[plugins.'io.containerd.cri.v1.runtime'.cni]
conf_dir = ${text(at('cni'))}

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = 'io.containerd.runc.v2'
base_runtime_spec = ${text(at('spec.json'))}

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
BinaryName = ${text(runc)}
`
}
