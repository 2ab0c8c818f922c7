import { createPrivateKey, sign } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { NODE_UID, spec } from '../fixtures/facts.ts'
import { until } from '../fixtures/until.ts'
import type { Cluster } from '../servers/cluster.ts'
import { applyManifest, applyManifests } from '../servers/manifests.ts'
import { startAgent } from '../world/agent.ts'
import { reportObject } from '../world/crowd.ts'
import { kubeletIdentity, registerNode } from '../world/kubelet.ts'
import type { ReportObject } from '../world/objects.ts'
import type { Program } from '../world/program.ts'
import { createAgentPod, serviceAccountToken, writeTokenKubeconfig } from '../world/service-account.ts'
import { openOwnStage } from '../world/stage.ts'

const stage = await openOwnStage(t, { vms: 12 })
const { cluster, reports } = stage
const reportPath = (name: string) => `/apis/rollcall.dev/v1alpha1/nodereports/${name}`

t.test('wrong options end it with one line', async (t) => {
  for (const [args, says] of [
    [['--lok=1s'], /^rollcall-agent: --lok: unknown option, did you mean --look\?$/],
    [['--look=often'], /^rollcall-agent: --look: expected a duration such as 90s or 15m, got "often"$/],
    [['--once', '--print'], /^rollcall-agent: --once and --print: give one of the two$/],
  ] as const) {
    const agent = await startAgent({ kubeconfig: '/nowhere', root: stage.dir, args })
    t.equal((await agent.ended).code, 2)
    t.equal(agent.stderr.length, 1)
    t.match(agent.stderr[0], says)
    t.same(agent.stdout, [])
  }
})

t.test('no kubeconfig: said at once, and read again until it is there', async (t) => {
  const member = await stage.member('no-kubeconfig')
  const kubeconfig = join(stage.dir, 'late-kubeconfig')
  const once = await startAgent({ kubeconfig, root: member.root, args: ['--once'] })
  t.equal((await once.ended).code, 1)

  const agent = await startAgent({ kubeconfig, root: member.root })
  t.teardown(() => agent.stop())
  t.match(await logged(agent, 'the report was not sent'), { cause: 'NoCredential' })
  await writeFile(kubeconfig, await readFile(member.kubeconfig))
  await logged(agent, 'report sent')
})

/** Passes connections on to the API server, and counts them; ends those that it does not take. */
async function openProxy(t: Test) {
  const { hostname, port } = new URL(cluster.url)
  let connections = 0
  const server = createServer((client) => {
    connections += 1
    client.on('error', () => undefined)
    // After the first word of the client, which is told of the end in one way then.
    client.once('readable', () => {
      const upstream = connect(Number(port), hostname)
      upstream.on('error', () => client.destroy())
      client.on('close', () => upstream.destroy())
      client.pipe(upstream).pipe(client)
    })
  })
  await once(server.listen(0, hostname), 'listening')
  t.teardown(() => new Promise((resolve) => server.close(resolve)))
  // A TCP server's address is not text.
  const { port: own } = server.address() as AddressInfo
  return { url: `https://${hostname}:${own}`, connections: () => connections }
}

t.test('no API server: says so once, and goes on when there is one', async (t) => {
  const member = await stage.member('no-api-server')
  await cluster.stopApiServer(500)
  const once = await member.agent('--once')
  t.equal((await once.ended).code, 1)
  t.match(await logged(once, 'the report was not sent'), {
    cause: 'NoConnection/ECONNREFUSED',
    next: 'waiting for the API server',
  })
  const proxy = await openProxy(t)
  const kubeconfig = join(stage.dir, 'by-proxy.kubeconfig')
  await writeFile(kubeconfig, (await readFile(member.kubeconfig, 'utf8')).replaceAll(cluster.url, proxy.url))
  const agent = await startAgent({ kubeconfig, root: member.root })
  t.teardown(() => agent.stop())
  await until('it has begun a third attempt', () => proxy.connections() > 2)
  const said = agent.stderr.filter((line) => line.includes('the report was not sent'))
  t.match(JSON.parse(said[0] ?? '{}'), { next: 'waiting for the API server' })
  t.equal(said.length, 1)
  await cluster.startApiServer()
  t.match(await logged(agent, 'report sent'), { node: 'no-api-server' })
  t.equal((await agent.stop()).code, 0)
})

