// Every query of an alert and of a panel is parsed and asked by Prometheus' own code, of the controller's own metrics.
import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import * as v from 'valibot'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { sampledMetrics } from '../controller/telemetry/testing/sampled-metrics.ts'
import { serverBinary } from '../test/servers/build.ts'

const read = (path: string) => readFile(join(import.meta.dirname, path), 'utf8')

const Rule = v.looseObject({
  alert: v.string(),
  expr: v.string(),
  labels: v.object({ severity: v.picklist(['warning', 'critical']) }),
  annotations: v.object({ summary: v.string(), runbook: v.string() }),
})
const Rules = v.object({ spec: v.object({ groups: v.array(v.looseObject({ rules: v.array(Rule) })) }) })
const Dashboard = v.object({
  panels: v.array(v.object({ title: v.string(), targets: v.array(v.object({ expr: v.string() })) })),
})
const Outcome = v.object({
  selectors: v.nullable(v.array(v.object({ metric: v.string(), labels: v.array(v.string()) }))),
  labels: v.nullable(v.array(v.string())),
  series: v.number(),
  error: v.optional(v.string()),
})
const Answer = v.object({ ruleErrors: v.array(v.string()), queries: v.array(Outcome) })

const promql = await serverBinary('promql')
const metrics = await sampledMetrics()
const { spec } = v.parse(Rules, parse(await read('components/monitoring/rules.yaml')))
const alerts = spec.groups.flatMap(({ rules }) => rules)
const { panels } = v.parse(Dashboard, JSON.parse(await read('components/monitoring/dashboard.json')))
const docs = await read('../docs/alerts.md')

/** What Prometheus makes of queries, where the metrics were scraped for an hour. */
function ask(queries: readonly string[], rules = '') {
  const run = spawnSync(promql, { input: JSON.stringify({ metrics, rules, queries }), encoding: 'utf8' })
  if (run.status !== 0) throw new Error(`promql ended with ${run.status}: ${run.stderr}`)
  return v.parse(Answer, JSON.parse(run.stdout))
}

/** Labels that each series has: its own, those that every scrape adds, and the bucket's. */
const labelsOf = new Map<string, Set<string>>()
for (const [, name = '', labels = ''] of metrics.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
  const known = labelsOf.get(name) ?? new Set(['instance', 'job'])
  for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) known.add(label)
  labelsOf.set(name, known)
}

/** What is wrong with a query: undefined for none. */
function complaints(query: string): string[] {
  const [outcome] = ask([query]).queries
  if (outcome === undefined) return ['no answer']
  if (outcome.error !== undefined) return [outcome.error]
  const selectors = outcome.selectors ?? []
  const unknown = selectors.flatMap(({ metric, labels }) => {
    const known = labelsOf.get(metric)
    if (known === undefined) return [`no metric ${metric}`]
    return [...labels, ...(outcome.labels ?? [])]
      .filter((label) => !known.has(label))
      .map((label) => `${metric} has no label ${label}`)
  })
  return selectors.length === 0 ? ['asks for no metric'] : unknown
}

t.test('rules are as Prometheus reads them, templates of annotations included', async (t) => {
  t.strictSame(ask([], stringify(spec)).ruleErrors, [])
  const broken = stringify(spec).replace('humanizeDuration', 'humanizeDurations')
  t.not(ask([], broken).ruleErrors.length, 0, 'a template that no Prometheus knows is told')
})

t.test('alerts ask for metrics and labels that there are', async (t) => {
  t.ok(alerts.length > 10)
  for (const { alert, expr } of alerts) t.strictSame(complaints(expr), [], alert)
})

t.test('panels do, and show something', async (t) => {
  t.ok(panels.length > 10)
  for (const { title, targets } of panels) {
    for (const { expr } of targets) {
      t.strictSame(complaints(expr), [], title)
      t.not(ask([expr]).queries[0]?.series, 0, `${title} has a series`)
    }
  }
})

t.test('a query that could show nothing is told', async (t) => {
  t.strictSame(complaints('sum(rollcall_leaders)'), ['no metric rollcall_leaders'])
  t.strictSame(complaints('rollcall_nodes{zone="a"}'), ['rollcall_nodes has no label zone'])
  t.strictSame(complaints('sum by (zone) (rollcall_nodes)'), ['rollcall_nodes has no label zone'])
  t.match(complaints('sum(rollcall_nodes'), [/unclosed|unexpected/])
})

t.test('each alert names its section of docs/alerts.md, and no other has one', async (t) => {
  for (const { alert, annotations } of alerts)
    t.equal(annotations.runbook, `docs/alerts.md#${alert.toLowerCase()}`)
  const sections = [...docs.matchAll(/^## (\w+)$/gm)].map(([, name]) => name)
  t.strictSame(
    sections,
    alerts.map(({ alert }) => alert),
  )
})

t.test('the component adds what the operator and Grafana read', async (t) => {
  const folder = join(import.meta.dirname, 'overlays/monitoring')
  const run = spawnSync(await serverBinary('kubectl'), ['kustomize', folder], { encoding: 'utf8' })
  const objects = parseAllDocuments(run.stdout).map((document) => document.toJS())
  const added = objects.filter(({ kind }) => /Monitor|PrometheusRule|ConfigMap|^Service$/.test(kind))
  t.strictSame(added.map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`).sort(), [
    'ConfigMap kube-system/rollcall-dashboard',
    'PrometheusRule kube-system/rollcall',
    'Service kube-system/rollcall-controller',
    'ServiceMonitor kube-system/rollcall-controller',
  ])
  const [service] = added.filter(({ kind }) => kind === 'Service')
  const [deployment] = objects.filter(({ kind }) => kind === 'Deployment')
  t.match(deployment.spec.template.metadata.labels, service.spec.selector, 'the Service has the Pods')
})
