/** What ARCHITECTURE.md says and lint cannot see. Which folder may import which is in biome.json, and fails there. */
import { existsSync, readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const architecture = read('ARCHITECTURE.md')
const [before = '', table = '', after = ''] = architecture.split(/^## (?:Where to look|Rules that hold .*)$/m)

/** Files that send more than reads, and the one that opens ports. To vCenter each call is a POST. */
const ACTING: readonly string[] = [
  // Who the agent is, and its report.
  'agent/identity.ts',
  'agent/publish.ts',
  // Asks who we are, and what an account may do.
  'controller/kubernetes/access-review.ts',
  // Asks who a token belongs to, and what a user may see.
  'controller/kubernetes/delegated-access.ts',
  'controller/kubernetes/event-writer.ts',
  'controller/kubernetes/lease.ts',
  'controller/kubernetes/node-writer.ts',
  // A trial that the API server must refuse.
  'controller/kubernetes/policy-check.ts',
  'controller/telemetry/server.ts',
  'controller/vcenter/collect/tags.ts',
  'controller/vcenter/wire/soap.ts',
]

async function allSources(folder: string): Promise<string[]> {
  const files: string[] = []
  for await (const file of glob(`${folder}/**/*.ts`, { cwd: root })) files.push(file)
  return files.sort()
}

/** The programs' own files below a folder, without tests and what is for tests alone. */
async function sources(folder: string): Promise<string[]> {
  const files = await allSources(folder)
  return files.filter((file) => !file.endsWith('.test.ts') && !file.includes('/testing/'))
}

function matches(files: readonly string[], pattern: RegExp): string[] {
  return files.flatMap((file) => [...read(file).matchAll(pattern)].map(([text]) => `${file}: ${text}`))
}

/** Where the sources of both programs match. */
async function found(pattern: RegExp): Promise<string[]> {
  const files = await sources('{agent,controller}')
  t.ok(files.length > 200)
  return matches(files, pattern)
}

function quoted(text: string): string[] {
  return [...text.matchAll(/`([^`\s]+)`/g)].map(([, name = '']) => name)
}

t.test('each file that the table of questions names exists', async (t) => {
  const rows = table.split('\n').filter((line) => line.includes('`'))
  t.ok(rows.length > 15)
  for (const row of rows) {
    let folder = ''
    for (const name of quoted(row.split('|')[2] ?? '')) {
      // A name without a folder stands in that of the name before it.
      const path = name.includes('/') ? name : join(folder, name)
      t.ok(existsSync(join(root, path)), path)
      folder = join(path, '..')
    }
  }
})

t.test('each file and folder that the text names exists', async (t) => {
  const names = quoted(before + after).filter((name) => /\/$|\.(ts|yaml|json)$/.test(name))
  t.ok(names.length > 20)
  for (const name of names) {
    const homes = [
      '',
      'agent',
      'controller',
      'controller/loops/node/decide',
      'controller/vcenter',
      'manifests',
    ]
    t.ok(
      homes.some((home) => existsSync(join(root, home, name))),
      name,
    )
  }
})

t.test(
  'what gathers, decides and judges imports no package that could make a call, however indirectly',
  async (t) => {
    const judging = [
      'controller/inspect/doctor/judge.ts',
      'controller/inspect/status/node-status.ts',
      'agent/report.ts',
    ]
    const reached = new Set([...(await sources('controller/{gather,decide,node,types}')), ...judging])
    t.ok(reached.size > 50)
    const packages = new Set<string>()
    for (const file of reached) {
      // What is imported as a type alone does not run.
      const imported = /^(?:import|export) (?!type\b)(?:[^'"]*? from )?'([^']+)'/gm
      for (const [, specifier = ''] of read(file).matchAll(imported)) {
        if (specifier.startsWith('.')) reached.add(resolve('/', file, '..', specifier).slice(1))
        else packages.add(specifier)
      }
    }
    // Of node:crypto there are hashes alone: .oxlintrc.json forbids its randomness.
    t.strictSame([...packages].sort(), ['ipaddr.js', 'node:crypto', 'node:net', 'valibot'])
  },
)

t.test('few files write, and one opens ports', async (t) => {
  const acting = await found(/method: '(?:POST|PUT|PATCH|DELETE)'|create(?:Secure)?Server\(/g)
  t.strictSame([...new Set(acting.map((each) => each.replace(/:.*/s, '')))], ACTING)
})

t.test('only the clock knows the time', async (t) => {
  t.strictSame(await found(/\bDate\(\)/g), [])
})

t.test('an AbortSignal is the last parameter', async (t) => {
  t.strictSame(await found(/\bsignal: AbortSignal,\s*\w+\??: (?!Abort)\w+/g), [])
})

t.test('the name of an exported type means one thing', async (t) => {
  const files = await allSources('{agent,build,controller,manifests,test}')
  const definitions = matches(files, /^export (?:interface|type|class) \w+/gm)
  const names = definitions.map((line) => line.split(' ').at(-1) ?? '')
  t.ok(names.length > 800)
  const twice = definitions.filter(
    (_, i) => names.indexOf(names[i] ?? '') !== names.lastIndexOf(names[i] ?? ''),
  )
  t.same(twice, [])
})
