import { join } from 'node:path'
import { readSmallFile } from './files.ts'

export interface IPv6Flags {
  readonly temporary: boolean
  readonly deprecated: boolean
  /** Not yet, or never, usable: duplicate address detection runs or has failed. */
  readonly tentative: boolean
}

/** `linux/if_addr.h`; for IPv6 the bit of "secondary" means "temporary". */
const IFA_F_TEMPORARY = 0x01
const IFA_F_DADFAILED = 0x08
const IFA_F_DEPRECATED = 0x20
const IFA_F_TENTATIVE = 0x40

/** Flags by interface and address, from `proc/net/if_inet6`; the key is made by {@link ipv6Key}. */
export function readIPv6Flags(root: string): ReadonlyMap<string, IPv6Flags> {
  const flags = new Map<string, IPv6Flags>()
  const table = readSmallFile(join(root, 'proc/net/if_inet6'), 1 << 18)
  for (const line of table.ok ? table.value.split('\n') : []) {
    const [address = '', , , , hex = '', name = ''] = line.trim().split(/\s+/)
    const bits = Number.parseInt(hex, 16)
    if (!/^[0-9a-f]{32}$/i.test(address) || Number.isNaN(bits)) continue
    flags.set(`${name} ${address.toLowerCase()}`, {
      temporary: (bits & IFA_F_TEMPORARY) !== 0,
      deprecated: (bits & IFA_F_DEPRECATED) !== 0,
      tentative: (bits & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) !== 0,
    })
  }
  return flags
}

/** The key of an address: the interface and all 32 digits. The address must be a valid one without a zone. */
export function ipv6Key(name: string, address: string): string {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)
  const plain = dotted
    ? `${dotted[1]}${hex16(dotted[2], dotted[3])}:${hex16(dotted[4], dotted[5])}`
    : address.toLowerCase()
  const [head = '', tail] = plain.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0')
  return `${name} ${[...left, ...zeros, ...right].map((group) => group.padStart(4, '0')).join('')}`
}

function hex16(high: string | undefined, low: string | undefined): string {
  return (Number(high) * 256 + Number(low)).toString(16)
}
