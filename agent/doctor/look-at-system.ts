/** What the system says about itself, for people. The library runs several small programs, so only `doctor` uses it. */

export interface SystemFacts {
  /** As `Debian GNU/Linux 13, kernel 6.12.0`; empty where nothing is known. */
  readonly name: string
  /** The hypervisor that the system sees, as `VMware`; empty where it sees none, or cannot tell. */
  readonly hypervisor: string
  /** Whether VMware Tools run; undefined where no service manager can be asked. */
  readonly toolsRun: boolean | undefined
}

/** The names of their services, by distribution. */
const TOOLS = 'vmtoolsd,open-vm-tools'

/**
 * Never rejects. In an image without a shell the library returns empty texts and no error, so an empty text means nothing.
 */
export async function lookAtSystem(): Promise<SystemFacts> {
  const { osInfo, services, system } = await import('systeminformation')
  const [os, machine, tools] = await Promise.all([
    osInfo().catch(() => undefined),
    system().catch(() => undefined),
    services(TOOLS).catch(() => []),
  ])
  const distribution = [os?.distro, os?.release].filter(Boolean).join(' ')
  const known = tools.filter(({ running, startmode }) => running || startmode !== '')
  return {
    name: [distribution, os?.kernel && `kernel ${os.kernel}`].filter(Boolean).join(', '),
    hypervisor: machine?.virtualHost ?? '',
    toolsRun: known.length === 0 ? undefined : known.some(({ running }) => running),
  }
}
