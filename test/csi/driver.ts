/** The vSphere CSI driver itself: its syncer, its controller and its node plugin, as its manifests start them. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as v from 'valibot'
import { CSI_DRIVER } from '../../controller/types/well-known.ts'
import { serverBinary } from '../servers/build.ts'
import type { NodeInfo } from '../world/csi-driver.ts'
import { type Program, startProgram } from '../world/program.ts'
import type { Stage } from '../world/stage.ts'

const NAMESPACE = 'vmware-system-csi'
const FEATURES = 'internal-feature-states.csi.vsphere.vmware.com'

/** The driver's plugin on a Node. */
export interface Plugin {
  readonly socket: string
  stop(): Promise<unknown>
}

export interface Driver {
  /** Where the controller listens. */
  readonly socket: string
  readonly syncer: Program
  readonly controller: Program
  /** Starts the plugin of a Node, whose /sys is below this folder. */
  node(name: string, root: string): Promise<Plugin>
}

/** The part of a tap test that ends what was begun. */
interface Teardown {
  teardown(fn: () => Promise<unknown>): void
}

/**
 * Starts syncer and controller with an administrator's credential, and waits until both work. The ports of their metrics
 * are fixed in their sources, 2112, 2113 and 8383, so there can be one driver at a time.
 *
 * @param labels what the driver's configuration says of tags and labels
 */
export async function startDriver(
  t: Teardown,
  { cluster, vcsim, dir }: Stage,
  labels: string,
): Promise<Driver> {
  const folder = await mkdtemp(join(dir, 'csi-'))
  // A folder of its own: whatever is removed beside it makes the driver read it again, and drop its connections.
  const configFile = join(folder, 'config/csi-vsphere.conf')
  await mkdir(dirname(configFile))
  await writeFile(configFile, config(vcsim, labels), { mode: 0o600 })
  for (const [path, object] of [
    ['/api/v1/namespaces', { metadata: { name: NAMESPACE } }],
    // As in the driver's manifests of this version.
    [
      `/api/v1/namespaces/${NAMESPACE}/configmaps`,
      {
        metadata: { name: FEATURES },
        data: { 'trigger-csi-fullsync': 'false', 'pv-to-backingdiskobjectid-mapping': 'false' },
      },
    ],
    [
      '/apis/storage.k8s.io/v1/csidrivers',
      { metadata: { name: CSI_DRIVER }, spec: { attachRequired: true, podInfoOnMount: false } },
    ],
  ] as const) {
    const { status, body } = await cluster.request('POST', path, object)
    // A driver that ran before has made them.
    if (status !== 201 && status !== 409)
      throw new Error(`${path} answers ${status}: ${JSON.stringify(body)}`)
  }

  const env = {
    KUBECONFIG: cluster.adminKubeconfig,
    VSPHERE_CSI_CONFIG: configFile,
    CLUSTER_FLAVOR: 'VANILLA',
    CSI_NAMESPACE: NAMESPACE,
    LOGGER_LEVEL: 'PRODUCTION',
  }
  const features = [`--fss-name=${FEATURES}`, `--fss-namespace=${NAMESPACE}`]
  const start = (command: string, args: readonly string[], more: Readonly<Record<string, string>>) => {
    const program = startProgram({ command, args, env: { ...env, ...more } })
    t.teardown(() => program.stop())
    return program
  }
  const syncer = start(await serverBinary('csi-syncer'), features, {})
  await syncer.says(/Starting Cns Operator/)

  const binary = await serverBinary('csi')
  const socket = join(folder, 'controller.sock')
  const controller = start(binary, features, { X_CSI_MODE: 'controller', CSI_ENDPOINT: `unix://${socket}` })
  await controller.says(/Listening for connections/)
  return {
    socket,
    syncer,
    controller,
    async node(name, root) {
      const own = join(folder, `${name}.sock`)
      // The path of the machine's serial number is fixed in the driver's sources.
      const inItsMachine = 'mount --bind "$0" /sys && exec "$@"'
      const unshare = ['--user', '--map-root-user', '--mount', 'sh', '-c', inItsMachine, join(root, 'sys')]
      const plugin = start('unshare', [...unshare, binary, ...features], {
        PATH: process.env.PATH ?? '',
        X_CSI_MODE: 'node',
        CSI_ENDPOINT: `unix://${own}`,
        NODE_NAME: name,
      })
      await plugin.says(/Listening for connections/)
      return { socket: own, stop: () => plugin.stop() }
    },
  }
}

function config({ host, port, username, password, certificateFile }: Stage['vcsim'], labels: string) {
  return `[Global]
cluster-id = "rollcall"
cluster-distribution = "Kubernetes"
ca-file = "${certificateFile}"

[VirtualCenter "${host}"]
user = "${username}"
password = "${password}"
port = "${port}"
datacenters = "DC0"

${labels}
`
}

const segments = v.record(v.string(), v.string())
const nodeInfo = v.object({ nodeId: v.string(), accessibleTopology: v.object({ segments }) })
const created = v.object({
  volume: v.object({
    volumeId: v.string(),
    accessibleTopology: v.optional(v.array(v.object({ segments })), []),
  }),
})

type Segments = Readonly<Record<string, string>>

/** What a Node's plugin tells the kubelet that registers it. */
export async function askNodeInfo({ socket }: Plugin): Promise<NodeInfo> {
  return v.parse(nodeInfo, await call(socket, 'Node/NodeGetInfo', {}))
}

/** Has a volume made as external-provisioner asks for it once the scheduler has chosen a Node of these segments. */
export async function createVolume(
  socket: string,
  { name, segments, datastoreURL }: { name: string; segments: Segments; datastoreURL: string },
) {
  const topologies = [{ segments }]
  const answer = await call(socket, 'Controller/CreateVolume', {
    name,
    parameters: { datastoreurl: datastoreURL },
    capacityRange: { requiredBytes: String(1024 ** 3) },
    volumeCapabilities: [{ mount: { fsType: 'ext4' }, accessMode: { mode: 'SINGLE_NODE_WRITER' } }],
    accessibilityRequirements: { requisite: topologies, preferred: topologies },
  })
  return v.parse(created, answer).volume
}

/** Has a volume attached to the Node with this ID, as external-attacher asks for it. */
export async function attachVolume(socket: string, volumeId: string, nodeId: string): Promise<void> {
  await call(socket, 'Controller/ControllerPublishVolume', {
    volumeId,
    nodeId,
    volumeCapability: { mount: { fsType: 'ext4' }, accessMode: { mode: 'SINGLE_NODE_WRITER' } },
    volumeContext: { type: 'vSphere CNS Block Volume' },
  })
}

async function call(socket: string, method: string, request: object): Promise<unknown> {
  const binary = await serverBinary('csi-call')
  const output = await new Promise<string>((resolve, reject) => {
    const child = execFile(binary, [socket, method], (error, stdout, stderr) =>
      error === null ? resolve(stdout) : reject(new Error(`${method}: ${stderr.trim()}`)),
    )
    child.stdin?.end(JSON.stringify(request))
  })
  return JSON.parse(output)
}
