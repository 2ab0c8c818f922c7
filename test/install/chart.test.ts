// The chart, rendered by Helm, is the Kustomize base and its components.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import t from 'tap'
import * as v from 'valibot'
import { parse, parseAllDocuments } from 'yaml'
import { packedChart } from '../../build/release/artifacts.ts'
import { findCredential } from '../../controller/config/credentials/find-credential.ts'
import { Secret } from '../../controller/config/secret.ts'
import { SECTIONS } from '../../controller/config/settings/sections.ts'
import { load } from '../../controller/config/testing/load.ts'
import { serverBinary } from '../servers/build.ts'
import type { Manifest } from '../servers/manifests.ts'

const manifests = join(import.meta.dirname, '../../manifests')

type Values = Readonly<Record<string, unknown>>
interface Texts {
  readonly [key: string]: string | Texts
}
interface Asked {
  readonly values?: Values
  readonly kubeVersion?: string
  readonly namespace?: string
  /** The chart's folder, or its archive. */
  readonly chart?: string
}

const folder = join(manifests, 'chart/rollcall')
const kubectl = await serverBinary('kubectl')
const helm = await serverBinary('helm')

function run(command: 'lint' | 'template', asked: Asked = {}) {
  const { chart = folder, values = {}, kubeVersion = '1.36.0', namespace = 'kube-system' } = asked
  const release = command === 'template' ? ['any'] : []
  const options = ['--namespace', namespace, '--kube-version', kubeVersion, '--values', '-']
  const input = JSON.stringify(values)
  return spawnSync(helm, [command, ...release, chart, ...options], { input, encoding: 'utf8' })
}

/** What Helm makes of the chart: the objects, as one text, or the error. */
function render(asked: Asked = {}): { readonly text: string; readonly error?: string } {
  const { status, stdout, stderr } = run('template', asked)
  if (status === 0) return { text: stdout }
  return { text: '', error: stderr.slice(stderr.indexOf('Error: ')) }
}

function objectsOf(text: string): Manifest[] {
  return parseAllDocuments(text).flatMap((document) => document.toJS() ?? [])
}

const idOf = ({ kind, metadata }: Manifest) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`
const byName = (objects: readonly Manifest[]) =>
  objects.toSorted((one, other) => (idOf(one) < idOf(other) ? -1 : 1))

/** The objects that the chart makes, and of these the CRD without what is Helm's own. */
function chartObjects(asked: Asked): Manifest[] {
  const { text, error } = render(asked)
  if (error !== undefined) throw new Error(error)
  return byName(
    objectsOf(text).map((object) => {
      if (object.kind !== 'CustomResourceDefinition') return object
      const { annotations, ...metadata } = v.parse(v.looseObject({ name: v.string() }), object.metadata)
      t.match(annotations, { 'helm.sh/resource-policy': 'keep' }, 'reports outlive the release')
      return { ...object, metadata }
    }),
  )
}

function kustomizeObjects(folder: string): Manifest[] {
  const text = execFileSync(kubectl, ['kustomize', resolve(manifests, folder)], {
    encoding: 'utf8',
  })
  return byName(objectsOf(text))
}

const CPI = { enabled: true, vcenter: 'vc.example.com', username: 'u', password: 'p"w', datacenter: 'a,b' }

const same: readonly (readonly [overlay: string, asked: Asked])[] = [
  ['.', {}],
  ['overlays/before-1.36', { kubeVersion: '1.35.4' }],
  ['overlays/one-control-plane-node', { values: { controller: { replicas: 1 } } }],
  ['overlays/hosted-control-plane', { values: { controller: { hostedControlPlane: true } } }],
  ['overlays/no-daemonset', { values: { agent: { mode: 'none' } } }],
  ['overlays/monitoring', { values: { monitoring: { enabled: true } } }],
  ['overlays/approve-certificates', { values: { certificates: { approve: true } } }],
]
for (const [overlay, asked] of same)
  t.test(`it renders the objects of ${overlay}, to the last field`, async (t) => {
    t.strictSame(chartObjects(asked), kustomizeObjects(overlay))
  })

t.test("with a private registry's Secret it renders the objects that the docs' patch makes", async (t) => {
  const docs = readFileSync(join(manifests, '../docs/manifests.md'), 'utf8')
  const [, patches = ''] = /```yaml\n(patches:\n[^`]+)```/.exec(docs) ?? []
  const overlay = t.testdir({
    'kustomization.yaml': `resources: [${relative(t.testdirName, manifests)}]\n${patches}`,
  })
  const asPatched = kustomizeObjects(overlay)
  t.equal(
    JSON.stringify(asPatched).split('"imagePullSecrets":[{"name":"my-registry"}]').length,
    3,
    'in both Pods',
  )
  t.strictSame(chartObjects({ values: { imagePullSecrets: [{ name: 'my-registry' }] } }), asPatched)
})

