/** What ARCHITECTURE.md says and lint cannot see. */
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
  'agent/send-report.ts',
  // Asks who we are, who a token belongs to, and what an account may do.
  'controller/kubernetes/access-review.ts',
  'controller/kubernetes/event-recorder.ts',
  'controller/kubernetes/lease.ts',
  'controller/kubernetes/node-writer.ts',
  // A trial that the API server must refuse.
  'controller/kubernetes/policy-check.ts',
  // Approves certificates.
  'controller/loops/certificates/loop.ts',
  'controller/telemetry/server.ts',
  'controller/vcenter/collect/attached-tags.ts',
  'controller/vcenter/collect/tag-calls.ts',
  'controller/vcenter/wire/soap.ts',
]

/**
 * The rooms of both programs from the ground up, each with the rooms that it imports; what is not named is not imported, and
 * what is named is. `vcenter/` and `kubernetes/` know nothing of each other, and what decides knows neither. Of decide/,
 * gather/ asks for the facts and for what judges lookups.
 */
const ROOMS: Readonly<Record<string, string>> = {
  'agent/shared': '',
  agent: 'agent/shared',
  lib: 'agent/shared',
  types: 'agent/shared',
  kubernetes: 'agent/shared lib types',
  config: 'agent/shared kubernetes lib types',
  vcenter: 'agent/shared config lib types',
  'loops/node/facts': 'agent/shared config types',
  'loops/node/decide': 'agent/shared config lib loops/node/facts types',
  'loops/node/vm-probes': 'agent/shared lib loops/node/decide loops/node/facts types',
  'loops/node/gather':
    'agent/shared config lib loops/node/decide loops/node/facts loops/node/vm-probes types',
  'loops/node/apply': 'agent/shared kubernetes lib loops/node/decide loops/node/facts types',
  'loops/node':
    'agent/shared config kubernetes lib loops/node/apply loops/node/decide loops/node/facts loops/node/gather loops/node/vm-probes types',
  'loops/certificates': 'agent/shared config kubernetes lib types',
  loops: 'agent/shared config lib loops/certificates loops/node loops/node/facts types',
  telemetry: 'agent/shared config kubernetes lib loops vcenter',
  cpi: 'agent/shared config kubernetes lib telemetry types',
  leader: 'agent/shared config cpi kubernetes lib loops telemetry types vcenter',
  inspect: 'agent/shared config cpi kubernetes leader lib loops telemetry types vcenter',
  cli: 'agent/shared config cpi inspect kubernetes leader lib loops telemetry types vcenter',
}

/** The room that a file stands in: the longest name that its path begins with. */
function roomOf(path: string): string | undefined {
  const inside = path.replace('controller/', '')
  const names = Object.keys(ROOMS).filter((name) => inside.startsWith(`${name}/`))
  return names.sort((a, b) => b.length - a.length)[0]
}

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
      'controller/loops/certificates',
      'controller/loops/node',
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

t.test('each room imports the rooms that it is drawn with, and no other', async (t) => {
  const drawn = Object.entries(ROOMS).flatMap(([room, imports]) =>
    imports.split(' ').flatMap((other) => (other === '' ? [] : [`${room} -> ${other}`])),
  )
  const found = new Map<string, string>()
  for (const file of await sources('{agent,controller}')) {
    const room = roomOf(file)
    // What runs a program imports all that it is made of.
    if (room === undefined) {
      t.match(file, /^controller\/main\.ts$/)
      continue
    }
    for (const [, specifier = ''] of read(file).matchAll(/ from '(\.[^']+)'/g)) {
      const target = resolve('/', file, '..', specifier).slice(1)
      const other = roomOf(target) ?? target
      const name = room.startsWith('loops') ? other : other.replace(/^loops\/.*/, 'loops')
      if (other !== room) found.set(`${room} -> ${name}`, `${file} imports ${target}`)
    }
  }
  for (const [arrow, example] of found) t.ok(drawn.includes(arrow), `${arrow}: ${example}`)
  for (const arrow of drawn)
    t.ok(found.has(arrow), `${arrow} is drawn, and nothing is imported there any more`)
})

t.test(
  'what gathers, decides and judges imports no package that could make a call, however indirectly',
  async (t) => {
    const judging = ['controller/inspect/status/node-status.ts', 'agent/report.ts']
    const reached = new Set([
      ...(await sources('controller/{types,loops/node/{facts,gather,decide}}')),
      ...judging,
    ])
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
    for (const acting of ['log', 'tasks']) t.notOk(reached.has(`controller/lib/${acting}.ts`), acting)
    // Of node:crypto there are hashes alone: .oxlintrc.json forbids its randomness.
    t.strictSame([...packages].sort(), ['ipaddr.js', 'node:crypto', 'node:net', 'valibot'])
  },
)

t.test(
  'what is inspected is judged by values: not by the words of a message, and without a call',
  async (t) => {
    const files = await sources('controller/inspect')
    t.ok(files.length > 15)
    t.strictSame(matches(files, /\bmessage\??\.(?:includes|match|startsWith|endsWith)\(/g), [])
    t.strictSame(matches(files, /\basync judge\w*\(|\bjudge\w*\([^)]*\bsignal\b/g), [])
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
  t.ok(names.length > 500)
  const twice = definitions.filter(
    (_, i) => names.indexOf(names[i] ?? '') !== names.lastIndexOf(names[i] ?? ''),
  )
  t.same(twice, [])
})
