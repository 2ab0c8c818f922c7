import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse as parseYAML } from 'yaml'
import { type CpiArguments, parseCpiArguments } from './parse-cpi-arguments.ts'

const fixture = join(import.meta.dirname, '../../../test/cpi/argument-lists.yaml')
const LISTS: Record<string, string[]> = parseYAML(readFileSync(fixture, 'utf8'))
const CONFIG = '--cloud-config=/c'

function start(...args: string[]): CpiArguments {
  const parsed = parseCpiArguments(args)
  if (!parsed.ok || parsed.value.kind !== 'start')
    throw new Error(parsed.ok ? parsed.value.kind : parsed.message)
  return parsed.value.arguments
}

function message(...args: string[]): string {
  const parsed = parseCpiArguments(args)
  return parsed.ok ? 'taken' : parsed.message
}

/** What is said at the start, warnings with a "!". */
const said = (...args: string[]) =>
  start(CONFIG, ...args).notices.map(({ isWarning, message }) => `${isWarning ? '!' : ''}${message}`)

t.test('the argument lists that are in use are taken as they are', async (t) => {
  const plain = {
    config: '/etc/cloud/vsphere.conf',
    kubeconfig: undefined,
    bindAddress: '',
    listen: undefined,
    leaseNamespace: 'kube-system',
    leaseName: undefined,
    timing: { leaseDuration: 15_000, renewDeadline: 10_000, retryPeriod: 2_000 },
    apiLimit: undefined,
    verbosity: 2,
    given: { initializes: true, endsNodes: true, nodeLabels: {} },
    notices: [],
  }
  const expected: Record<string, Partial<CpiArguments>> = {
    releases: {},
    daemonset: {},
    pod: {},
    chart: {},
    'chart-with-more': {
      verbosity: 4,
      given: { initializes: true, endsNodes: false, nodeLabels: { 'example.com/site': 'a', tier: '' } },
    },
    openshift: {
      config: '/etc/kubernetes-cloud-config/cloud.conf',
      verbosity: 3,
      bindAddress: '127.0.0.1',
      leaseNamespace: 'openshift-cloud-controller-manager',
      timing: { leaseDuration: 137_000, renewDeadline: 107_000, retryPeriod: 26_000 },
    },
    'static-pod': {
      config: '/etc/vsphere.conf',
      kubeconfig: '/var/lib/cred/cloud-controller.kubeconfig',
      bindAddress: '127.0.0.1',
      leaseName: 'vsphere-ccm',
      apiLimit: { qps: 40, burst: 60 },
    },
  }
  t.same(Object.keys(LISTS), Object.keys(expected))
  for (const [name, args] of Object.entries(LISTS)) {
    const { notices, secure, ...rest } = start(...args)
    t.equal(secure?.port, 10258, name)
    const { notices: _, ...wanted } = { ...plain, ...expected[name] }
    t.strictSame(rest, wanted, name)
    if (Object.keys(expected[name] ?? {}).length === 0) t.same(notices, [], name)
  }
})