t.test('an expired token: says so, and goes on with the next one', async (t) => {
  const member = await stage.member('expired-token')
  const pod = await createAgentPod(cluster, member.name)
  const kubeconfig = join(stage.dir, 'expired.kubeconfig')
  await writeTokenKubeconfig(kubeconfig, cluster, await expiredToken(cluster))

  const once = await startAgent({ kubeconfig, root: member.root, args: ['--once'] })
  t.equal((await once.ended).code, 1)
  t.match(await logged(once, 'the report was not sent'), { cause: 'identify/401/Unauthorized' })

  const agent = await startAgent({ kubeconfig, root: member.root })
  t.teardown(() => agent.stop())
  t.match(await logged(agent, 'the report was not sent'), { next: /expired/ })
  const token = await serviceAccountToken(cluster, 'rollcall-agent', { pod })
  await writeTokenKubeconfig(kubeconfig, cluster, token)
  t.match(await logged(agent, 'report sent'), { node: member.name, nodeUID: member.uid })
  t.notMatch(agent.output() + once.output(), token, 'no token in the log')
})

t.test('a token that is bound to no Pod speaks for no node', async (t) => {
  const member = await stage.member('unbound-token')
  const kubeconfig = join(stage.dir, 'unbound.kubeconfig')
  await writeTokenKubeconfig(kubeconfig, cluster, await serviceAccountToken(cluster, 'rollcall-agent'))
  const once = await startAgent({ kubeconfig, root: member.root, args: ['--once'] })
  t.equal((await once.ended).code, 1)
  t.match(await logged(once, 'the report was not sent'), {
    cause: 'NoNodeIdentity',
    reason: /bound to a pod/,
  })
})

t.test('no Node yet: waits for the kubelet to register it', async (t) => {
  const [vm] = stage.vms
  const kubeconfig = await cluster.kubeconfig(kubeletIdentity('late-node'))
  const member = await stage.member('another-node')
  const agent = await startAgent({ kubeconfig, root: member.root })
  t.teardown(() => agent.stop())
  t.match(await logged(agent, 'the report was not sent'), {
    cause: 'NodeMissing',
    reason: 'Node "late-node" is not registered yet',
  })
  const { uid } = await registerNode(cluster, { name: 'late-node', biosUUID: vm?.uuid ?? '' })
  t.match(await logged(agent, 'report sent'), { node: 'late-node', nodeUID: uid })
})

t.test('an admission policy refuses: its words are in the log', async (t) => {
  const member = await stage.member('refused')
  await denyReports(cluster, member.name, 'no reports on Sundays')
  const agent = await member.agent()
  t.match(await logged(agent, 'the report was not sent'), {
    cause: /^publish\/4\d\d\//,
    reason: /no reports on Sundays/,
    next: /admission policy/,
  })
  for (const kind of ['validatingadmissionpolicybindings', 'validatingadmissionpolicies']) {
    await cluster.request('DELETE', `/apis/admissionregistration.k8s.io/v1/${kind}/deny.example`)
  }
  await logged(agent, 'report sent')
})

t.test('--print shows the report and sends nothing', async (t) => {
  const member = await stage.member('printed')
  const agent = await member.agent('--print')
  t.equal((await agent.ended).code, 0)
  t.match(JSON.parse(agent.stdout.join('\n')), {
    kind: 'NodeReport',
    metadata: { name: 'printed', ownerReferences: [{ uid: member.uid }] },
    spec: { nodeUID: member.uid, machine: { serialUUID: member.vm.uuid }, claim: { written: false } },
  })
  t.equal((await cluster.request('GET', reportPath('printed'))).status, 404)
  t.equal(await stage.vcsim.getGuestinfo(member.vm.ref, 'guestinfo.rollcall.claim'), undefined)
})

t.test('what the firmware says is bad: the rest of the report goes out', async (t) => {
  const member = await stage.member('bad-firmware')
  const serial = join(member.root, 'sys/class/dmi/id/product_serial')
  const replace = async (content: string | Buffer | 'a folder' | 'nothing') => {
    await rm(serial, { recursive: true, force: true })
    if (content === 'a folder') await mkdir(serial)
    else if (content !== 'nothing') await writeFile(serial, content)
  }
  const garbage = Buffer.alloc(65_536, 'VMware-\u0007\u00ff ')
  for (const [what, content, reason] of [
    ['missing', 'nothing', 'NotFound'],
    ['unreadable', 'a folder', 'Unreadable'],
    ['empty', '\n', 'Empty'],
    ['not VMware', 'PF2ABCDE\n', 'NotVMware'],
    ['too short', 'VMware-42 0e\n', 'Malformed'],
    ['all zeros', `VMware-${'00 '.repeat(16)}\n`, 'NotSet'],
    ['64 kB of garbage', garbage, /TooLong|Malformed/],
  ] as const) {
    await replace(content)
    const agent = await member.agent('--once')
    t.equal((await agent.ended).code, 0, what)
    const { body } = await cluster.request<ReportObject>('GET', reportPath('bad-firmware'))
    t.equal(body.spec.machine.serialUUID, undefined, what)
    t.match(body.spec.unreadable, [{ reason, message: /product_serial/ }], what)
    t.match(body.spec, { machine: { vendor: 'VMware, Inc.' }, interfaces: [{ name: 'ens192' }] }, what)
    t.ok(JSON.stringify(body.spec).length < 4096, what)
    t.match(await logged(agent, 'a fact cannot be read'), { cause: reason }, what)
  }
})

