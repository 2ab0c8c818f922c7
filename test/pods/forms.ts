/** The two forms in which Rollcall is installed, by the commands of the docs, and the configuration that goes with each. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import { root } from '../../build/programs.ts'
import { packedChart } from '../../build/release/artifacts.ts'
import { serverBinary } from '../servers/build.ts'
import { LABELS } from '../world/stage.ts'
import { type PodsStage, VCENTER_ADDRESS } from './stage.ts'

export interface Form {
  readonly name: string
  apply(stage: PodsStage, folder: string): Promise<void>
  remove(stage: PodsStage, folder: string): Promise<void>
}

const OVERLAY = join(root, 'manifests/overlays/approve-certificates')
/** There is no guest RPC here, so no VM shows a claim. */
const CERTIFICATES = { approve: true, require: 'reported', networks: ['10.0.0.0/16'] }

export const manifests: Form = {
  name: 'the manifests',
  async apply({ vcsim, kubectl }, folder) {
    const { username: user, password, thumbprint } = vcsim
    const main = { server: VCENTER_ADDRESS, user, password, thumbprint, datacenters: ['DC0'] }
    const config = join(folder, 'vsphere.conf')
    await writeFile(
      config,
      stringify({
        vcenter: { main },
        labels: LABELS,
        identity: { require: 'reported' },
        certificates: CERTIFICATES,
      }),
    )
    const secret = ['secret', 'generic', 'rollcall-config', `--from-file=${config}`]
    await kubectl('create', ...secret, '--namespace=kube-system')
    await kubectl('apply', '-k', OVERLAY)
  },
  async remove({ kubectl }) {
    await kubectl('delete', '-k', OVERLAY)
    await kubectl('delete', 'secret', 'rollcall-config', '--namespace=kube-system')
    await deleteLease(kubectl)
  },
}

export const chart: Form = {
  name: 'the chart',
  async apply(stage, folder) {
    const { username, password, thumbprint } = stage.vcsim
    const access = { vcenter: VCENTER_ADDRESS, username, password, thumbprint, datacenter: 'DC0' }
    const values = join(folder, 'values.yaml')
    await writeFile(
      values,
      stringify({ config: { enabled: true, ...access, ...LABELS }, certificates: CERTIFICATES }),
    )
    const archive = join(folder, 'rollcall.tgz')
    await writeFile(archive, await packedChart())
    await helm(stage, folder, 'install', 'rollcall', archive, `--values=${values}`)
  },
  async remove(stage, folder) {
    await helm(stage, folder, 'uninstall', 'rollcall')
    await deleteLease(stage.kubectl)
  },
}

async function helm({ cluster }: PodsStage, folder: string, ...args: string[]): Promise<void> {
  const options = [`--kubeconfig=${cluster.adminKubeconfig}`, '--namespace=kube-system']
  // Its caches are in the home folder.
  const env = { ...process.env, HOME: folder }
  await promisify(execFile)(await serverBinary('helm'), [...args, ...options], { env })
}

/** Its holder loses its rights before it can give it back, and the next form would wait until it is over. */
async function deleteLease(kubectl: PodsStage['kubectl']): Promise<void> {
  await kubectl('delete', 'lease', 'rollcall-controller', '--namespace=kube-system')
}
