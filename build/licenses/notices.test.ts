import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { bundle, goNotices, notices } from '../bundle.ts'
import { programs, root } from '../programs.ts'
import { nodePackage } from '../stripped-node.ts'

const dir = await mkdtemp(join(tmpdir(), 'rollcall-notices-'))
t.teardown(() => rm(dir, { recursive: true }))

/** What follows each title, by the title. */
function sections(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split(`\n${'-'.repeat(80)}\n\n`).map((section) => {
      const [title = '', ...rest] = section.split('\n')
      return [title, rest.join('\n').trim()]
    }),
  )
}

for (const [name, { entry }] of Object.entries(programs))
  t.test(`each package in ${name} comes with its license text`, async (t) => {
    const { packages } = await bundle(entry, join(dir, `${name}.cjs`))
    const found = sections(await notices([...packages, nodePackage]))
    t.ok(found.size > 2)
    for (const [title, text] of found) {
      t.match(title, /^\S+ \d+\.\d+\.\S+ \(.+\)$/)
      t.match(text, /Copyright|public domain/i, title)
    }
    if (name === 'rollcall-controller')
      t.match([...found].find(([title]) => title.startsWith('saxes '))?.[1], /^The ISC License/)
  })

t.test('a package without a text is named', async (t) => {
  const folder = join(dir, '@scope/bare')
  await mkdir(folder, { recursive: true })
  const description = { name: '@scope/bare', version: '1.0.0', license: 'ISC' }
  await writeFile(join(folder, 'package.json'), JSON.stringify(description))
  await t.rejects(notices([relative(root, folder)]), {
    message: '@scope/bare comes without its license text: add it as build/licenses/@scope+bare.txt',
  })
})

t.test('so do Go and the modules of the guest RPC tool', async (t) => {
  const found = sections(await goNotices(join(root, 'build/guestinfo')))
  t.match([...found.keys()], [/^Go go1\.\d+/, /^github\.com\/vmware\/vmw-guestinfo v0/])
  const { stdout } = await promisify(execFile)(
    'go',
    ['list', '-deps', '-f', '{{with .Module}}{{.Path}}{{end}}', '.'],
    {
      cwd: join(root, 'build/guestinfo'),
    },
  )
  t.equal(new Set(stdout.split('\n').filter((line) => line !== '')).size, found.size, 'all but ours, and Go')
  for (const [title, text] of found) t.match(text, /Redistribution and use|Apache License/, title)
})