t.test('packed, it renders the same, and has the version of the rest', async (t) => {
  const temporary = mkdtempSync(join(tmpdir(), 'rollcall-chart-'))
  t.teardown(() => rmSync(temporary, { recursive: true }))
  const archive = join(temporary, 'rollcall.tgz')
  const content = await packedChart()
  t.ok(content.equals(await packedChart()), 'the same bytes each time')
  writeFileSync(archive, content)
  const values = { monitoring: { enabled: true } }
  t.strictSame(chartObjects({ chart: archive, values }), chartObjects({ values }))
  const { version } = JSON.parse(readFileSync(join(manifests, '../package.json'), 'utf8'))
  t.match(parse(readFileSync(join(folder, 'Chart.yaml'), 'utf8')), { version, appVersion: version })
})

t.test('images and the Secret can be named', async (t) => {
  const values = {
    controller: { image: 'registry.example.com/c:1' },
    agent: { image: 'registry.example.com/a:1' },
    configSecret: 'mine',
  }
  const objects = chartObjects({ values })
  const podOf = (kind: string) => objects.find((object) => object.kind === kind)
  t.match(podOf('Deployment'), {
    spec: {
      template: {
        spec: {
          containers: [{ image: 'registry.example.com/c:1' }],
          volumes: [{ secret: { secretName: 'mine' } }],
        },
      },
    },
  })
  t.match(podOf('DaemonSet'), {
    spec: { template: { spec: { containers: [{ image: 'registry.example.com/a:1' }] } } },
  })
})

t.test('another namespace and account, in every object, policies included', async (t) => {
  const asked = {
    namespace: 'vsphere',
    values: { serviceAccount: { name: 'mine' }, monitoring: { enabled: true } },
  }
  const moved = chartObjects(asked)
  // What is about objects of other namespaces stays there.
  const kept = ['kube-system', 'default', 'kube-node-lease']
  const roles = moved.filter(
    ({ kind, metadata }) => /^Role/.test(kind) && kept.includes(metadata.namespace ?? ''),
  )
  t.strictSame(
    roles.map(idOf),
    kept
      .toSorted()
      .flatMap((namespace) =>
        ['Role', 'RoleBinding'].map((kind) => `${kind} ${namespace}/rollcall-controller`),
      )
      .toSorted(),
  )
  const back = JSON.stringify(moved)
    .replaceAll('serviceaccount:vsphere:mine', 'serviceaccount:kube-system:rollcall-controller')
    .replaceAll('serviceaccount:vsphere:', 'serviceaccount:kube-system:')
    .replaceAll('vsphere/rollcall-agent', 'kube-system/rollcall-agent')
    .replaceAll('"namespace":"vsphere"', '"namespace":"kube-system"')
    .replaceAll('"name":"mine"', '"name":"rollcall-controller"')
    .replaceAll('"serviceAccountName":"mine"', '"serviceAccountName":"rollcall-controller"')
  t.strictSame(byName(JSON.parse(back)), kustomizeObjects('overlays/monitoring'))
  const names = JSON.stringify(moved)
  for (const old of ['kube-system:rollcall', 'kube-system/rollcall']) t.notMatch(names, old)
  const { text } = render({ ...asked, values: { ...asked.values, config: CPI } })
  const secrets = objectsOf(text).filter(({ metadata }) => metadata.name === 'rollcall-credentials')
  t.match(secrets, [
    { metadata: { namespace: 'vsphere' } },
    { metadata: { namespace: 'vsphere' }, subjects: [{ name: 'mine', namespace: 'vsphere' }] },
  ])
  t.match(text, /secretNamespace: vsphere/)
})

