/** What is broken, and the first failing line of `rollcall-controller doctor`, which must name it. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { Line } from '../../agent/shared/diagnosis.ts'
import { root } from '../../build/programs.ts'
import { cpiObject } from '../../controller/cpi/interlock/testing/cpi-object.ts'
import { withTroubles } from '../../controller/kubernetes/lease-troubles.ts'
import { until } from '../fixtures/until.ts'
import { serverBinary } from '../servers/build.ts'
import { applyManifest, applyManifests, type Manifest } from '../servers/manifests.ts'
import { createCertificateAuthority } from '../servers/pki.ts'
import { CLOSED_PORT } from '../servers/ports.ts'
import { vsphereConf } from '../world/controller.ts'
import { runProgram, startProgram } from '../world/program.ts'
import { LABELS, openStage, ZONE_CATEGORY } from '../world/stage.ts'
import { startWrongClock } from '../world/wrong-clock.ts'

const PASSWORD = 'correct-horse-7f3a'
const FOLDER = 'workers'
const stage = await openStage(t, { vms: 2, password: PASSWORD })
const { cluster, vcsim } = stage
const [first] = stage.vms
if (first === undefined) throw new Error('there are two')
await vcsim.govc('folder.create', `/DC0/vm/${FOLDER}`)
await vcsim.move({ vm: first.ref, folder: `/DC0/vm/${FOLDER}` })
const good = vsphereConf(vcsim, { labels: LABELS, datacenters: ['DC0'] })
const controller = await stage.controller({ config: good })
await stage.initialized('worker-1')
const otherCA = await createCertificateAuthority(stage.dir)
const wrongClock = await startWrongClock(vcsim, stage.dir, -600_000)
t.teardown(() => wrongClock.stop())

const conf = (from: string | RegExp, to: string) => good.replace(from, to)

t.test('where all is well, no line fails', async (t) => {
  const seen = await doctor()
  t.same(failures(seen), [])
  t.equal(seen.code, 0)
  t.same(
    seen.lines.filter(({ status }) => status === 'skip'),
    [],
  )
  t.notMatch(seen.output, PASSWORD)
})

t.test('with the credential of the Pod, what it may not see is said, and nothing fails', async (t) => {
  const seen = await doctor(good, controller.kubeconfig)
  t.same(failures(seen), [])
  t.equal(seen.code, 0)
  const of = (check: string) => seen.lines.find((line) => line.check === check)
  t.match(of('admission policies'), { status: 'ok', message: /forged report is refused/ })
  t.match(of('RBAC of the controller'), { status: 'ok' })
  t.match(of('RBAC of the agents'), { status: 'skip', message: /administrator/ })
})

t.test('for people it is a table', async (t) => {
  const args = [`--config=${controller.configFile}`, `--kubeconfig=${controller.kubeconfig}`]
  const { code, output } = await runProgram('rollcall-controller', 'doctor', ...args)
  t.equal(code, 0)
  t.match(output, /^ok {4}vCenter main: login +user and password are accepted$/m)
  t.match(output, /^\d+ ok, \d warn, 0 fail, \d+ skip$/m)
})

t.test('without a file, the configuration is that of the Secret', async (t) => {
  const { request } = cluster
  const kubeconfig = `--kubeconfig=${cluster.adminKubeconfig}`
  const name = 'rollcall-config'
  const make = (files: Record<string, string>) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'kube-system', name },
    data: Object.fromEntries(
      Object.entries(files).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
    ),
  })
  const SECRET = `/api/v1/namespaces/kube-system/secrets/${name}`
  const first = async (...args: string[]) => (await diagnose(...args)).lines[0]

  t.match(await first(kubeconfig), {
    check: 'configuration',
    status: 'fail',
    message: /the Secret kube-system\/rollcall-config does not exist: .*--config-secret, or .*--config$/,
  })
  // As the Pod has them, mounted side by side.
  const certificate = await readFile(vcsim.certificateFile, 'utf8')
  const written = good.replace(/caFile: .*/, 'caFile: /etc/rollcall/ca.crt')
  t.match(
    await request(
      'POST',
      SECRET.replace(/\/[^/]*$/, ''),
      make({ 'vsphere.conf': written, 'ca.crt': certificate }),
    ),
    { status: 201 },
  )
  const seen = await diagnose(kubeconfig)
  t.same(failures(seen), [])
  t.match(seen.lines[0], {
    status: 'ok',
    message: 'Secret kube-system/rollcall-config/vsphere.conf has 1 vCenter (main)',
  })
  t.notMatch(seen.output, PASSWORD)
  t.match(
    await first(`--kubeconfig=${controller.kubeconfig}`),
    { status: 'skip', message: /this account may not get the Secret kube-system\/rollcall-config: use the/ },
    'the controller itself has no right to it',
  )
  t.match(await first('--kubeconfig=/nowhere'), {
    status: 'fail',
    message:
      /no API server to read the configuration from: cannot read the kubeconfig \/nowhere: .*, or name the file with --config$/,
  })
  t.match(await first(kubeconfig, '--namespace=default', '--config-secret=mine'), {
    message: /the Secret default\/mine does not exist/,
  })

  t.match(await request('PUT', SECRET, make({ 'vsphere.conf': conf('port:', 'prot:') })), { status: 200 })
  t.match(await first(kubeconfig), {
    status: 'fail',
    message: /^Secret kube-system\/rollcall-config\/vsphere\.conf:\d+:\d+: .*prot: .*did you mean "?port/,
  })
  t.match(await request('PUT', SECRET, make({ 'vsphere.yaml': good })), { status: 200 })
  t.match(await first(kubeconfig), { message: /has no key vsphere\.conf, only vsphere\.yaml: / })
  t.match(await request('DELETE', SECRET), { status: 200 })
})

