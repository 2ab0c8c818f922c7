/** Files by which machines get the agent on their first boot, with the hashes of what they fetch. */
import { hash } from 'node:crypto'

/** Where operators put the files of the release; to be replaced by theirs. */
const site = 'https://files.example.com/rollcall'

/**
 * A configuration for Ignition (Flatcar, Fedora CoreOS, where /usr takes no packages): the programs in /opt/bin, and the unit.
 *
 * @param unit the text of rollcall-agent.service
 * @param programs by their names, each with its release file, which gzip has compressed, and what is compressed there
 */
export function ignition(
  unit: string,
  programs: Readonly<Record<string, { readonly file: string; readonly content: Buffer }>>,
): string {
  const files = Object.entries(programs).map(([name, { file, content }]) => ({
    path: `/opt/bin/${name}`,
    mode: 0o755,
    contents: {
      source: `${site}/${file}`,
      compression: 'gzip',
      // Of what it is once it is no longer compressed.
      verification: { hash: `sha512-${hash('sha512', content, 'hex')}` },
    },
  }))
  const contents = unit.replaceAll('/usr/bin/', '/opt/bin/')
  const config = {
    ignition: { version: '3.4.0' },
    storage: { files },
    systemd: { units: [{ name: 'rollcall-agent.service', enabled: true, contents }] },
  }
  return `${JSON.stringify(config, undefined, 2)}\n`
}

/** A configuration for cloud-init on Debian and Ubuntu that installs one of `packages`, named as `...-ARCHITECTURE.deb`. */
export function cloudInit(
  version: string,
  packages: readonly { readonly name: string; readonly content: string | Buffer }[],
): string {
  const sums = packages.map(({ name, content }) => `${hash('sha256', content, 'hex')}  ${name}`)
  return `#cloud-config
runcmd:
  # In a shell of its own, because one that fails would end the commands of others.
  - |
    (
      set -e
      cd /run
      file=rollcall-agent-${version}-linux-$(dpkg --print-architecture).deb
      curl --fail --silent --show-error --location --remote-name "${site}/$file"
      sha256sum --check --ignore-missing <<'SUMS'
${sums.map((sum) => `    ${sum}`).join('\n')}
    SUMS
      # What the package recommends stands on a mirror, which this machine may not reach.
      apt-get install --yes --no-install-recommends "/run/$file"
    )
`
}
