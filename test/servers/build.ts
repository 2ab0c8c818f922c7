import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { runAsProgram } from '../../build/entry.ts'
import { type GoCommand, goBinary } from '../../build/go-command.ts'

const kubernetesVersion = 'k8s.io/component-base/version'

/** Without these the servers do not know their own version, and clients refuse features that hang from it. */
const versionVariables = (version: string) => {
  const [major = '', minor = ''] = version.split('.')
  return {
    [`${kubernetesVersion}.gitVersion`]: `v${version}`,
    [`${kubernetesVersion}.gitMajor`]: major,
    [`${kubernetesVersion}.gitMinor`]: minor,
  }
}

const here = import.meta.dirname
const kubernetes = { dir: join(here, 'kubernetes'), variables: versionVariables('1.37.2') }
const cpi = { dir: join(here, 'cpi') }
const csi = { dir: join(here, 'csi') }
const containerd = (command: string) => ({
  dir: join(here, 'containerd'),
  package: `github.com/containerd/containerd/v2/cmd/${command}`,
  takes: '1 min',
})
const older = (minor: string, version: string) => ({
  dir: join(here, `kubernetes-${minor}`),
  variables: versionVariables(version),
  package: './kube-apiserver',
  takes: '5 min',
})

const commands = {
  etcd: { dir: join(here, 'etcd'), takes: '25 s' },
  'kube-apiserver': { ...kubernetes, package: './kube-apiserver', takes: '4 min' },
  'kube-apiserver-1.36': older('1.36', '1.36.3'),
  'kube-apiserver-1.34': older('1.34', '1.34.4'),
  'kube-apiserver-1.31': older('1.31', '1.31.0'),
  'kube-controller-manager': { ...kubernetes, package: './kube-controller-manager', takes: '1 min' },
  'kube-scheduler': { ...kubernetes, package: './kube-scheduler', takes: '1 min' },
  kubelet: { ...kubernetes, package: './kubelet', takes: '1 min' },
  kubectl: { ...kubernetes, package: './kubectl', takes: '1 min' },
  containerd: { ...containerd('containerd'), takes: '3 min' },
  'containerd-shim-runc-v2': containerd('containerd-shim-runc-v2'),
  ctr: containerd('ctr'),
  pause: { dir: join(here, 'pause') },
  vcsim: { dir: join(here, 'vcsim'), takes: '50 s' },
  rpctool: { dir: join(here, 'rpctool') },
  runtime: { dir: join(here, 'runtime'), takes: '15 s' },
  govc: { dir: join(here, 'govc'), takes: '40 s' },
  cpi: {
    ...cpi,
    package: 'k8s.io/cloud-provider-vsphere/cmd/vsphere-cloud-controller-manager',
    takes: '3 min',
  },
  'cpi-config': { ...cpi, package: './config', takes: '30 s' },
  'cpi-addresses': { ...cpi, package: './addresses', takes: '3 min' },
  csi: { ...csi, package: 'sigs.k8s.io/vsphere-csi-driver/v3/cmd/vsphere-csi', takes: '3 min' },
  'csi-syncer': { ...csi, package: 'sigs.k8s.io/vsphere-csi-driver/v3/cmd/syncer', takes: '3 min' },
  helm: { dir: join(here, 'helm'), package: 'helm.sh/helm/v3/cmd/helm', takes: '2 min' },
  promql: { dir: join(here, 'promql'), takes: '2 min' },
  'csr-reader': { dir: join(here, 'csr-reader') },
  'csi-call': { ...csi, package: './call', takes: '20 s' },
} satisfies Record<string, Omit<GoCommand, 'name'>>

export type ServerName = keyof typeof commands

/** The three that Kubernetes' own test assets bring along. */
const inAssets: readonly string[] = ['etcd', 'kube-apiserver', 'kubectl']

/**
 * The path of a server's binary, built first where the cache has none for these sources.
 *
 * etcd, kube-apiserver and kubectl come from `KUBEBUILDER_ASSETS` where that folder has them. An abort ends a build that
 * is under way, and rejects.
 */
export async function serverBinary(
  name: ServerName,
  env: NodeJS.ProcessEnv = process.env,
  signal?: AbortSignal,
): Promise<string> {
  const assets = env.KUBEBUILDER_ASSETS
  if (assets && inAssets.includes(name)) {
    const path = join(assets, name)
    if (existsSync(path)) return path
  }
  return goBinary(
    {
      name,
      ...commands[name],
      ...(inAssets.includes(name) ? { instead: `set KUBEBUILDER_ASSETS to a folder that has ${name}` } : {}),
    },
    env,
    signal,
  )
}

async function main(names: readonly string[]): Promise<void> {
  for (const [index, name] of names.entries()) {
    const known = Object.keys(commands).find((candidate): candidate is ServerName => candidate === name)
    if (!known) {
      throw new RangeError(`unknown server "${name}", known are ${Object.keys(commands).join(', ')}`)
    }
    process.stdout.write(`${index + 1} of ${names.length}: ${await serverBinary(known)}\n`)
  }
}

if (import.meta.main) runAsProgram(() => main(process.argv.slice(2)))
