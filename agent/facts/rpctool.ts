import { accessSync, constants } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Finds the guest RPC tool: the host's own, else the helper `rollcall-guestinfo` beside this program, as in the image.
 *
 * @param program path of the running program
 */
export function findRpctool(root: string, program: string): string | undefined {
  const places = [join(root, 'usr/bin/vmware-rpctool'), join(dirname(program), 'rollcall-guestinfo')]
  return places.find((path) => {
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      // Not there or not executable: either way not the one to take.
      return false
    }
  })
}
