import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { optionsOf } from '../cli/commands/table.ts'
import { OTHER_SECTIONS } from './settings/ignored-keys.ts'
import type { AnySection } from './settings/row.ts'
import { SECTIONS } from './settings/sections.ts'
import { file, load, loaded } from './testing/load.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const docs = read('docs/configuration.md')

type Fate = 'served' | 'ignored'

const { global, vcenter, labels, identity, nodes, certificates, lifecycle, topology } = SECTIONS
const CONDUCT = [lifecycle, topology]

/** Settings by what becomes of them. */
function settings(sections: readonly AnySection[], kind: Fate): string[] {
  return sections.flatMap(({ rows, others }) => [...Object.keys(kind === 'served' ? rows : others)])
}

/** Each once, sorted, for all that the CPI has besides conduct. */
function takenOver(kind: Fate): string[] {
  const own = settings([global, vcenter, labels, identity, nodes, certificates], kind)
  return [...new Set([...own, ...(kind === 'ignored' ? Object.keys(OTHER_SECTIONS) : [])])].sort()
}

/** The rows of the first table after `text`, each a list of cells. */
function table(text: string): string[][] {
  const [, after = ''] = docs.split(`\n${text}`)
  const [rows = ''] = /(^\|.*\n)+/m.exec(after) ?? []
  return rows.split('\n').map((row) => row.split('|').slice(1))
}

/** What stands in backticks in a cell. */
function quoted(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
}

/** What stands in backticks in the first column of the first table after `text`. */
function firstColumn(text: string): string[] {
  return table(text)
    .flatMap(([first]) => quoted(first))
    .sort()
}

/** The long options that a help text has at the beginning of a line. */
function options(help: string): string[] {
  return [...help.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, name = '']) => name).sort()
}

await t.test('every example is a configuration that draws no warning', async (t) => {
  const examples = [...docs.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = '']) => text)
  t.equal(examples.length, 6)
  for (const example of examples) {
    const { config, warnings } = await load(example)
    t.same(warnings, [], example)
    t.equal(config.vCenters[0]?.name, 'main')
  }
  const several = await load(examples[3] ?? '')
  t.match(several.config.vCenters, [
    { name: 'main', user: 'rollcall@vsphere.local', datacenters: [] },
    { name: 'second', user: 'rollcall@vsphere.local', datacenters: ['dc-9'] },
  ])
  const inSecret = await load(examples[4] ?? '')
  const secret = { kind: 'secret', namespace: 'kube-system', name: 'vsphere-cloud-secret' }
  t.same(inSecret.config.credentials, { main: secret, second: secret })
  const whole = examples[2] ?? ''
  for (const name of settings(CONDUCT, 'served')) t.match(whole, `\n  ${name}: `, `${name} has an example`)
  const last = await loaded(whole)
  t.match(last.vCenter, { port: 443, password: "it's # secret", trust: { kind: 'ca' } })
  t.same(last.vCenter?.datacenters, ['dc-1', '/customers/dc-2'])
  t.same(last.labels, { zone: 'k8s-zone', region: 'k8s-region' })
  t.match(last.identity, {
    require: 'proven',
    exempt: { text: 'example.com.node-restriction.kubernetes.io/no-agent=true' },
  })
})

await t.test('so is the one in INI', async (t) => {
  const [, example = ''] = /^```ini\n(.*?)^```$/ms.exec(docs) ?? []
  const { vCenter, labels, warnings } = await loaded(example)
  t.same(warnings, [])
  t.match(vCenter, {
    name: 'vcenter.example.com',
    password: "it's ; and # and \\ in quotes",
    trust: { kind: 'ca' },
  })
  t.same(labels, { zone: 'k8s-zone', region: undefined })
})

await t.test('the example of the manifests is a configuration that draws no warning', async (t) => {
  const [, text = ''] = /^ {2}vsphere\.conf: \|\n(.*)/ms.exec(read('manifests/config.example.yaml')) ?? []
  const { vCenter, warnings } = await loaded(text.replaceAll(/^ {4}/gm, ''))
  t.same(warnings, [])
  t.match(vCenter, { port: 443, trust: { kind: 'thumbprint' }, datacenters: ['dc-1'] })
  const [example, standard] = await Promise.all([load(text.replaceAll(/^ {4}/gm, '')), load(file())])
  t.strictSame(example.config.lifecycle, standard.config.lifecycle, 'it shows the defaults')
  t.strictSame(example.config.topology, standard.config.topology)
})

await t.test('every setting stands in the table that says what becomes of it, and no other', async (t) => {
  t.same([...new Set(firstColumn('## Settings\n'))], takenOver('served'))
  t.same(firstColumn('## When a Node goes\n'), settings(CONDUCT, 'served').sort())
  t.same(settings(CONDUCT, 'ignored'), [], 'nothing else becomes of these')
  t.same(firstColumn('## Settings of the CPI that'), takenOver('ignored'))
})

await t.test(
  'the lifecycle settings stand under their section and have the default that is said',
  async (t) => {
    const { config } = await load(file())
    for (const [first, section, , standard, protects] of table('## When a Node goes\n').slice(2, -1)) {
      const [name = ''] = quoted(first)
      const [home = ''] = quoted(section)
      const [value = ''] = quoted(standard)
      t.ok(name in (home === 'topology' ? topology : lifecycle).rows, `${name} under ${home}`)
      const written = await load(file('', `${home}: {${name}: ${value}}`))
      t.not(value, '', `${name} has a default`)
      t.same(written.warnings, [])
      const conduct = { lifecycle: written.config.lifecycle, topology: written.config.topology }
      t.strictSame(conduct, { lifecycle: config.lifecycle, topology: config.topology }, name)
      t.ok(protects?.trim(), `what ${name} protects against is said`)
    }
  },
)

await t.test('every option stands in the table of its program, and no other', async (t) => {
  t.same(
    firstColumn('## Command line of the controller\n'),
    ['--help', ...optionsOf('run').map((name) => `--${name}`), '--version'].sort(),
  )
  // The agent's parts are not for the controller to import.
  t.same(firstColumn('## Command line of the agent\n'), options(read('agent/options.ts')))
})
