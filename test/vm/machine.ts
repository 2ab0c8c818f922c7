import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { until } from '../fixtures/until.ts'
import type { VcsimVM } from '../servers/control.ts'
import { productSerial, productUUID } from '../world/machine.ts'
import { type Program, startProgram } from '../world/program.ts'
import { type Channel, openChannel } from './channel.ts'
import type { MachineImage } from './image.ts'

/** A virtual machine that runs. */
export interface QemuMachine extends AsyncDisposable {
  readonly bootID: string
  /** Runs a shell script in it as root; resolves with what it said, and rejects where its exit code is not 0. */
  run(script: string): Promise<string>
  /** Has systemd reboot it, and QEMU start anew, as after a power cycle; resolves with the new boot ID when it is up. */
  reboot(): Promise<string>
  /** The last lines of its console. */
  console(): string
}

export interface QemuMachineOptions {
  readonly image: MachineImage
  /** Of a file system, which the machine has at /payload. */
  readonly payload: string
  /** The virtual machine of the simulator that it is: its firmware says the same UUID, its NIC the same MAC. */
  readonly vm: VcsimVM
  /** For its disk and QEMU's socket. */
  readonly dir: string
}

/** The host, as a machine on QEMU's user network reaches it. */
export const HOST = '10.0.2.2'
/** The only address that this network gives. */
export const GUEST = '10.0.2.15'

/** Boots a virtual machine with a disk of its own in `dir`; resolves when it takes commands. */
export async function startMachine(options: QemuMachineOptions): Promise<QemuMachine> {
  const root = join(options.dir, 'root.img')
  await promisify(execFile)('cp', ['--sparse=always', options.image.root, root])
  let now = await boot(options, root)
  return {
    bootID: now.bootID,
    async run(script) {
      const { code, text } = await now.run(script)
      if (code !== 0)
        throw new Error(`in the virtual machine this ended with code ${code}:\n${script}\n${text}`)
      return text.trim()
    },
    async reboot() {
      // Its answer may not come any more.
      now.run('systemctl reboot').catch(() => undefined)
      await now.qemu.ended
      now.close()
      now = await boot(options, root)
      return now.bootID
    },
    console: () => now.qemu.stdout.slice(-40).join('\n'),
    async [Symbol.asyncDispose]() {
      now.close()
      await now.qemu.stop()
    },
  }
}

interface Booted extends Pick<Channel, 'run' | 'close'> {
  readonly bootID: string
  /** Ends where the machine reboots. */
  readonly qemu: Program
}

async function boot(options: QemuMachineOptions, root: string): Promise<Booted> {
  const socket = join(options.dir, 'channel')
  await rm(socket, { force: true })
  const qemu = startProgram({
    // It ends with this process, however that ends.
    command: 'setpriv',
    args: ['--pdeathsig', 'KILL', 'qemu-system-x86_64', ...qemuArgs(options, root, socket)],
  })
  const ended = qemu.ended.then(() => {
    throw new Error(`QEMU has ended:\n${qemu.output()}`)
  })
  ended.catch(() => undefined)
  try {
    const opened = until('QEMU listens', () => openChannel(socket).catch(() => undefined))
    const { booted, run, close } = await Promise.race([opened, ended])
    const bootID = await Promise.race([booted(), ended])
    return { bootID, qemu, close, run: (script) => Promise.race([run(script), ended]) }
  } catch (error) {
    await qemu.stop(0)
    throw new Error(`the virtual machine does not start:\n${qemu.output().slice(-2000)}`, { cause: error })
  }
}

function qemuArgs({ image, payload, vm }: QemuMachineOptions, root: string, socket: string): string[] {
  const mac = vm.vnics[0]?.mac
  if (mac === undefined) throw new Error(`the simulator's virtual machine ${vm.name} has no NIC`)
  // Nobody minds what a crash of this machine would leave of them.
  const drive = (id: string, file: string) => [
    '-drive',
    `if=none,id=${id},format=raw,cache=unsafe,file=${quote(file)}`,
  ]
  return [
    ['-nodefaults', '-no-user-config', '-no-reboot', '-display', 'none', '-serial', 'stdio'],
    // KVM is not everywhere, and where it is inside of a virtual machine it may boot no kernel of Debian's. An old CPU, for
    // QEMU emulates the latest instructions slowly, and not without faults: with cx16 one boot of five panicked.
    [
      '-machine',
      'pc,vmport=on',
      '-accel',
      'tcg,thread=multi',
      '-cpu',
      'Nehalem,-cx16,+rdrand',
      '-smp',
      '2',
      '-m',
      '2048',
    ],
    ['-kernel', image.kernel, '-append', KERNEL_ARGS],
    // Of different kinds, for the kernel names disks of one kind in the order in which it meets them.
    [...drive('root', root), '-device', 'nvme,drive=root,serial=root'],
    [...drive('payload', payload), '-device', 'virtio-blk-pci,drive=payload'],
    ['-netdev', 'user,id=network', '-device', `vmxnet3,netdev=network,mac=${mac}`],
    ['-smbios', smbios(vm)],
    ['-chardev', `socket,id=channel,server=on,wait=off,path=${quote(socket)}`],
    ['-device', 'virtio-serial-pci', '-device', 'virtserialport,chardev=channel,name=rollcall'],
  ].flat()
}

// The kernel's check of its timer fails, and panics, where the emulation gets too little of a busy host.
const KERNEL_ARGS =
  'root=/dev/nvme0n1 rw console=ttyS0 quiet panic=1 systemd.show_status=no mitigations=off cryptomgr.notests nokaslr no_timer_check'

/** What VMware's firmware says: the serial number in vCenter's byte order, and the UUID as the kernel will read it. */
function smbios({ uuid }: VcsimVM): string {
  const fields = {
    manufacturer: 'VMware, Inc.',
    product: 'VMware20,1',
    serial: productSerial(uuid),
    uuid: productUUID(uuid),
  }
  return ['type=1', ...Object.entries(fields).map(([key, value]) => `${key}=${quote(value)}`)].join(',')
}

/** In QEMU's options a comma ends a value. */
function quote(value: string): string {
  return value.replaceAll(',', ',,')
}