t.test('what is said of Pods is added to what they have, and keeps them where they may run', async (t) => {
  const terms = (...lists: readonly (readonly object[])[]) => ({
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: lists.map((matchExpressions) => ({ matchExpressions })),
      },
    },
  })
  const given = {
    resources: { limits: { memory: '1Gi' } },
    nodeSelector: { disk: 'ssd' },
    priorityClassName: 'mine',
    podAnnotations: { 'example.com/a': 'b' },
    extraArgs: ['--log-level=debug'],
    tolerations: [{ key: 'dedicated', operator: 'Exists' }],
  } as const
  const [here, there] = [
    { key: 'a', operator: 'Exists' },
    { key: 'b', operator: 'Exists' },
  ]
  const affinity = { ...terms([here], [there]), podAntiAffinity: { own: true } }
  const controlPlane = { key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' }
  const values = { controller: { ...given, affinity }, agent: { ...given, affinity } }
  const podsOf = (values: Values, kind: string) => {
    const found = chartObjects({ values }).find((object) => object.kind === kind)
    return v.parse(v.looseObject({ spec: v.looseObject({ template: Template }) }), found).spec.template
  }
  const before = podsOf({}, 'Deployment')
  const { metadata, spec } = podsOf(values, 'Deployment')
  const [container] = spec.containers
  t.match(metadata.annotations, given.podAnnotations)
  t.match(spec, { priorityClassName: 'mine', nodeSelector: given.nodeSelector })
  t.strictSame(spec.tolerations, [...before.spec.tolerations, ...given.tolerations])
  t.strictSame(spec.affinity, { ...affinity, ...terms([controlPlane, here], [controlPlane, there]) })
  t.strictSame(container?.args, [...(before.spec.containers[0]?.args ?? []), '--log-level=debug'])
  t.match(container?.resources, { requests: { cpu: '50m' }, limits: { memory: '1Gi' } })

  const agent = podsOf(values, 'DaemonSet')
  t.match(agent.spec, { priorityClassName: 'mine', tolerations: given.tolerations, affinity })
  t.equal(agent.spec.tolerations.length, 1, 'in place of its own, which tolerates everything')
  t.strictSame(agent.spec.nodeSelector, { 'kubernetes.io/os': 'linux', disk: 'ssd' })
  t.match(agent.spec.containers[0], { args: given.extraArgs, resources: { requests: { cpu: '5m' } } })

  const preferring = { controller: { hostedControlPlane: true, affinity: { podAffinity: { own: true } } } }
  t.strictSame(podsOf(preferring, 'Deployment').spec.affinity, {
    podAffinity: { own: true },
    ...terms([{ key: 'rollcall.node-restriction.kubernetes.io/controller', operator: 'Exists' }]),
  })
})

const Template = v.object({
  metadata: v.looseObject({ annotations: v.optional(v.unknown()) }),
  spec: v.looseObject({
    tolerations: v.array(v.unknown()),
    affinity: v.optional(v.unknown()),
    nodeSelector: v.optional(v.unknown()),
    containers: v.array(v.looseObject({ args: v.optional(v.array(v.string())), resources: v.unknown() })),
  }),
})

