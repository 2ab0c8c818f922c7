/** What is shipped for: by the names that Go, Debian and container images use. */
export type Architecture = 'amd64' | 'arm64'

export const architectures: readonly Architecture[] = ['amd64', 'arm64']

/** Node's own names for them. */
const nodeNames = { amd64: 'x64', arm64: 'arm64' } as const satisfies Record<Architecture, string>

export function nodeArchitecture(architecture: Architecture): 'x64' | 'arm64' {
  return nodeNames[architecture]
}

/**
 * The architecture of this machine.
 *
 * @throws Error where nothing is shipped for it.
 */
export function hostArchitecture(): Architecture {
  const found = architectures.find((architecture) => nodeNames[architecture] === process.arch)
  if (found === undefined) throw new Error(`no build for ${process.arch}: use a machine with x64 or arm64`)
  return found
}
