import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { readTar, type TarEntry } from '../tar.ts'
import { type Image, imageArchive, layer } from './oci.ts'

const file = (path: string, text: string): TarEntry => ({
  type: 'file',
  path,
  mode: 0o755,
  content: Buffer.from(text),
})
const sha256 = (content: Buffer) => `sha256:${createHash('sha256').update(content).digest('hex')}`

async function sample(reversed = false): Promise<Image> {
  const shared = [file('lib/libc.so.6', 'libc'), file('etc/passwd', 'root')]
  const base = await layer('base', reversed ? shared.reverse() : shared)
  const run = { user: '65532:65532', entrypoint: ['/tool'], env: [] }
  const platforms = await Promise.all(
    (['amd64', 'arm64'] as const).map(async (architecture) => ({
      architecture,
      layers: [base, await layer('tool', [file('tool', architecture)])],
      run,
    })),
  )
  const labels = { 'org.opencontainers.image.version': '1.2.3' }
  return { name: 'tool:1.2.3', labels, created: '2026-01-02T03:04:05Z', platforms }
}

/** The files of an archive by their paths. */
async function filesOf(archive: Buffer): Promise<Map<string, Buffer>> {
  const entries = await readTar(archive, () => true)
  return new Map(entries.flatMap((entry) => (entry.type === 'file' ? [[entry.path, entry.content]] : [])))
}

interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
  readonly platform?: { readonly architecture: string; readonly variant?: string }
  readonly annotations?: Readonly<Record<string, string>>
}

interface Document {
  readonly manifests: readonly Descriptor[]
  readonly layers: readonly Descriptor[]
  readonly config: Descriptor
}

t.test('an image put together twice has one hash', async (t) => {
  const [once, again] = [await imageArchive(await sample()), await imageArchive(await sample(true))]
  t.equal(once.digest, again.digest)
  t.ok(once.archive.equals(again.archive))
})

t.test('all that it names is there, with its hash and size', async (t) => {
  const { archive, digest, sizes } = await imageArchive(await sample())
  const files = await filesOf(archive)
  const blob = (descriptor: Descriptor) => {
    const content = files.get(`blobs/${descriptor.digest.replace(':', '/')}`) ?? Buffer.alloc(0)
    t.equal(sha256(content), descriptor.digest)
    t.equal(content.length, descriptor.size)
    return content
  }
  const read = (descriptor: Descriptor): Document => JSON.parse(blob(descriptor).toString())
  t.strictSame(JSON.parse(files.get('oci-layout')?.toString() ?? ''), { imageLayoutVersion: '1.0.0' })
  const { manifests: entries }: Document = JSON.parse(files.get('index.json')?.toString() ?? '')
  t.equal(entries.length, 1)
  t.equal(entries[0]?.digest, digest)
  t.equal(entries[0]?.annotations?.['io.containerd.image.name'], 'docker.io/library/tool:1.2.3')
  const images = entries.flatMap((entry) => read(entry).manifests)
  t.strictSame(
    images.map(({ platform }) => platform),
    [
      { architecture: 'amd64', os: 'linux' },
      { architecture: 'arm64', os: 'linux', variant: 'v8' },
    ],
  )
  for (const image of images) {
    const { config, layers } = read(image)
    const architecture = image.platform?.architecture ?? ''
    const parts = [config, ...layers].reduce((sum, { size }) => sum + size, image.size)
    t.equal(sizes[architecture === 'arm64' ? 'arm64' : 'amd64'], parts)
    const contents = layers.map((each) => gunzipSync(blob(each)))
    t.match(JSON.parse(blob(config).toString()), {
      architecture,
      created: '2026-01-02T03:04:05Z',
      config: {
        User: '65532:65532',
        Entrypoint: ['/tool'],
        Labels: { 'org.opencontainers.image.version': '1.2.3' },
      },
      rootfs: { type: 'layers', diff_ids: contents.map(sha256) },
    })
    t.equal((await filesOf(contents[1] ?? Buffer.alloc(0))).get('tool')?.toString(), architecture)
  }
  t.equal(files.size, 2 + 1 + 2 * 3 + 1, 'the layer that both have is there once')
})