t.test('what has no effect is told, unless it says what is so anyway', async (t) => {
  t.same(said('--allocate-node-cidrs=true'), [
    '--allocate-node-cidrs has no effect: routes are not supported',
  ])
  t.same(said('--allocate-node-cidrs=0', '--cluster-name=kubernetes', '--node-monitor-period=5000ms'), [])
  t.same(said('--configure-cloud-routes=false', '--webhook-secure-port=0'), [])
  t.match(said('--use-service-account-credentials'), [/^!--use-service-account-credentials has no effect/])
  t.match(said('--leader-elect=false'), [/^--leader-elect=false: the Lease is still taken/])
  t.match(said('--leader-elect-resource-name=cloud-controller-manager'), [/^!.*the CPI's Lease/])
  t.same(said('--leader-elect', '--leader-elect-resource-lock=leases', '--enable-leader-migration=false'), [])
})

t.test('--controllers', async (t) => {
  const cases: readonly [string[], boolean, boolean][] = [
    [[], true, true],
    [['*'], true, true],
    [['*,-cloud-node-lifecycle'], true, false],
    [['*', '-cloud-node-lifecycle-controller'], true, false],
    [['-cloud-node,*'], false, true],
    [['*,-service,-route'], true, true],
    [['cloud-node'], true, false],
    [['cloud-node-lifecycle-controller'], false, true],
    [['service,route'], false, false],
    [['service', 'cloud-node'], true, false],
    [['cloud-node,-cloud-node'], true, false],
    [['*,-cloud-node,cloud-node'], false, true],
    // With these the CPI runs nothing.
    [['-cloud-node-lifecycle'], true, false],
    [['-service'], true, true],
    [[''], false, false],
  ]
  for (const [lists, initializes, endsNodes] of cases) {
    const args = lists.map((list) => `--controllers=${list}`)
    t.match(start(CONFIG, ...args).given, { initializes, endsNodes }, args.join(' '))
  }
  t.match(said('--controllers=-cloud-node-lifecycle'), [/^!--controllers only excludes controllers/])
  t.match(said('--controllers='), [/^!--controllers is empty, .* write \* for all$/])
  t.match(said('--controllers=*,service'), [/^!--controllers: service-lb-controller is not supported/])
  t.match(message(CONFIG, '--controllers=*,-cloud-nod'), /did you mean cloud-node\?$/)
  t.match(
    message(CONFIG, '--controllers=secret'),
    /^--controllers: unknown controller: known are cloud-node, /,
  )
})

t.test('--node-labels', async (t) => {
  const labels = (...args: string[]) => start(CONFIG, ...args).given.nodeLabels
  t.same(labels('--node-labels=a=b', '--node-labels=a=c,example.com/d='), { a: 'c', 'example.com/d': '' })
  t.same(labels('--node-labels=kubernetes.io/a=b,x.k8s.io/c=d,e=f'), { e: 'f' })
  t.match(said('--node-labels=node.kubernetes.io/a=b'), [
    /^!--node-labels: node\.kubernetes\.io\/a is left out/,
  ])
  for (const key of ['/a', 'a/b/c', '-a', 'A.b/c', `${'a'.repeat(64)}`, ''])
    t.match(message(CONFIG, `--node-labels=${key}=x`), /^--node-labels: a key is not a valid label key/, key)
  for (const value of ['b c', '-b', 'b,c', 'b'.repeat(64)])
    t.match(
      message(CONFIG, `--node-labels=a=${value}`),
      /^--node-labels: the value of a is not a valid label value/,
      value,
    )
})

t.test('what ends the start, with the next step', async (t) => {
  const cases: readonly [string[], RegExp][] = [
    [[], /^--cloud-config is missing: expected the path of vsphere\.conf/],
    [['--cloud-config='], /^--cloud-config is missing/],
    [
      [
        '--cloud-provider=vsphere-paravirtual',
        '--is-legacy-paravirtual',
        '--pod-ip-pool-type=Public',
        '--new',
      ],
      /^--cloud-provider=vsphere-paravirtual is not supported: [^;]* keep the CPI$/,
    ],
    [[CONFIG, '--cloud-provider=aws'], /^--cloud-provider: expected vsphere$/],
    [[CONFIG, '--master=https://a'], /^--master is not supported: name the API server in the kubeconfig/],
    [[CONFIG, '--enable-leader-migration'], /^--enable-leader-migration is not supported: /],
    [[CONFIG, '--is-legacy-paravirtual=true'], /^--is-legacy-paravirtual is not supported: /],
    [[CONFIG, '--leader-elect-resource-lock=endpoints'], /^--leader-elect-resource-lock: expected leases/],
    [[CONFIG, '--leader-elect-lease-duration=5s'], /^--leader-elect-lease-duration: expected more than/],
    [[CONFIG, '--leader-elect-lease-duration=500ms'], /^--leader-elect-lease-duration: expected at least 1s/],
    [
      [CONFIG, '--leader-elect-retry-period=9s'],
      /^--leader-elect-renew-deadline: expected more than 1\.2 times/,
    ],
    [[CONFIG, '--leader-elect-retry-period=0s'], /both more than 0s$/],
  ]
  for (const [args, expected] of cases) t.match(message(...args), expected, args.join(' '))
})

t.test('what is asked of the API server at once', async (t) => {
  const limit = (...args: string[]) => start(CONFIG, ...args).apiLimit
  t.same(limit('--kube-api-qps=50'), { qps: 50, burst: 30 })
  t.same(limit('--kube-api-burst=0'), { qps: 20, burst: 1 })
  t.same(limit('--kube-api-qps=0.0000001'), { qps: 0.01, burst: 30 })
  t.equal(limit('--kube-api-qps=-1', '--kube-api-burst=5'), undefined)
})

t.test('version and help', async (t) => {
  const kind = (...args: string[]) => {
    const parsed = parseCpiArguments(args)
    return parsed.ok ? parsed.value.kind : parsed.message
  }
  t.equal(kind('--version=raw'), 'version')
  t.equal(kind('--version=false', CONFIG), 'start')
  t.equal(kind('--version=v1.2.3', CONFIG), 'start')
  t.equal(kind('--help=true'), 'help')
})

t.test('all that is wrong is told at once', async (t) => {
  t.match(
    message('--cloud-provider=aws', '--controllers=nonsense', '--leader-elect-resource-lock=endpoints'),
    /^--cloud-provider: .*; --leader-elect-resource-lock: .*; .*controllers/,
  )
  t.match(
    message('--cloud-provider=aws', '--v=x', '--lstn=:1'),
    /^--v: expected a whole number; unknown flag --lstn: .*; --cloud-provider: expected vsphere$/,
  )
})
