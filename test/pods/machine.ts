import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { VcsimVM } from '../servers/control.ts'
import { type Server, type ServerOptions, startServer } from '../servers/processes.ts'
import { productSerial, productUUID } from '../world/machine.ts'

/** Namespaces of their own for what a VM has to itself: name, NIC, mounts and firmware. Its processes are seen by all. */
export interface NamespacedMachine extends AsyncDisposable {
  readonly name: string
  readonly vm: VcsimVM
  readonly address: string
  /** For what runs on it; in memory. */
  readonly dir: string
  /** Starts a server on it. */
  start(options: ServerOptions): Promise<Server>
  /** Runs a command on it; resolves with its output. */
  run(command: string, args: readonly string[]): Promise<string>
}

/**
 * Makes a machine; it needs root, and a network namespace that is the test's alone.
 *
 * @param index from 1, another for each
 */
export async function startMachine(
  name: string,
  index: number,
  vm: VcsimVM,
  dir: string,
): Promise<NamespacedMachine> {
  await writeFirmware(join(dir, 'facts'), vm)
  const subnet = `10.0.${index}`
  const script = join(import.meta.dirname, 'machine.sh')
  const mac = vm.vnics[0]?.mac ?? ''
  const namespaces = await startServer({
    name,
    command: 'unshare',
    args: ['--mount', '--net', '--uts', 'sh', script, name, mac, String(process.pid), subnet, dir],
  })
  const there = [`--target=${namespaces.pid}`, '--mount', '--net', '--uts']
  return {
    name,
    vm,
    address: `${subnet}.2`,
    dir,
    start: ({ command, args, ...rest }) =>
      startServer({ ...rest, command: 'nsenter', args: [...there, command, ...args] }),
    [Symbol.asyncDispose]: () => namespaces.stop(0),
    run: async (command, args) => (await promisify(execFile)('nsenter', [...there, command, ...args])).stdout,
  }
}

/** What of /sys is to differ from the real one: the firmware's strings, and that the NIC is a device. */
async function writeFirmware(facts: string, { uuid }: VcsimVM): Promise<void> {
  const dmi = join(facts, 'class/dmi/id')
  await mkdir(dmi, { recursive: true })
  for (const [file, text, mode] of [
    ['sys_vendor', 'VMware, Inc.', 0o444],
    ['product_name', 'VMware20,1', 0o444],
    // Root's alone, as the kernel has them.
    ['product_serial', productSerial(uuid), 0o400],
    ['product_uuid', productUUID(uuid), 0o400],
  ] as const)
    await writeFile(join(dmi, file), `${text}\n`, { mode })
  // The agent passes over a NIC without one.
  await mkdir(join(facts, 'devices/virtual/net/eth0/device'), { recursive: true })
}
