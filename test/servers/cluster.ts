import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createApiClient, type PlainApiClient } from './api-client.ts'
import { renderKubeconfig } from './kubeconfig.ts'
import { type CertificateFiles, type CertificateIdentity, openCertificateAuthority } from './pki.ts'

/** What it takes to speak to a running API server as anyone. */
export interface ClusterFiles {
  readonly url: string
  readonly caFile: string
  readonly caKeyFile: string
  /** The key with which the API server signs tokens: with it, a test makes those that only time can make. */
  readonly tokenKeyFile: string
}

/** A real API server with its etcd, and nothing else: no controllers, no scheduler, no kubelets. */
export interface Cluster extends ClusterFiles, AsyncDisposable {
  /** For the test's files; removed when it is done with the cluster. */
  readonly dir: string
  /** Path of a kubeconfig of the group system:masters. */
  readonly adminKubeconfig: string
  /** Writes a kubeconfig with a client certificate for this identity; resolves with its path. */
  kubeconfig(identity: CertificateIdentity): Promise<string>
  clientCertificate(identity: CertificateIdentity): Promise<CertificateFiles>
  /** A request as administrator, or with a bearer token instead. */
  readonly request: PlainApiClient['request']
  /** A client for requests as someone else; it is closed with the cluster. */
  as(identity: CertificateIdentity): Promise<PlainApiClient>
  stop(): Promise<void>
}

/** Opens a running cluster; what is written for its users lies in `dir`. Stopping it only closes their clients. */
export async function openCluster(files: ClusterFiles, dir: string): Promise<Cluster> {
  await mkdir(dir, { recursive: true })
  const { url, caFile } = files
  const ca = await openCertificateAuthority(files, dir)
  const authority = await readFile(caFile, 'utf8')
  const opened: PlainApiClient[] = []
  const open = async (identity: CertificateFiles) => {
    const client = createApiClient(url, authority, {
      cert: await readFile(identity.certificateFile, 'utf8'),
      key: await readFile(identity.keyFile, 'utf8'),
    })
    opened.push(client)
    return client
  }
  let kubeconfigs = 0
  const writeKubeconfig = async (identity: CertificateFiles) => {
    kubeconfigs += 1
    const path = join(dir, `kubeconfig-${kubeconfigs}`)
    await writeFile(path, renderKubeconfig(url, caFile, identity), { mode: 0o600 })
    return path
  }
  const stop = async () => {
    await Promise.all(opened.splice(0).map((client) => client.close()))
  }
  const admin = await ca.client({ user: 'admin', groups: ['system:masters'] })
  return {
    ...files,
    dir,
    adminKubeconfig: await writeKubeconfig(admin),
    kubeconfig: async (identity) => writeKubeconfig(await ca.client(identity)),
    clientCertificate: (identity) => ca.client(identity),
    request: (await open(admin)).request,
    as: async (identity) => open(await ca.client(identity)),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}