t.test("the CPI's values become the file, the Secret and the right to it", async (t) => {
  const added = (values: Values) =>
    chartObjects({ values }).filter(({ metadata }) =>
      /^(rollcall-config|own|rollcall-credentials)$/.test(metadata.name),
    )
  const secret = { create: true, name: 'own' }
  const [role, binding, own, config, ...rest] = added({
    config: { ...CPI, secret },
    global: {
      config: {
        thumbprint: `${'AB:'.repeat(19)}CD`,
        nodes: {
          internalNetworkSubnetCidr: '10.0.0.0/8',
          externalVmNetworkName: '',
          requireAllFamilies: false,
        },
      },
      registry: 'of other charts',
    },
  })
  t.strictSame(rest, [])
  t.match(role, { kind: 'Role', rules: [{ resourceNames: ['own'], verbs: ['list', 'watch'] }] })
  t.match(binding, { kind: 'RoleBinding', subjects: [{ name: 'rollcall-controller' }] })
  t.match(own, { stringData: { 'vc.example.com.username': 'u', 'vc.example.com.password': 'p"w' } })
  const { stringData } = v.parse(v.looseObject({ stringData: v.record(v.string(), v.string()) }), config)
  t.strictSame(parse(stringData['vsphere.conf'] ?? ''), {
    global: { secretName: 'own', secretNamespace: 'kube-system', thumbprint: `${'AB:'.repeat(19)}CD` },
    identity: { require: 'reported' },
    labels: { region: 'k8s-region', zone: 'k8s-zone' },
    nodes: { internalNetworkSubnetCidr: '10.0.0.0/8', requireAllFamilies: false },
    vcenter: { 'vc.example.com': { server: 'vc.example.com', datacenters: ['a', 'b'] } },
  })
  const { config: read, warnings } = await load(stringData['vsphere.conf'] ?? '')
  t.strictSame(warnings, [], 'the controller reads it without a warning')
  t.match(read.vCenters, [{ name: 'vc.example.com', trust: { kind: 'thumbprint' }, datacenters: ['a', 'b'] }])
  const provided = added({
    config: { ...CPI, username: '', password: '', secret: { create: false, name: 'own' } },
  })
  t.notOk(provided.some(({ kind, metadata }) => kind === 'Secret' && metadata.name === 'own'))
})

t.test('label rules are those of vsphere.conf', async (t) => {
  const label = 'rollcall.node-restriction.kubernetes.io/rack'
  const labelRules = [{ label, from: { tagCategory: 'rack' }, map: { '北京-1': 'bj1' } }]
  const config = chartObjects({ values: { config: { ...CPI, labelRules } } }).find(
    ({ kind, metadata }) => kind === 'Secret' && metadata.name === 'rollcall-config',
  )
  const { stringData } = v.parse(v.looseObject({ stringData: v.record(v.string(), v.string()) }), config)
  const { config: read } = await load(stringData['vsphere.conf'] ?? '')
  t.match(read.labelRules, [{ label, from: { kind: 'tagCategory', name: 'rack' } }])
})