t.test('who may do nothing is told of nothing that is wrong', async (t) => {
  const nobody = await cluster.kubeconfig({ user: 'nobody', groups: [] })
  const fromSecret = conf(/user: .*\n *password: .*/, 'secretName: vsphere\n    secretNamespace: kube-system')
  for (const seen of [await doctor(fromSecret, nobody), await diagnose(`--kubeconfig=${nobody}`)]) {
    t.same(failures(seen), [])
    t.equal(seen.code, 0)
    t.ok(seen.lines.filter(({ status }) => status === 'skip').length > 8)
  }
})

interface Case {
  readonly what: string
  /** By default the good one. */
  readonly config?: string
  readonly kubeconfig?: string
  /** Resolves with what undoes it. */
  readonly breaks?: () => Promise<() => Promise<unknown>>
  readonly check: string
  readonly says: RegExp
}

const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'
const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
const MERGE = { contentType: 'application/merge-patch+json' } as const
const POLICY = `${ADMISSION}/validatingadmissionpolicies/update-node.rollcall.dev`
const BINDING = `${ADMISSION}/validatingadmissionpolicybindings/update-node.rollcall.dev`
const OF_TEAM = { matchLabels: { team: 'a' } }
const RULES = [{ apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: ['*'] }]
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodereports.rollcall.dev'

