import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { HELP } from '../options.ts'
import { FOREIGN_SECTIONS, GLOBAL, IDENTITY, LABELS, NODES, type Standing, VCENTER } from './settings.ts'
import { loaded } from './testing/load.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const docs = read('docs/configuration.md')

/** Settings by what becomes of them. */
function settings(...kinds: Standing['is'][]): string[] {
  const all = [GLOBAL, VCENTER, LABELS, IDENTITY, NODES, FOREIGN_SECTIONS].flatMap((section) => [...section])
  return [...new Set(all.filter(([, { is }]) => kinds.includes(is)).map(([name]) => name))].sort()
}

/** What stands in backticks in the first column of the first table after `text`. */
function firstColumn(text: string): string[] {
  const [, after = ''] = docs.split(`\n${text}`)
  const [table = ''] = /(^\|.*\n)+/m.exec(after) ?? []
  const cells = table.split('\n').map((row) => row.split('|')[1] ?? '')
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)).sort()
}

/** The long options that a help text has at the beginning of a line. */
function options(help: string): string[] {
  return [...help.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, name = '']) => name).sort()
}

await t.test('every example is a configuration that draws no warning', async (t) => {
  const examples = [...docs.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = '']) => text)
  t.equal(examples.length, 3)
  for (const example of examples) {
    const { vCenter, warnings } = await loaded(example)
    t.same(warnings, [], example)
    t.equal(vCenter?.name, 'main')
  }
  const last = await loaded(examples.at(-1) ?? '')
  t.match(last.vCenter, { port: 443, password: "it's # secret", trust: { kind: 'ca' } })
  t.same(last.vCenter?.datacenters, ['dc-1', '/customers/dc-2'])
  t.same(last.labels, { zone: 'k8s-zone', region: 'k8s-region' })
  t.match(last.identity, {
    require: 'proven',
    exempt: { text: 'example.com.node-restriction.kubernetes.io/no-agent=true' },
  })
})

await t.test('the example of the manifests is a configuration that draws no warning', async (t) => {
  const [, text = ''] = /^ {2}vsphere\.conf: \|\n(.*)/ms.exec(read('manifests/config.example.yaml')) ?? []
  const { vCenter, warnings } = await loaded(text.replaceAll(/^ {4}/gm, ''))
  t.same(warnings, [])
  t.match(vCenter, { port: 443, trust: { kind: 'thumbprint' }, datacenters: ['dc-1'] })
})

await t.test('every setting stands in the table that says what becomes of it, and no other', async (t) => {
  t.same(firstColumn('## Settings\n'), settings('served', 'served list'))
  t.same(firstColumn('Refused, as'), settings('refused'))
  t.same(firstColumn('Ignored, with'), settings('ignored'))
})

await t.test('every option stands in the table of its program, and no other', async (t) => {
  t.same(firstColumn('## Command line of the controller\n'), options(HELP))
  // The agent's parts are not for the controller to import.
  t.same(firstColumn('## Command line of the agent\n'), options(read('agent/options.ts')))
})
