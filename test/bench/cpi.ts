import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { type Program, startProgram } from '../fixtures/program.ts'
import { freePort } from '../servers/ports.ts'
import { LABELS, type Scene } from './scene.ts'

export interface Cpi {
  /** The binary vsphere-cloud-controller-manager. */
  readonly binary: string
  /** `--concurrent-node-syncs`; 1 is its default. */
  readonly workers: number
}

/** Starts the vSphere CPI with a configuration that says what ours says. */
export async function startCpi(scene: Scene, { binary, workers }: Cpi): Promise<Program> {
  const { cluster, vcsim, dir } = scene
  const config = join(dir, 'cpi.conf')
  await writeFile(
    config,
    stringify({
      global: { insecureFlag: true },
      vcenter: {
        main: {
          server: vcsim.host,
          port: vcsim.port,
          user: vcsim.username,
          password: vcsim.password,
          datacenters: ['DC0'],
        },
      },
      labels: LABELS,
    }),
    { mode: 0o600 },
  )
  return startProgram({
    command: binary,
    args: [
      '--cloud-provider=vsphere',
      `--cloud-config=${config}`,
      `--kubeconfig=${cluster.adminKubeconfig}`,
      '--leader-elect=false',
      '--bind-address=127.0.0.1',
      `--secure-port=${await freePort()}`,
      `--cert-dir=${dir}`,
      '--authentication-skip-lookup=true',
      '--controllers=cloud-node-controller,cloud-node-lifecycle-controller',
      `--concurrent-node-syncs=${workers}`,
    ],
    env: { HOME: dir, TMPDIR: dir },
  })
}
