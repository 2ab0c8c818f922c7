/** How the agent notices that its kubelet has started: a Node that was deleted is registered again only then. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { SERVICE_ACCOUNT_FOLDER } from './shared/program.ts'

/** A kubelet recreates this file at each start, as it promises to device plugins. */
const KUBELET_SOCKET = 'var/lib/kubelet/device-plugins/kubelet.sock'

/**
 * The file that is replaced when the kubelet starts. In a Pod it is the Pod's token: a kubelet that starts requests new ones,
 * which name the new Node.
 *
 * @param root where the machine's own files begin
 */
export function signOfKubeletStart(root: string, { inPod }: { readonly inPod: boolean }): string {
  return inPod ? join(SERVICE_ACCOUNT_FOLDER, 'token') : join(root, KUBELET_SOCKET)
}

/**
 * A text that changes when the file is replaced or touched; it is not opened, and may be of any kind. Empty where it is
 * not there or may not be seen.
 */
export function fileFingerprint(path: string): string {
  try {
    const { ino, ctimeMs } = statSync(path)
    return `${ino} ${ctimeMs}`
  } catch {
    // An empty text never changes, so the agent finds out at its next refresh.
    return ''
  }
}
