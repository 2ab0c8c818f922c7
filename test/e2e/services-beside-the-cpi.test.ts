/** The CPI itself keeps serving Services and routes through NSX, for Nodes that Rollcall initializes. */
import t from 'tap'
import { cpiObject } from '../../controller/cpi/interlock/testing/cpi-object.ts'
import { until } from '../fixtures/until.ts'
import { applyManifest } from '../servers/manifests.ts'
import { startNSX } from '../servers/nsx.ts'
import { vsphereConf } from '../world/controller.ts'
import { startCPI } from '../world/cpi.ts'
import { level } from '../world/objects.ts'
import type { Program } from '../world/program.ts'
import { LABELS, openStage } from '../world/stage.ts'

const ARGS = ['--controllers=service,route', '--allocate-node-cidrs=true', '--cluster-cidr=10.244.0.0/16']
const TIER1 = '/infra/tier-1s/t1'
const SERVICE = '/api/v1/namespaces/default/services/web'

const stage = await openStage(t, { vms: 2 })
const { cluster, vcsim, nodes, dir } = stage
const nsx = await startNSX(dir)
t.teardown(() => nsx.stop())
const config = `${vsphereConf(vcsim, { labels: LABELS })}
nsxt: {host: '${nsx.host}', user: admin, password: p, insecureFlag: true}
loadBalancer:
  size: SMALL
  tier1GatewayPath: ${TIER1}
  ipPoolId: pool
  tcpAppProfilePath: /infra/lb-app-profiles/tcp
  udpAppProfilePath: /infra/lb-app-profiles/udp
route: {routerPath: ${TIER1}}
`
await applyManifest(cluster, cpiObject(ARGS))
t.teardown(() => cluster.request('DELETE', '/apis/apps/v1/namespaces/kube-system/daemonsets/cpi'))
let cpi = await neighbor()
await stage.controller({ require: 'asserted' })

t.test('a Node that registers without an address becomes a member of a pool', async (t) => {
  const first = await join('worker-1', '10.244.1.0/24')
  await applyManifest(cluster, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'default', name: 'web' },
    spec: { type: 'LoadBalancer', ports: [{ port: 80 }] },
  } as Parameters<typeof applyManifest>[1])
  t.teardown(async () => {
    await cluster.request('PATCH', SERVICE, { metadata: { finalizers: null } })
    await cluster.request('DELETE', SERVICE)
  })
  await until('it has an address of the pool', async () => {
    const { body } = await cluster.request<{ status: { loadBalancer: { ingress?: { ip: string }[] } } }>(
      'GET',
      SERVICE,
    )
    return body.status.loadBalancer.ingress?.[0]?.ip === '203.0.113.1'
  })
  t.strictSame(members(), [first])
  const second = await join('worker-2', '10.244.2.0/24')
  await until('so does one that joins later', () => members().includes(second))
  t.strictSame(members(), [first, second].sort())
})

t.test('it has no route until the CPI is restarted, as plan and doctor say', async (t) => {
  await cpi.says(/has neither InternalIP nor ExternalIP/)
  t.strictSame(routes(), [])
  await cpi.stop()
  cpi = await neighbor()
  await until('it makes them', () => routes().length === 2)
  t.strictSame(routes().toSorted(), ['10.244.1.0/24', '10.244.2.0/24'])
})

/** Registers a Node without `--node-ip`, waits until Rollcall has initialized it, and returns its address. */
async function join(name: string, podCIDR: string): Promise<string> {
  const member = await stage.member(name, { tools: true })
  await stage.patch(name, { spec: { podCIDR, podCIDRs: [podCIDR] } })
  await nodes.until(`Rollcall initializes ${name}`, () => level(nodes.last(name)) === 'asserted')
  return member.address
}

async function neighbor(): Promise<Program> {
  const started = await startCPI({ cluster, dir, config, args: ['-v=4', ...ARGS] })
  t.teardown(() => started.stop())
  return started
}

/** The addresses of the members of a pool, in their order. */
function members(): readonly string[] {
  const [pool] = nsx.objects('lb-pools')
  const list = (pool?.members ?? []) as readonly { readonly ip_address: string }[]
  return list.map(({ ip_address }) => ip_address).sort()
}

function routes(): readonly unknown[] {
  return nsx.objects('static-routes').map(({ network }) => network)
}
