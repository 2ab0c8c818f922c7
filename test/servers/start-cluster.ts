import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ServerName, serverBinary } from './build.ts'
import { type Cluster, openCluster } from './cluster.ts'
import {
  type CertificateAuthority,
  createCertificateAuthority,
  openCertificateAuthority,
  type ServiceAccountKeys,
  writeServiceAccountKeys,
} from './pki.ts'
import { freePort } from './ports.ts'
import { type Server, startServer } from './processes.ts'

export interface StartClusterOptions {
  /** An older one than that of all other tests. */
  apiServer?: Extract<ServerName, `kube-apiserver${string}`>
  /** More arguments for kube-apiserver; of an option given twice, the last counts. */
  apiServerArgs?: string[]
  /**
   * With what it takes to run Pods: they get the tokens of their service accounts, find the API server under the address of
   * its Service, and `kubectl logs` and `exec` reach their kubelets, whose certificates the cluster's CA must have signed.
   */
  runsPods?: boolean
}

/** Of the Service `kubernetes`, the first in the range of all Services. */
export const SERVICE_ADDRESS = '10.96.0.1'

/** A cluster of the test's own, whose API server it may stop. */
export interface OwnCluster extends Cluster {
  /** Where the API server stores; plain HTTP on loopback. */
  readonly etcdUrl: string
  /**
   * Asks the API server to end and insists after `within` milliseconds, 10,000 by default: as long as a client watches,
   * it takes its time.
   */
  stopApiServer(within?: number): Promise<void>
  /** Starts the API server again on the same port and data. */
  startApiServer(): Promise<void>
  /** Of the API server that runs now. */
  apiServerPID(): number
}

/**
 * Starts etcd and kube-apiserver in a temporary folder; about 4 seconds once they are built. A test that does nothing to
 * the API server itself is faster with one of the pool's: `borrowCluster`.
 */
export async function startCluster(options: StartClusterOptions = {}): Promise<OwnCluster> {
  const { apiServer: name = 'kube-apiserver' } = options
  const binaries = { etcd: await serverBinary('etcd'), apiServer: await serverBinary(name) }
  const dir = await mkdtemp(join(tmpdir(), 'rollcall-cluster-'))
  const cleanUp: (() => Promise<void>)[] = [() => rm(dir, { recursive: true, force: true, maxRetries: 5 })]
  const stop = async () => {
    for (let step = cleanUp.pop(); step; step = cleanUp.pop()) await step()
  }
  try {
    const ca = await createCertificateAuthority(dir)
    const serviceAccounts = await writeServiceAccountKeys(dir)
    const etcd = await startEtcd(binaries.etcd, dir)
    cleanUp.push(() => etcd.server.stop())

    const port = await freePort()
    const files = {
      url: `https://127.0.0.1:${port}`,
      caFile: ca.caFile,
      caKeyFile: ca.caKeyFile,
      tokenKeyFile: serviceAccounts.privateFile,
    }
    const args = [
      ...(await apiServerArgs(ca, serviceAccounts, port, etcd.url)),
      ...(options.runsPods ? await podArgs(ca, join(dir, 'to-kubelets')) : WITHOUT_CONTROLLERS),
      ...(options.apiServerArgs ?? []),
    ]
    const cluster = await openCluster(files, dir)

    let apiServer: Server | undefined
    const stopApiServer = async (within?: number) => {
      await apiServer?.stop(within)
      apiServer = undefined
    }
    cleanUp.push(() => stopApiServer())
    const startApiServer = async () => {
      apiServer ??= await startServer({
        name: 'kube-apiserver',
        command: binaries.apiServer,
        args,
        ready: () => ready(cluster),
      })
    }
    cleanUp.push(() => cluster.stop())
    await startApiServer()
    const apiServerPID = () => apiServer?.pid ?? 0
    return {
      ...cluster,
      etcdUrl: etcd.url,
      stopApiServer,
      startApiServer,
      apiServerPID,
      stop,
      [Symbol.asyncDispose]: stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startEtcd(command: string, dir: string): Promise<{ server: Server; url: string }> {
  const url = `http://127.0.0.1:${await freePort()}`
  const peerUrl = `http://127.0.0.1:${await freePort()}`
  const args = [
    `--data-dir=${join(dir, 'etcd')}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
    '--unsafe-no-fsync',
    '--log-level=warn',
  ]
  const server = await startServer({
    name: 'etcd',
    command,
    args,
    removes: dir,
    ready: async () => {
      const response = await fetch(`${url}/health`)
      if (!(await response.text()).includes('true')) throw new Error('etcd is not healthy yet')
    },
  })
  return { server, url }
}

async function apiServerArgs(
  ca: CertificateAuthority,
  serviceAccounts: ServiceAccountKeys,
  port: number,
  etcdUrl: string,
): Promise<string[]> {
  const serving = await ca.serving('kube-apiserver', ['kubernetes.default.svc', SERVICE_ADDRESS])
  return [
    `--etcd-servers=${etcdUrl}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    // From 1.37 on, no address of loopback may become that of the Service `kubernetes`.
    '--endpoint-reconciler-type=none',
    // The port is reused by startApiServer while clients of the last one still linger in TIME_WAIT.
    '--permit-port-sharing',
    `--secure-port=${port}`,
    `--tls-cert-file=${serving.certificateFile}`,
    `--tls-private-key-file=${serving.keyFile}`,
    `--client-ca-file=${ca.caFile}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    '--api-audiences=https://kubernetes.default.svc',
    `--service-account-key-file=${serviceAccounts.publicFile}`,
    `--service-account-signing-key-file=${serviceAccounts.privateFile}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--allow-privileged',
    // A thousand nodes at once are one test on one machine, not a crowd to be fair to.
    '--max-requests-inflight=4000',
    '--max-mutating-requests-inflight=2000',
    '--profiling=false',
    '--shutdown-delay-duration=0s',
  ]
}

/** Without controllers nobody makes the default service account that this plugin insists on. */
const WITHOUT_CONTROLLERS = ['--disable-admission-plugins=ServiceAccount']

/** As kubeadm starts it, for the requests that it passes on to kubelets. */
async function podArgs(files: CertificateAuthority, dir: string): Promise<string[]> {
  await mkdir(dir)
  const ca = await openCertificateAuthority(files, dir)
  const client = await ca.client({ user: 'kube-apiserver-kubelet-client', groups: ['system:masters'] })
  return [
    `--kubelet-client-certificate=${client.certificateFile}`,
    `--kubelet-client-key=${client.keyFile}`,
    `--kubelet-certificate-authority=${files.caFile}`,
    '--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname',
  ]
}

async function ready(client: Pick<Cluster, 'request'>): Promise<void> {
  const { status } = await client.request('GET', '/readyz')
  if (status !== 200) throw new Error(`readyz answers ${status}`)
}
