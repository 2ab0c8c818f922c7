/** The files by which the machine has a kubelet as kubeadm sets it up: its unit, configuration and credential. */
import { readFile } from 'node:fs/promises'
import { stringify } from 'yaml'
import type { Cluster } from '../servers/cluster.ts'
import { kubeletIdentity } from '../world/kubelet.ts'
import { HOST } from './machine.ts'

const RUNTIME = 'unix:///run/runtime.sock'
const CA = '/etc/kubernetes/pki/ca.crt'
const CLIENT = '/var/lib/kubelet/pki/kubelet-client-current.pem'

/** By their paths in the machine. The kubelet is the real one; its container runtime runs nothing. */
export async function kubeletFiles(cluster: Cluster, node: string): Promise<Record<string, string>> {
  const client = await cluster.clientCertificate(kubeletIdentity(node))
  const read = (path: string) => readFile(path, 'utf8')
  return {
    '/etc/systemd/system/runtime.service': `[Unit]
Description=A container runtime that runs nothing

[Service]
ExecStart=/payload/runtime ${RUNTIME}
`,
    '/etc/systemd/system/kubelet.service': `[Unit]
Description=kubelet: The Kubernetes Node Agent
Wants=network-online.target runtime.service
After=network-online.target runtime.service
StartLimitIntervalSec=0

[Service]
ExecStart=/payload/kubelet --kubeconfig=/etc/kubernetes/kubelet.conf --config=/var/lib/kubelet/config.yaml \\
  --hostname-override=${node} --cloud-provider=external
Restart=always
RestartSec=1

[Install]
WantedBy=multi-user.target
`,
    '/var/lib/kubelet/config.yaml': stringify({
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      containerRuntimeEndpoint: RUNTIME,
      cgroupDriver: 'systemd',
      authentication: { x509: { clientCAFile: CA }, webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
    }),
    [CA]: await read(cluster.caFile),
    [CLIENT]: `${await read(client.certificateFile)}\n${await read(client.keyFile)}`,
    '/etc/kubernetes/kubelet.conf': stringify(kubeconfig(cluster.url)),
  }
}

function kubeconfig(url: string) {
  const name = 'default'
  const server = new URL(url)
  server.hostname = HOST
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name,
        cluster: {
          server: server.origin,
          // The certificate does not know the name of this host on QEMU's network.
          'tls-server-name': 'kubernetes.default.svc',
          'certificate-authority': CA,
        },
      },
    ],
    users: [{ name, user: { 'client-certificate': CLIENT, 'client-key': CLIENT } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  }
}
