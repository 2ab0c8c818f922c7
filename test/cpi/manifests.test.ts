// What the CPI's chart and manifests deploy starts the controller as it stands: file, Secrets, arguments.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { applyManifest, readManifests } from '../servers/manifests.ts'
import { startVcsim, type Vcsim } from '../servers/vcsim.ts'
import { isInitialized } from '../world/objects.ts'
import { mountSecret } from '../world/secret-mount.ts'
import { openStage, REGION_CATEGORY } from '../world/stage.ts'
import { openFront } from '../world/vcenter-front.ts'
import { type Access, chart, firstReleases, releases, type Shape } from './shapes.ts'

const lists = join(import.meta.dirname, 'argument-lists.yaml')
const ARGUMENTS: Record<Shape['args'], string[]> = parse(readFileSync(lists, 'utf8'))

const stage = await openStage(t, { dcs: 2, vms: 12, password: 'pa"s#s: x' })
const { cluster, nodes } = stage
// With the datacenters that the files name for both.
const other = await startVcsim({
  dcs: 2,
  vms: 8,
  seed: 'second',
  user: 'tenant@vsphere.local',
  password: 'an=other',
})
t.teardown(() => other.stop())
await other.tag({ category: REGION_CATEGORY, tag: 'region-2', object: 'DC0' })
const otherVMs = await other.vms()

async function access(vcsim: Vcsim): Promise<Access> {
  const front = await openFront(vcsim)
  t.teardown(() => front.close())
  return { ...vcsim, ...front }
}
const [first, second] = await Promise.all([access(stage.vcsim), access(other)])

const [, ...rights] = await readManifests('../credentials.example.yaml')
const names = ['vsphere-cloud-secret', 'cpi-engineering-secret', 'own-secret', 'vccm']
for (const right of rights) {
  const text = JSON.stringify(right).replace('["vsphere-cloud-secret"]', JSON.stringify(names))
  await applyManifest(cluster, JSON.parse(text))
}

interface Trial {
  readonly name: string
  readonly shape: Shape
  /** All warnings about the file and the arguments, except those that the CPI's arguments always cause. */
  readonly warnings?: readonly RegExp[]
  /** One machine of each is initialized, and gets this region. */
  readonly regions: readonly [string | undefined, string?]
}

const trials: readonly Trial[] = [
  {
    name: 'chart',
    shape: chart({ vcenter: first, datacenter: 'DC0' }),
    regions: ['region-1'],
  },
  {
    name: 'chart-and-all-its-values',
    shape: chart(
      {
        // The address that its certificate is for.
        vcenter: stage.vcsim,
        datacenter: 'DC0,DC1',
        region: '',
        zone: '',
        caFile: stage.vcsim.certificateFile,
        nodes: {
          internalNetworkSubnetCidr: '10.0.0.0/8',
          externalVmNetworkName: 'VM Network',
          excludeInternalNetworkSubnetCidr: '10.0.0.9/32,fe80::1/128',
        },
      },
      'chart-with-more',
    ),
    regions: [undefined],
  },
  {
    name: 'chart-with-a-secret-of-its-own',
    shape: chart({
      vcenter: first,
      datacenter: 'DC0',
      thumbprint: stage.vcsim.thumbprint,
      secretName: 'own-secret',
    }),
    regions: ['region-1'],
  },
  {
    name: 'releases',
    shape: releases(first, second),
    warnings: ['user', 'password'].map(
      (key) =>
        new RegExp(
          `vcenter\\.your-vcenter-name-here\\.${key}: has no effect because the Secret or folder is`,
        ),
    ),
    regions: ['region-1', 'region-2'],
  },
  {
    name: 'first-releases',
    shape: firstReleases(first, second, 'inline'),
    regions: ['region-1', 'region-2'],
  },
  {
    name: 'first-releases-and-a-secret',
    shape: firstReleases(first, second, 'secret'),
    warnings: [/global\.serviceAccount: has no effect because the Pod names its account/],
    regions: ['region-1', 'region-2'],
  },
]

for (const { name, shape, warnings = [], regions } of trials)
  t.test(name, async (t) => {
    for (const secret of shape.secrets) await write(secret)
    // The kubelet mounts a ConfigMap as it does a Secret.
    const mount = await mountSecret(join(stage.dir, `etc-cloud-${name}`), { 'vsphere.conf': shape.file })
    const controller = await stage.controller({
      cpiArguments: ARGUMENTS[shape.args],
      configFile: mount.path('vsphere.conf'),
      // Other tests run on this machine, too.
      args: ['--secure-port=0'],
    })
    t.teardown(() => controller.stop())
    // What is found in vCenter meanwhile is another matter.
    const told = controller.stderr.flatMap((line) => {
      const {
        level,
        vCenter,
        warning,
        notice = warning,
      }: Record<string, string | undefined> = JSON.parse(line)
      return level === 'warn' && (vCenter === undefined || notice !== undefined) ? [notice ?? line] : []
    })
    const rest = told.filter((text) => !text.startsWith('command line: identity.require: '))
    const insecure = /insecure-?flag\W+(true|1)/i.test(shape.file) ? [/no certificate is checked/] : []
    t.equal(rest.length, warnings.length + insecure.length, rest.join('\n'))
    for (const each of [...warnings, ...insecure])
      t.ok(
        rest.some((text) => each.test(text)),
        `${each} is told`,
      )
    await initializes(stage.vcsim, `${name}-1`, regions[0])
    if (regions[1] !== undefined) await initializes(other, `${name}-2`, regions[1])
  })

async function write({ name, stringData }: Shape['secrets'][number]): Promise<void> {
  const path = '/api/v1/namespaces/kube-system/secrets'
  await cluster.request('DELETE', `${path}/${name}`)
  const { status } = await cluster.request('POST', path, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'kube-system' },
    stringData,
  })
  t.equal(status, 201)
}

let members = 0

/** Registers a Node without an agent, for a machine in the first datacenter, and waits for it. */
async function initializes(vcsim: Vcsim, name: string, region: string | undefined): Promise<void> {
  const vms = vcsim === other ? otherVMs : stage.vms
  const index = vms.findIndex(({ datacenter }) => datacenter === 'DC0')
  const [vm] = vms.splice(index, 1)
  if (vm === undefined) throw new Error('every virtual machine has a Node')
  members += 1
  const addresses = [`10.7.0.${members}/24`]
  await vcsim.setGuest({ vm: vm.ref, hostName: name, nics: [{ addresses }] })
  await stage.member(name, { vm })
  await nodes.until('it is initialized', () => isInitialized(nodes.last(name)))
  t.equal(nodes.last(name)?.spec.providerID, `vsphere://${vm.uuid}`)
  t.equal(nodes.last(name)?.metadata.labels?.['topology.kubernetes.io/region'], region)
}