t.test(
  "values as people write them for the CPI's chart, which puts them into YAML as they are",
  async (t) => {
    const written = async (config: Values) => {
      const all = { ...CPI, ...config }
      const [own, conf] = chartObjects({ values: { config: all } })
        .filter(
          ({ kind, metadata }) =>
            kind === 'Secret' && /^(vsphere-cloud-secret|rollcall-config)$/.test(metadata.name),
        )
        .map(
          (object) =>
            v.parse(v.looseObject({ stringData: v.record(v.string(), v.string()) }), object).stringData,
        )
        .toSorted((one) => ('vsphere.conf' in one ? 1 : -1))
      const { config: read } = await load(conf?.['vsphere.conf'] ?? '')
      const [vCenter] = read.vCenters
      const { nodes, labels } = read
      return {
        keys: Object.keys(own ?? {}),
        server: vCenter?.server,
        trust: vCenter?.trust,
        datacenters: vCenter?.datacenters,
        labels,
        network: nodes.internalVmNetworkName,
        subnets: nodes.internalNetworkSubnetCidr,
      }
    }
    const thumbprint = `${'AB:'.repeat(19)}CD`
    const quoted = {
      vcenter: "'vc.example.com'",
      thumbprint: `"${thumbprint}"`,
      datacenter: "'My DC'",
      zone: '"k8s: zone"',
      region: "'it''s'",
      nodes: { internalVmNetworkName: "'VM Network'", internalNetworkSubnetCidr: "'10.0.0.0/8'" },
      secret: { name: "'vsphere-cloud-secret'" },
    }
    const quotedValues = {
      keys: ['vc.example.com.username', 'vc.example.com.password'],
      server: 'vc.example.com',
      trust: { kind: 'thumbprint', thumbprints: [`${'ab'.repeat(19)}cd`] },
      datacenters: ['My DC'],
      labels: { zone: 'k8s: zone', region: "it's" },
      network: 'VM Network',
      subnets: ['10.0.0.0/8'],
    }
    t.strictSame(await written(quoted), quotedValues)
    const around = (before: string, group: Texts, after: string): Texts =>
      Object.fromEntries(
        Object.entries(group).map(([key, value]) => [
          key,
          typeof value === 'string' ? `${before}${value}${after}` : around(before, value, after),
        ]),
      )
    t.strictSame(await written(around(' ', quoted, ' ')), quotedValues)
    t.strictSame(await written(around('', quoted, '\n')), quotedValues, 'as a block of YAML ends')
    const bare = { vcenter: 'vc.example.com', zone: 'k8s-zone', region: 'r', datacenter: 'dc' }
    t.match(await written(around('', bare, '\n')), {
      server: 'vc.example.com',
      labels: { zone: 'k8s-zone', region: 'r' },
      datacenters: ['dc'],
    })
    const numbers = { datacenter: 1234567, zone: 7, region: 0.5, nodes: { internalVmNetworkName: 100 } }
    t.match(await written(numbers), {
      datacenters: ['1234567'],
      labels: { zone: '7', region: '0.5' },
      network: '100',
    })
    t.match(await written({ datacenter: "D'C" }), { datacenters: ["D'C"] })
  },
)

t.test("user and password are to the last character those that the CPI's chart writes", async (t) => {
  for (const [username, password] of [
    ["'a@b'", `'"abc"'`],
    ['"', `'a'b"`],
    ['a@b', '"12\\"3"'],
    [' u ', ' pw '],
    ['u\n', 'pw\n'],
    ['u', ' pw\n\n'],
  ] as const) {
    const values = { config: { ...CPI, username, password } }
    const secretOf = (chart: string) =>
      v.parse(
        v.looseObject({ stringData: v.record(v.string(), v.string()) }),
        objectsOf(render({ chart, values }).text).find(
          ({ kind, metadata }) => kind === 'Secret' && metadata.name === 'vsphere-cloud-secret',
        ),
      ).stringData
    const own = secretOf(folder)
    t.strictSame(own, secretOf(chartOfCPI()))
    const data = new Map(Object.entries(own).map(([key, text]) => [key, new Secret(text)]))
    const found = findCredential(data, 'vc.example.com')
    t.strictSame(
      found.ok ? [found.value.user, found.value.password.reveal()] : found,
      [username, password].map((text) => text.replace(/\n$/, '')),
      'and so the controller logs in',
    )
  }
})

t.test('no thumbprint is carried over as insecureFlag', async (t) => {
  t.match(JSON.stringify(chartObjects({ values: { config: CPI } })), /insecureFlag: true/)
})