const cases: readonly Case[] = [
  {
    what: 'a mistake in the file',
    config: conf('port:', 'prot:'),
    check: 'configuration',
    says: /prot: .*did you mean "?port/,
  },
  {
    what: 'a kubeconfig that leads nowhere',
    kubeconfig: '/nowhere/kubeconfig',
    check: 'API server',
    says: /cannot read the kubeconfig/,
  },
  {
    what: 'a name that DNS does not know',
    config: conf(/server: .*/, 'server: vcenter.invalid'),
    check: 'vCenter main: DNS',
    says: /vcenter\.invalid cannot be resolved/,
  },
  {
    what: 'a port at which nobody listens',
    config: conf(/port: \d+/, `port: ${CLOSED_PORT}`),
    check: 'vCenter main: TCP',
    says: /ECONNREFUSED\); nothing listens there/,
  },
  {
    what: 'a CA that has not signed it',
    config: conf(/caFile: .*/, `caFile: ${otherCA.caFile}`),
    check: 'vCenter main: TLS',
    says: /not trusted by the configured CA/,
  },
  {
    what: 'a thumbprint of another certificate',
    config: conf(/caFile: .*/, `thumbprint: "${'ab'.repeat(20)}"`),
    check: 'vCenter main: TLS',
    says: /thumbprint .* where .* is configured/,
  },
  {
    what: 'a Secret that is not there',
    config: conf(/user: .*\n *password: .*/, 'secretName: vsphere\n    secretNamespace: kube-system'),
    check: 'vCenter main: credential',
    says: /the Secret kube-system\/vsphere does not exist/,
  },
  {
    what: 'a wrong password',
    config: conf(PASSWORD, 'wrong-horse-9c1d'),
    check: 'vCenter main: login',
    says: /refuses the user .* with the configured password/,
  },
  {
    what: 'a privilege that is missing on one folder',
    breaks: async () => {
      await vcsim.revoke({ object: FOLDER })
      return () => vcsim.restore()
    },
    check: 'vCenter main: privileges',
    says: /lacks System\.View and System\.Read on Folder "workers"/,
  },
  {
    what: 'a datacenter that is not there',
    config: conf('DC0', 'DC9'),
    check: 'vCenter main: datacenters',
    says: /^DC9 .*match none that the account can see \(\/DC0\)/,
  },
  {
    what: 'a tag category that is not there',
    config: conf(ZONE_CATEGORY, 'k8s-zonk'),
    check: 'vCenter main: tag categories',
    says: /no tag category k8s-zonk/,
  },
  {
    what: 'a clock of vCenter that is ten minutes late',
    config: conf(/port: \d+/, `port: ${wrongClock.port}`).replace(
      /caFile: .*/,
      `caFile: ${wrongClock.caFile}`,
    ),
    check: 'vCenter main: clock',
    says: /is (59\d|60\d) s behind/,
  },
  {
    what: 'a policy without its binding',
    breaks: without(
      `${ADMISSION}/validatingadmissionpolicybindings/own-report.rollcall.dev`,
      'policy-own-report.yaml',
    ),
    check: 'admission policies',
    says: /own-report\.rollcall\.dev has no binding/,
  },
  narrowed(
    'a policy and a binding that hold less in several ways',
    [
      [
        POLICY,
        {
          failurePolicy: 'Ignore',
          matchConstraints: { objectSelector: OF_TEAM },
          matchConditions: [{ name: 'never', expression: 'false' }],
          validations: [{ expression: 'true' }],
        },
      ],
      [BINDING, { matchResources: { objectSelector: OF_TEAM } }],
    ],
    'failurePolicy, matchConstraints, matchConditions, validations, matchResources of its binding',
  ),
  narrowed(
    'a binding for some namespaces',
    [[BINDING, { matchResources: { namespaceSelector: OF_TEAM } }]],
    'matchResources of its binding',
  ),
  narrowed(
    'a binding with exceptions',
    [[BINDING, { matchResources: { excludeResourceRules: RULES } }]],
    'matchResources of its binding',
  ),
  {
    what: 'a password with the carriage return of a Windows file',
    config: conf(/user: .*\n *password: .*/, 'secretName: vsphere\n    secretNamespace: kube-system'),
    breaks: async () => {
      const path = '/api/v1/namespaces/kube-system/secrets'
      const [user, password] = [`${vcsim.host}.username`, `${vcsim.host}.password`]
      await cluster.request('POST', path, {
        metadata: { name: 'vsphere' },
        stringData: { [user]: vcsim.username, [password]: `${PASSWORD}\r\n` },
      })
      return () => cluster.request('DELETE', `${path}/vsphere`)
    },
    check: 'vCenter main: login',
    says: /refuses the user .*; the Secret kube-system\/vsphere has a password .* carriage return, which is a part/,
  },
  {
    what: 'a policy that was removed, for the controller itself',
    kubeconfig: controller.kubeconfig,
    breaks: without(
      `${ADMISSION}/validatingadmissionpolicybindings/own-report.rollcall.dev`,
      'policy-own-report.yaml',
    ),
    check: 'admission policies',
    says: /reports may be forged/,
  },
  {
    what: 'a controller without rights',
    breaks: without(`${BINDINGS}/rollcall-controller`, 'rbac.yaml'),
    check: 'RBAC of the controller',
    says: /rollcall-controller may not list nodes in the cluster.*; apply rbac\.yaml/,
  },
  {
    what: 'agents without rights',
    breaks: without(`${BINDINGS}/rollcall-agent`, 'rbac.yaml'),
    check: 'RBAC of the agents',
    says: /rollcall-agent may not create nodereports/,
  },
  {
    what: 'a Node whose agent does not report',
    config: `${good}\nidentity: {require: reported}\n`,
    breaks: async () => {
      const { name } = await stage.member('worker-2')
      return () => stage.remove(name)
    },
    check: 'agents',
    says: /1 of 2 Nodes without a report from an agent \(worker-2\)/,
  },
  {
    what: 'a second leader, by another Lease',
    breaks: secondLeader,
    check: 'Lease',
    says: /^controller-0_\w+ leads by the Lease kube-system\/rollcall-controller, but another-leader leads by the Lease kube-system\/other: /,
  },
  {
    what: 'a CPI that runs as well',
    breaks: secondCPI,
    check: 'vSphere CPI',
    says: /Nodes are left to the vSphere CPI: DaemonSet kube-system\/cpi/,
  },
]

for (const { what, config, kubeconfig, breaks, check, says } of cases) {
  t.test(what, async (t) => {
    const mend = await breaks?.()
    try {
      // The API server takes a moment to act on what was changed.
      const seen = await until(`the first failing line is "${check}"`, async () => {
        const seen = await doctor(config, kubeconfig)
        return (breaks === undefined || failures(seen)[0]?.check === check) && seen
      })
      t.match(failures(seen)[0], { check, message: says }, seen.output)
      t.equal(seen.code, 1)
      t.notMatch(seen.output, /horse/)
      t.notMatch(seen.output, /\n {4}at /, 'no stack')
    } finally {
      await mend?.()
    }
  })
}

