import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { binary, binaryNames } from '../binaries.ts'
import { goBinary } from '../go-command.ts'
import { type Architecture, root, type Source } from '../programs.ts'

export type PackageFormat = 'deb' | 'rpm'

export const packageFormats: readonly PackageFormat[] = ['deb', 'rpm']

const here = import.meta.dirname
const script = (name: string) => join(here, 'scripts', `${name}.sh`)
const documentation = '/usr/share/doc/rollcall-agent'

/** The scripts of the two formats differ, as do the names of what they need. Node's binary asks for these versions. */
const perFormat = {
  deb: {
    depends: ['libc6 (>= 2.28)', 'libgcc-s1', 'libstdc++6 (>= 8)', 'init-system-helpers'],
    scripts: {
      postinstall: script('deb-postinst'),
      preremove: script('deb-prerm'),
      postremove: script('deb-postrm'),
    },
  },
  rpm: {
    depends: ['glibc >= 2.28', 'libgcc', 'libstdc++ >= 8', 'systemd'],
    scripts: {
      postinstall: script('rpm-post'),
      preremove: script('rpm-preun'),
      postremove: script('rpm-postun'),
    },
  },
} as const

/**
 * The package of the agent for VM images: the program, its unit, and /etc/rollcall/agent.env, which upgrades leave as the
 * operator has it. The same source gives the same bytes.
 */
export async function agentPackage(
  format: PackageFormat,
  architecture: Architecture,
  { version, created }: Source,
): Promise<{ readonly name: string; readonly content: Buffer }> {
  const nfpm = await goBinary({
    name: 'nfpm',
    dir: join(here, 'nfpm'),
    package: 'github.com/goreleaser/nfpm/v2/cmd/nfpm',
    takes: '25 s',
  })
  const agent = await binary('rollcall-agent', architecture)
  const file = (src: string, dst: string, mode: number, type?: 'config|noreplace') => ({
    src,
    dst,
    ...(type !== undefined && { type }),
    file_info: { mode, owner: 'root', group: 'root', mtime: created },
  })
  const guestinfo = binaryNames(architecture).includes('rollcall-guestinfo')
    ? await binary('rollcall-guestinfo', architecture)
    : undefined
  const description = {
    name: 'rollcall-agent',
    arch: architecture,
    platform: 'linux',
    version,
    release: '1',
    section: 'admin',
    priority: 'optional',
    maintainer: 'The Rollcall authors',
    description:
      'Reports this VMware virtual machine to its Kubernetes cluster\n' +
      'The agent of Rollcall, a vSphere cloud provider for Kubernetes, as a systemd unit.',
    license: 'Apache-2.0',
    mtime: created,
    contents: [
      file(agent, '/usr/bin/rollcall-agent', 0o755),
      ...(guestinfo === undefined
        ? []
        : [
            file(guestinfo, '/usr/bin/rollcall-guestinfo', 0o755),
            file(`${guestinfo}.licenses.txt`, `${documentation}/rollcall-guestinfo-licenses.txt`, 0o644),
          ]),
      file(
        join(root, 'manifests/rollcall-agent.service'),
        '/usr/lib/systemd/system/rollcall-agent.service',
        0o644,
      ),
      file(join(here, 'agent.env'), '/etc/rollcall/agent.env', 0o644, 'config|noreplace'),
      file(join(root, 'LICENSE'), `${documentation}/copyright`, 0o644),
      file(`${agent}.licenses.txt`, `${documentation}/licenses.txt`, 0o644),
    ],
    recommends: ['open-vm-tools'],
    rpm: { summary: 'Reports this VMware virtual machine to its Kubernetes cluster', buildhost: 'localhost' },
    ...perFormat[format],
  }
  const temporary = await mkdtemp(join(tmpdir(), 'rollcall-package-'))
  try {
    const config = join(temporary, 'nfpm.json')
    const name = `rollcall-agent-${version}-linux-${architecture}.${format}`
    await writeFile(config, JSON.stringify(description))
    const args = ['package', '--config', config, '--packager', format, '--target', join(temporary, name)]
    await promisify(execFile)(nfpm, args)
    return { name, content: await readFile(join(temporary, name)) }
  } finally {
    await rm(temporary, { recursive: true })
  }
}
