/** Questions to the machine and its package manager, for the steps of the test. */
import type { QemuMachine } from './machine.ts'

export const UNIT = 'rollcall-agent.service'

/** Properties of a unit, as `systemctl show` has them. */
export async function show<Name extends string>(
  machine: QemuMachine,
  unit: string,
  ...names: readonly Name[]
): Promise<Record<Name, string>> {
  const text = await machine.run(`systemctl show ${names.map((name) => `-p ${name}`).join(' ')} ${unit}`)
  const entries = text.split('\n').map((line) => {
    const [name = '', ...value] = line.split('=')
    return [name, value.join('=')]
  })
  return Object.fromEntries(entries)
}

/** The package manager, without a mirror. */
export async function apt(machine: QemuMachine, command: string): Promise<string> {
  return machine.run(
    `export DEBIAN_FRONTEND=noninteractive; apt-get --yes --no-install-recommends ${command}`,
  )
}

/**
 * What a package could leave behind: files, users and groups, units that systemd knows. What the package manager notes of
 * every package is left out, and what the kubelet writes.
 */
export async function inventory(machine: QemuMachine): Promise<string[]> {
  const text = await machine.run(`
    find /etc /home /opt /root /srv /usr /var -xdev \\( \\
      -path /etc/kubernetes -o -path /var/lib/kubelet -o -path /usr/libexec/kubernetes -o -path /var/log \\
      -o -path /var/backups -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/tmp \\
      -o -path /var/lib/systemd/timers -o -path /var/lib/systemd/random-seed \\) -prune -o -print
    find /run /var/lib/dpkg -xdev -name '*rollcall*'
    dpkg-query --show 'rollcall*'
    getent passwd
    getent group
    systemctl list-unit-files --no-legend --plain 'rollcall*'
    systemctl list-units --all --no-legend --plain 'rollcall*'
    true`)
  return text.split('\n').sort()
}

/** Whether a process within the bounds of the agent's unit, which runs, can open a device. */
export async function opensInUnit(machine: QemuMachine, device: string): Promise<boolean> {
  const answer = await machine.run(`
    bash -c 'echo $$ >/sys/fs/cgroup/system.slice/${UNIT}/cgroup.procs && exec 3<>${device} && echo opened' 2>&1 || true`)
  return answer.endsWith('opened')
}