t.test('nobody leads', async (t) => {
  await controller.stop()
  const seen = await doctor()
  t.match(failures(seen)[0], { check: 'Lease', message: /no replica holds the Lease kube-system\// })
})

t.test('a CRD of an earlier version, and none', async (t) => {
  const { body } = await cluster.request<{ spec: { versions: object[] } }>('GET', CRD)
  const text = JSON.stringify(body.spec.versions)
  const versions: object[] = JSON.parse(text.replace(/,?"brakeEngagedFor":\{[^}]*\}/, ''))
  t.equal((await cluster.request('PATCH', CRD, { spec: { versions } }, MERGE)).status, 200)
  const failing = (says: RegExp) => async () => {
    const [first] = failures(await doctor())
    return first?.check === 'CRD' && says.test(first.message)
  }
  t.ok(await until('it lacks a field', failing(/lacks status\.brakeEngagedFor; apply its crd\.yaml/)))
  await cluster.request('DELETE', CRD)
  t.ok(await until('it is not there', failing(/serves no NodeReports/)))
})

t.test(
  'each attempt with the wrong password is counted, and the limit of the leader holds for it',
  async (t) => {
    await vcsim.resetCalls()
    const wrong = good.replace(PASSWORD, 'wrong-horse-9c1d')
    const says = async () => failures(await doctor(wrong))[0]?.message
    for (let attempts = 0; !/no further login to /.test((await says()) ?? ''); attempts++) t.ok(attempts < 4)
    t.ok(((await vcsim.calls()).operations.Login ?? 0) <= 4)
  },
)

function failures({ lines }: Diagnosis): readonly Line[] {
  return lines.filter(({ status }) => status === 'fail')
}

async function doctor(config = good, kubeconfig = cluster.adminKubeconfig): Promise<Diagnosis> {
  const configFile = join(stage.dir, 'doctor.conf')
  await writeFile(configFile, config, { mode: 0o600 })
  return diagnose(`--config=${configFile}`, `--kubeconfig=${kubeconfig}`)
}

async function diagnose(...args: string[]): Promise<Diagnosis> {
  const { code, text, output } = await runProgram('rollcall-controller', 'doctor', ...args, '--output=json')
  if (!text.startsWith('{')) throw new Error(`doctor said no JSON: ${output}`)
  const { checks }: { checks: Line[] } = JSON.parse(text)
  return { code, lines: checks, output }
}

interface Diagnosis {
  readonly code: number | null
  readonly lines: readonly Line[]
  readonly output: string
}

function without(path: string, file: string) {
  return async () => {
    await cluster.request('DELETE', path)
    return () => applyManifests(cluster, [file])
  }
}

/** The case of a policy, or its binding, that is there and holds less. */
function narrowed(
  what: string,
  changes: readonly (readonly [path: string, spec: object])[],
  fields: string,
): Case {
  return {
    what,
    async breaks() {
      for (const [path, spec] of changes) {
        const { status } = await cluster.request('PATCH', path, { spec }, MERGE)
        if (status !== 200) throw new Error(`the change is answered with ${status}`)
      }
      return async () => {
        const file = join(root, 'manifests/base/policy-update-node.yaml')
        const args = [`--kubeconfig=${cluster.adminKubeconfig}`, 'replace', '-f', file]
        await using kubectl = startProgram({ command: await serverBinary('kubectl'), args })
        if ((await kubectl.ended).code !== 0) throw new Error(kubectl.output())
      }
    },
    check: 'admission policies',
    says: new RegExp(
      `update-node\\.rollcall\\.dev is not as this version ships it: ${fields}; "kubectl replace -f policy-update-node\\.yaml"`,
    ),
  }
}

async function secondCPI() {
  await applyManifest(cluster, cpiObject(['--cloud-provider=vsphere']))
  const ends = await held('cloud-controller-manager', 'cpi-1')
  return async () => {
    await cluster.request('DELETE', '/apis/apps/v1/namespaces/kube-system/daemonsets/cpi')
    await ends()
  }
}

async function secondLeader() {
  const at = new Date().toISOString()
  return held('other', 'another-leader', withTroubles({}, { by: 'another-leader', at, troubles: [] }))
}

/** A Lease that somebody holds, until the function is called. */
async function held(name: string, holderIdentity: string, annotations = {}) {
  const renewTime = new Date().toISOString().replace('Z', '000Z')
  await applyManifest(cluster, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { namespace: 'kube-system', name, annotations },
    spec: { holderIdentity, leaseDurationSeconds: 600, renewTime },
  } as Manifest)
  const path = `/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/${name}`
  return () => cluster.request('DELETE', path)
}
