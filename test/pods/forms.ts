/** The two forms in which Rollcall is installed, by the commands of the docs, and the configuration that goes with each. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import * as v from 'valibot'
import { stringify } from 'yaml'
import { root } from '../../build/programs.ts'
import { packedChart } from '../../build/release/chart.ts'
import { REGION_CATEGORY, ZONE_CATEGORY } from '../e2e/stage.ts'
import { serverBinary } from '../servers/build.ts'
import { VCENTER_ADDRESS, type World } from './world.ts'

export interface Form {
  readonly name: string
  apply(world: World, folder: string): Promise<void>
  remove(world: World, folder: string): Promise<void>
}

const MANIFESTS = join(root, 'manifests')
const labels = { zone: ZONE_CATEGORY, region: REGION_CATEGORY }

export const manifests: Form = {
  name: 'the manifests',
  async apply({ vcsim, kubectl }, folder) {
    const { username: user, password, thumbprint } = vcsim
    const main = { server: VCENTER_ADDRESS, user, password, thumbprint, datacenters: ['DC0'] }
    const config = join(folder, 'vsphere.conf')
    await writeFile(config, stringify({ vcenter: { main }, labels, identity: { require: 'reported' } }))
    const secret = ['secret', 'generic', 'rollcall-config', `--from-file=${config}`]
    await kubectl('create', ...secret, '--namespace=kube-system')
    await kubectl('apply', '-k', MANIFESTS)
  },
  async remove({ kubectl }) {
    await kubectl('delete', '-k', MANIFESTS)
    await kubectl('delete', 'secret', 'rollcall-config', '--namespace=kube-system')
    await deleteLease(kubectl)
  },
}

const rendered = (folder: string) => join(folder, 'chart.yaml')

export const chart: Form = {
  name: 'the chart',
  async apply({ vcsim, kubectl }, folder) {
    const { username, password, thumbprint } = vcsim
    const access = { vcenter: VCENTER_ADDRESS, username, password, thumbprint, datacenter: 'DC0' }
    await writeFile(
      rendered(folder),
      await render(folder, { config: { enabled: true, ...access, ...labels } }),
    )
    await kubectl('apply', '-f', rendered(folder))
  },
  async remove({ kubectl }, folder) {
    await kubectl('delete', '-f', rendered(folder))
    await deleteLease(kubectl)
  },
}

/** Its holder loses its rights before it can give it back, and the next form would wait until it is over. */
async function deleteLease(kubectl: World['kubectl']): Promise<void> {
  await kubectl('delete', 'lease', 'rollcall-controller', '--namespace=kube-system')
}

const Outcomes = v.tuple([
  v.object({ files: v.optional(v.record(v.string(), v.string()), {}), error: v.optional(v.string()) }),
])

/** What Helm makes of the chart of a release. */
async function render(folder: string, values: object): Promise<string> {
  const archive = join(folder, 'rollcall.tgz')
  await writeFile(archive, await packedChart())
  const rendering = {
    chart: archive,
    release: 'rollcall',
    namespace: 'kube-system',
    kubeVersion: '1.36.3',
    values,
  }
  const running = promisify(execFile)(await serverBinary('helm'))
  running.child.stdin?.end(JSON.stringify([rendering]))
  const [{ files, error }] = v.parse(Outcomes, JSON.parse((await running).stdout))
  if (error !== undefined) throw new Error(`the chart is refused: ${error}`)
  const texts = Object.entries(files).filter(([path]) => !path.endsWith('.txt'))
  return texts.map(([, text]) => text).join('\n---\n')
}
