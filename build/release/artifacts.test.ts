import { posix } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import t from 'tap'
import { readTar } from '../tar.ts'
import { type Artifact, documents, manifests, packedChart } from './artifacts.ts'

const source = { version: '1.2.3', revision: 'abc', created: '2026-01-02T03:04:05Z' }
const REGISTRY = 'registry.example.com:5000/rollcall'

async function all(made: AsyncGenerator<Artifact>): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for await (const { name, content } of made) found.set(name, content.toString('latin1'))
  return found
}

async function unpacked(archive: Buffer): Promise<ReadonlyMap<string, string>> {
  const files = await readTar(await promisify(gunzip)(archive), () => true)
  return new Map(
    files.flatMap((file) => (file.type === 'file' ? [[file.path, file.content.toString()] as const] : [])),
  )
}

/** Every image that a manifest or the chart's values name. */
const imagesIn = (text = '') => [...text.matchAll(/^ *image: (\S+)$/gm)].map(([, image]) => image).sort()

t.test('the manifests and the chart name the images where they will be', async (t) => {
  const names = ['rollcall-agent', 'rollcall-controller'].map((name) => `${name}:0.1.0`)
  const there = names.map((name) => `${REGISTRY}/${name}`)
  const asTheyAre = await all(manifests(source))
  const inRegistry = await all(manifests(source, REGISTRY))
  t.ok(asTheyAre.size > 5)
  for (const [file, text] of asTheyAre) {
    const agentless = file.includes('no-daemonset')
    t.strictSame(imagesIn(text), agentless ? names.slice(1) : names, file)
    t.strictSame(imagesIn(inRegistry.get(file)), agentless ? there.slice(1) : there, file)
  }
  const values = async (registry?: string) =>
    (await unpacked(await packedChart(registry))).get('rollcall/values.yaml')
  t.strictSame(imagesIn(await values()), names)
  t.strictSame(imagesIn(await values(REGISTRY)), there)
})

t.test('the docs come along, with the examples, and what they link to', async (t) => {
  const made = await all(documents(source))
  t.match(made.get('config.example.yaml'), /name: rollcall-config/)
  t.match(made.get('credentials.example.yaml'), /name: vsphere-cloud-secret/)
  const files = await unpacked(Buffer.from(made.get('rollcall-1.2.3-docs.tgz') ?? '', 'latin1'))
  const pages = [...files].filter(([path]) => path.endsWith('.md'))
  t.ok(pages.length > 15)
  const paths = [...files.keys()]
  for (const [path, text] of pages)
    for (const [, link = '', section] of text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)/g)) {
      const target = link === '' ? path : posix.join(posix.dirname(path), link)
      // Source files are for those who have the source.
      const isThere = paths.some((each) => each === target || each.startsWith(`${target}/`))
      t.ok(link.endsWith('.ts') || isThere, `${path}: ${link}`)
      if (section !== undefined)
        t.ok(sectionsOf(files.get(target)).has(section), `${path}: ${link}#${section}`)
    }
  const readme = files.get('rollcall-1.2.3/README.md') ?? ''
  for (const [, page = ''] of [...files.keys()]
    .join('\n')
    .matchAll(/^rollcall-1\.2\.3\/(docs\/[^/]+\.md)$/gm))
    t.ok(readme.includes(`(${page})`), `the README has ${page}`)
})

/** The sections of a page, as GitHub names them in links. */
function sectionsOf(page = ''): ReadonlySet<string> {
  const headings = [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading)
  return new Set(
    headings.map((each) =>
      each
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  )
}
