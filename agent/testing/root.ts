import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** Content by path; null makes a folder. */
export type FileTree = Readonly<Record<string, string | Buffer | null>>

/** A root for the agent in a temporary folder; removed when the test is over. */
export function makeRoot(t: { teardown(done: () => void): void }, tree: FileTree = {}): string {
  const root = mkdtempSync(join(tmpdir(), 'rollcall-root-'))
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  plant(root, tree)
  return root
}

export function plant(root: string, tree: FileTree): void {
  for (const [path, content] of Object.entries(tree)) {
    const full = join(root, path)
    mkdirSync(content === null ? full : dirname(full), { recursive: true })
    if (content !== null) writeFileSync(full, content)
  }
}

/** Puts an executable with this shell script where the host's guest RPC tool stands; returns its path. */
export function plantTool(root: string, script: string, path = 'usr/bin/vmware-rpctool'): string {
  plant(root, { [path]: `#!/bin/sh\n${script}\n` })
  chmodSync(join(root, path), 0o755)
  return join(root, path)
}

/** A VM as the kernel shows it: DMI, one NIC with a default route, boot ID and host name. */
export const VM_TREE: FileTree = {
  'sys/class/dmi/id/sys_vendor': 'VMware, Inc.\n',
  'sys/class/dmi/id/product_name': 'VMware7,1\n',
  'sys/class/dmi/id/product_serial': 'VMware-42 0e 3f 74 ea 84 f9 a2-77 36 61 06 bb 5d bf 6b\n',
  'sys/class/dmi/id/product_uuid': '743F0E42-84EA-A2F9-7736-6106BB5DBF6B\n',
  'sys/class/net/eth0/device': null,
  'sys/class/net/eth0/address': '00:50:56:8e:3f:74\n',
  'sys/class/net/lo/address': '00:00:00:00:00:00\n',
  'proc/sys/kernel/random/boot_id': '7d0bb4a4-5a3f-4f0e-9f3a-0d3f6f1f2a11\n',
  'proc/sys/kernel/hostname': 'n1\n',
  'proc/net/route':
    'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n' +
    'eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n' +
    'eth0\t0000000A\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n',
  'run/rollcall/network-interfaces.json': JSON.stringify({
    lo: [{ address: '127.0.0.1', cidr: '127.0.0.1/8' }],
    eth0: [
      { address: '10.0.0.5', cidr: '10.0.0.5/24' },
      { address: 'fe80::250:56ff:fe8e:3f74', cidr: 'fe80::250:56ff:fe8e:3f74/64' },
    ],
  }),
}
