import { stringify } from 'yaml'
import type { CertificateFiles } from './pki.ts'

/** A kubeconfig that names the files, as a kubelet's own does. */
export function renderKubeconfig(server: string, caFile: string, client: CertificateFiles): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority': caFile } }],
    users: [
      { name: 'test', user: { 'client-certificate': client.certificateFile, 'client-key': client.keyFile } },
    ],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  })
}
