import t from 'tap'
import { until } from '../fixtures/until.ts'
import { vsphereConf } from '../world/controller.ts'
import { claimAll, prepareReports, registerCrowd } from '../world/crowd.ts'
import { condition, isInitialized } from '../world/objects.ts'
import { mountSecret } from '../world/secret-mount.ts'
import { openStage } from '../world/stage.ts'

// The configuration changes while writes are on their way to the API server.
const NODES = 12
const CONF = 'vsphere.conf'
const stage = await openStage(t, { vms: NODES })
const { cluster, nodes, reports, vcsim } = stage
const proxy = await stage.line()

t.test('they are finished, and none is sent twice', async (t) => {
  // With the arguments of the CPI it would be `asserted`, and no Node would wait for its report.
  const require = 'reported'
  const secret = await mountSecret(`${stage.dir}/secret`, { [CONF]: vsphereConf(vcsim, { require }) })
  const controller = await stage.controller({
    cluster: proxy.cluster,
    configFile: secret.path(CONF),
    // Its Lease is not renewed either for as long as no write arrives.
    cpiArguments: [
      '--cloud-provider=vsphere',
      '--cloud-config=/etc/cloud/vsphere.conf',
      '--leader-elect-lease-duration=600s',
      '--leader-elect-renew-deadline=500s',
    ],
  })
  const members = await registerCrowd(cluster, stage.vms)
  await claimAll(vcsim, members)
  const load = await prepareReports(cluster, members)
  t.teardown(() => load.close())
  // Reports are seen, and no write arrives before the configuration is loaded.
  proxy.set('mute')
  await load.write()
  await until('writes are on their way', () => proxy.held() >= NODES)
  await secret.write({ [CONF]: vsphereConf(vcsim, { require, lifecycle: { confirmations: 4 } }) })
  await controller.says(/configuration loaded/)
  t.notOk(members.some(({ name }) => nodes.of(name).length > 1))
  proxy.set('works')

  await nodes.until('all are initialized', () => members.every(({ name }) => isInitialized(nodes.last(name))))
  await reports.until('all have a status', () =>
    members.every(({ name }) => condition(reports.last(name), 'Initialized')?.status === 'True'),
  )
  for (const { name } of members) {
    t.equal(nodes.of(name).length, 3, `${name} is written twice: addresses, then the rest`)
  }
  // Each write is answered, and changes something: where one were sent twice, the second would change nothing, and there
  // would be more writes than versions. How many statuses there are, the time tells that the writes take: one that was
  // put off for long is written as it stands.
  const versions = () => members.reduce((sum, { name }) => sum + reports.of(name).length - 1, 0)
  const patches = await until('there are as many writes as versions', async () => {
    const text = await controller.metrics()
    // Refused is the trial write by which the policy is proven.
    const lines = text
      .split('\n')
      // One that is held for longer than a Node's writes may take counts as not answered, and what it says is sent again.
      .filter(
        (line) => line.startsWith('rollcall_api_requests_total{method="PATCH"') && !/code="none"/.test(line),
      )
      .filter((line) => !/code="(403|none)"/.test(line))
    const ofReports = `rollcall_api_requests_total{method="PATCH",resource="nodereports",code="ok"} ${versions()}`
    return lines.includes(ofReports) && lines.filter((line) => line !== ofReports)
  })
  const [ofNodes = '', ...others] = patches
  t.match(ofNodes, /^rollcall_api_requests_total\{method="PATCH",resource="nodes",code="ok"\} \d+$/)
  t.same(others, [])
  // Of one that counts as not answered the API server may have heard all the same: there is one fewer then, never one more.
  t.ok(Number(ofNodes.split(' ').at(-1)) <= NODES * 2, ofNodes)
})
