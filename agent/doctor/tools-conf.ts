import { join } from 'node:path'
import { parse } from 'ini'
import { readSmallFile } from '../facts/files.ts'

/** Where VMware Tools have their settings. */
export const TOOLS_CONF = '/etc/vmware-tools/tools.conf'

/** What `tools.conf` keeps from vCenter. */
export interface ToolsConf {
  /** False where the guest's addresses are never gathered. */
  readonly polls: boolean
  /** Those of the machine's interfaces whose addresses are left out. */
  readonly excluded: readonly string[]
}

/** Many times the file that open-vm-tools ships, which is comments. */
const MAX_LENGTH = 256 * 1024

/**
 * What VMware Tools are told by their section `[guestinfo]`: `poll-interval=0` ends the polling, `exclude-nics` is a list of
 * patterns in which `*` and `?` stand for any characters and for one (open-vm-tools, `tools.conf`).
 *
 * @param interfaces names
 * @returns undefined where there is no such file, or none that can be read
 */
export function readToolsConf(root: string, interfaces: readonly string[]): ToolsConf | undefined {
  const text = readSmallFile(join(root, TOOLS_CONF), MAX_LENGTH)
  if (!text.ok) return undefined
  const { guestinfo } = parse(text.value)
  const setting = (key: string) => {
    const value: unknown = typeof guestinfo === 'object' && guestinfo !== null ? guestinfo[key] : undefined
    return typeof value === 'string' ? value : ''
  }
  const patterns = setting('exclude-nics').split(',').map(toRegExp)
  return {
    polls: Number.parseInt(setting('poll-interval'), 10) !== 0,
    excluded: interfaces.filter((name) => patterns.some((pattern) => pattern.test(name))),
  }
}

function toRegExp(pattern: string): RegExp {
  const literal = pattern.trim().replaceAll(/[\\^$.+|()[\]{}]/g, String.raw`\$&`)
  return new RegExp(`^${literal.replaceAll(/\*+/g, '.*').replaceAll('?', '.')}$`)
}