const refused: readonly (readonly [asked: Asked, reason: RegExp])[] = [
  [{ kubeVersion: '1.30.0' }, /requires kubeVersion: >=1\.31/],
  [{ values: { serviceAccount: { name: 'rollcall-agent' } } }, /rollcall-agent is the account of the agents/],
  [
    { values: { serviceAccount: { name: 'default' } } },
    /default is the account of every Pod that names none/,
  ],
  [{ values: { serviceAccount: { name: "x' || true" } } }, /serviceAccount[./]name/],
  [
    { values: { controller: { extraArgs: ['--config=/x'] } } },
    /controller\.extraArgs: --config cannot be given/,
  ],
  [{ values: { controller: { extraArgs: ['--listen', 'off'] } } }, /controller[./]extraArgs[./]1/],
  [{ values: { controller: { extraArgs: '--log-level=debug' } } }, /controller[./]extraArgs/],
  [{ values: { controller: { tolerations: [{ keys: 'a' }] } } }, /controller[./]tolerations[./]0/],
  [{ values: { controller: { affinity: { node: {} } } } }, /controller[./]affinity/],
  [{ values: { controller: { resources: { limit: {} } } } }, /controller[./]resources/],
  [{ values: { agent: { podAnnotations: { a: true } } } }, /agent[./]podAnnotations/],
  [{ values: { agent: { nodeSelector: ['a'] } } }, /agent[./]nodeSelector/],
  [{ values: { agent: { priorityClassName: 'A b' } } }, /agent[./]priorityClassName/],
  [
    { values: { daemonset: { affinity: { podAffinity: {} } } } },
    /daemonset\.affinity: has no effect here, .*give controller\.affinity instead/,
  ],
  [
    { values: { serviceAccount: { create: false } } },
    /serviceAccount\.create, rbac\.create: cannot be false/,
  ],
  [{ values: { rbac: { create: false } } }, /serviceAccount\.create, rbac\.create: cannot be false/],
  [{ values: { podSecurityPolicy: { enabled: true } } }, /podSecurityPolicy\.enabled: .* leave it out/],
  [{ values: { nameOverride: 'cpi' } }, /nameOverride, fullnameOverride: names are fixed/],
  ...['extraVolumes', 'extraVolumesMounts', 'extraVolumeMounts', 'hostAliases', 'tolerations'].map(
    (key) =>
      [
        { values: { daemonset: { [key]: [{ name: 'a' }] } } },
        new RegExp(`daemonset\\.${key}: has no effect`),
      ] as const,
  ),
  [
    { values: { daemonset: { cmdline: { additionalParams: { v: '4' } } } } },
    /daemonset\.cmdline\.additionalParams: the chart starts/,
  ],
  [{ values: { config: { ...CPI, caFile: '/etc/ca.pem' } } }, /config\.caFile: the chart mounts no file/],
  [{ values: { config: { ...CPI, vcenter: '' } } }, /config\.vcenter: is empty/],
  [
    { values: { config: { ...CPI, password: '' } } },
    /config\.password: is empty; give it, or set config\.secret\.create=false/,
  ],
  [{ values: { config: { ...CPI, vcenter: "'vc.example.com" } } }, /config[./]vcenter/],
  [{ values: { config: { ...CPI, vcenter: 'vc.example.com\nx: y' } } }, /config[./]vcenter/],
  [{ values: { config: { ...CPI, username: 'u\r\n' } } }, /config[./]username/],
  [{ values: { config: { ...CPI, zone: 'a\nb' } } }, /config[./]zone/],
  [{ values: { config: { ...CPI, password: 5349 } } }, /config\.password: is not text; put it in quotes/],
  [{ values: { global: { config: { username: 1 } }, config: CPI } }, /config\.username: is not text/],
  [{ values: { config: { ...CPI, zone: false } } }, /config\.zone: is not text; put it in quotes/],
  [{ values: { agent: { mode: 'systemd' } } }, /agent[./]mode/],
  [{ values: { controller: { replicas: 0 } } }, /controller[./]replicas/],
  [{ values: { imagePullSecrets: ['mine'] } }, /imagePullSecrets[./]0/],
  [{ values: { controler: {} } }, /controler/],
  [{ values: { daemonset: { extraVolumeMount: [] } } }, /extraVolumeMount/],
  [{ values: { config: { ...CPI, thumbprint: 'AB' } } }, /config[./]thumbprint/],
  [{ values: { config: { ...CPI, require: 'some' } } }, /config[./]require/],
  [
    { values: { config: { ...CPI, nodes: { internalNetworkSubnetCIDR: '10.0.0.0/8' } } } },
    /internalNetworkSubnetCIDR/,
  ],
  [
    { values: { config: { ...CPI, nodes: { internalNetworkSubnetCidr: '10.0.0.0' } } } },
    /internalNetworkSubnetCidr/,
  ],
  [{ values: { global: { config: { thumbprnt: 'AB' } } } }, /thumbprnt/],
]
for (const [asked, reason] of refused)
  t.test(`refused: ${JSON.stringify(asked)}`, async (t) => {
    const { error } = render(asked)
    t.match(error ?? 'rendered', reason)
    t.notMatch(error ?? '', /p"w/, 'no password is said')
  })

t.test('lint has nothing to say but that there is no icon', async (t) => {
  const { status, stdout } = run('lint')
  t.equal(status, 0)
  t.strictSame(stdout.match(/^\[.*/gm), ['[INFO] Chart.yaml: icon is recommended'])
})

/** The folder of the CPI's chart, from its sources: a machine that has its binary need not have them yet. */
function chartOfCPI(): string {
  const module = execFileSync('go', ['mod', 'download', '-json', 'k8s.io/cloud-provider-vsphere'], {
    cwd: join(manifests, '../test/servers/cpi'),
    encoding: 'utf8',
  })
  const { Dir } = v.parse(v.object({ Dir: v.string() }), JSON.parse(module))
  return join(Dir, 'charts/vsphere-cpi')
}

function valuesOfCPI(): Values {
  return parse(readFileSync(join(chartOfCPI(), 'values.yaml'), 'utf8'))
}

t.test("all values of the CPI's chart may be given, as in an edited copy of its file", async (t) => {
  const values = valuesOfCPI()
  t.strictSame(chartObjects({ values }), chartObjects({}))
  const config = { ...v.parse(v.record(v.string(), v.unknown()), values.config), ...CPI }
  t.strictSame(chartObjects({ values: { ...values, config } }), chartObjects({ values: { config } }))
})

t.test('config.nodes has what vsphere.conf has under nodes', async (t) => {
  const schema = JSON.parse(readFileSync(join(folder, 'values.schema.json'), 'utf8'))
  const { nodes } = schema.properties.config.properties
  t.strictSame(Object.keys(nodes.properties).sort(), Object.keys(SECTIONS.nodes.rows).sort())
})

t.test("docs/helm.md says of each value of the CPI's chart what becomes of it", async (t) => {
  const docs = readFileSync(join(manifests, '../docs/helm.md'), 'utf8')
  const told = new Set(
    [...docs.matchAll(/^\|(.*?)\|/gm)].flatMap(([, cell = '']) => cell.match(/(?<=`)[\w.]+(?=`)/g) ?? []),
  )
  for (const path of pathsOf(valuesOfCPI())) t.ok(told.has(path), path)
})

/** The values that are no groups: lists, empty ones, scalars; of `affinity` the whole. */
function pathsOf(values: Values, above = ''): string[] {
  return Object.entries(values).flatMap(([key, value]) => {
    const path = `${above}${key}`
    const group = v.safeParse(v.record(v.string(), v.unknown()), value)
    if (
      Array.isArray(value) ||
      !group.success ||
      Object.keys(group.output).length === 0 ||
      key === 'affinity'
    )
      return [path]
    return pathsOf(group.output, `${path}.`)
  })
}