t.test('everything is 64 kB of garbage, and still a report goes out', async (t) => {
  const member = await stage.member('garbage')
  const garbage = Buffer.from(Array.from({ length: 65_536 }, (_, i) => (i * 7919) % 256))
  for (const path of [
    ...['sys_vendor', 'product_name', 'product_serial', 'product_uuid'].map((id) => `sys/class/dmi/id/${id}`),
    ...['sys/class/net/ens192/address', 'proc/net/route', 'proc/net/if_inet6', 'proc/net/ipv6_route'],
    ...['proc/sys/kernel/random/boot_id', 'proc/sys/kernel/hostname', 'run/rollcall/network-interfaces.json'],
  ]) {
    await writeFile(join(member.root, path), garbage)
  }
  const agent = await member.agent('--once')
  t.equal((await agent.ended).code, 0)
  await reports.until('the report is there', () => reports.last('garbage') !== undefined)
  const spec = reports.last('garbage')?.spec
  t.match(spec, { nodeUID: member.uid, machine: {}, interfaces: [] })
  t.ok((spec?.unreadable?.length ?? 0) >= 6)
})

t.test('no CRD: says what to apply, and goes on once it is there', async (t) => {
  const member = await stage.member('no-crd')
  const crd = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodereports.rollcall.dev'
  await cluster.request('DELETE', crd)
  await until('the CRD is gone', async () => (await cluster.request('GET', crd)).status === 404)
  const once = await member.agent('--once')
  t.equal((await once.ended).code, 1)
  t.match(await logged(once, 'the report was not sent'), { cause: /^publish\/404/, next: /CRD/ })
  const agent = await member.agent()
  await logged(agent, 'the report was not sent')
  await applyManifests(cluster, ['crd.yaml'])
  await logged(agent, 'report sent')
})

/** A token as the API server would have signed it for the agent's account, an hour too old. */
async function expiredToken(cluster: Cluster): Promise<string> {
  const account = await cluster.request<{ metadata: { uid: string } }>(
    'GET',
    '/api/v1/namespaces/kube-system/serviceaccounts/rollcall-agent',
  )
  const now = Math.floor(Date.now() / 1000)
  const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const payload = {
    iss: 'https://kubernetes.default.svc',
    aud: ['https://kubernetes.default.svc'],
    sub: 'system:serviceaccount:kube-system:rollcall-agent',
    iat: now - 7200,
    nbf: now - 7200,
    exp: now - 3600,
    'kubernetes.io': {
      namespace: 'kube-system',
      serviceaccount: { name: 'rollcall-agent', uid: account.body.metadata.uid },
    },
  }
  const text = `${encode({ alg: 'ES256', typ: 'JWT' })}.${encode(payload)}`
  const key = createPrivateKey(await readFile(cluster.tokenKeyFile))
  const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' })
  return `${text}.${signature.toString('base64url')}`
}

/** Applies a policy that refuses every report with these words, and waits until it refuses that of `node`. */
async function denyReports(cluster: Cluster, node: string, message: string): Promise<void> {
  const apiVersion = 'admissionregistration.k8s.io/v1'
  const metadata = { name: 'deny.example' }
  await applyManifest(cluster, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata,
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: ['rollcall.dev'],
            apiVersions: ['*'],
            resources: ['nodereports'],
            operations: ['CREATE', 'UPDATE'],
          },
        ],
      },
      validations: [{ expression: 'false', message }],
    },
  } as Parameters<typeof applyManifest>[1])
  await applyManifest(cluster, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata,
    spec: { policyName: metadata.name, validationActions: ['Deny'] },
  } as Parameters<typeof applyManifest>[1])
  const kubelet = await cluster.as(kubeletIdentity(node))
  const probe = reportObject({ name: node, uid: NODE_UID, spec: spec() })
  await until('the policy is in force', async () => {
    const path = '/apis/rollcall.dev/v1alpha1/nodereports?dryRun=All'
    const { body } = await kubelet.request<{ message?: string }>('POST', path, probe)
    return body.message?.includes(message)
  })
}

/** The fields of a log line with this message; fails where none came in time. */
async function logged(agent: Program, msg: string): Promise<Record<string, unknown>> {
  const line = await agent.says(new RegExp(`^.*"msg":"${msg}"\\}$`, 'm'))
  return JSON.parse(line)
}
