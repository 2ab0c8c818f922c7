/** Images as the specification of the Open Container Initiative has them: plain data, put together without a daemon. */
import { hash } from 'node:crypto'
import type { Architecture } from '../programs.ts'
import { gzipped, type TarEntry, tar } from '../tar.ts'

/** Content that others name by its hash. */
interface Blob {
  readonly mediaType: string
  readonly content: Buffer
}

export interface Layer extends Blob {
  /** The hash of what is compressed. */
  readonly diffId: string
  /** A word on what is in it. */
  readonly comment: string
}

export interface PlatformImage {
  readonly architecture: Architecture
  /** From the lowest up. */
  readonly layers: readonly Layer[]
  /** How a container of the image runs by default; the user is `uid:gid`, and each of `env` is `NAME=value`. */
  readonly run: {
    readonly user: string
    readonly entrypoint: readonly string[]
    readonly env: readonly string[]
  }
}

/** An image for several architectures. */
export interface Image {
  /** As `rollcall-agent:0.1.0`, under which it is found once it is imported. */
  readonly name: string
  /** The names of the specification, as `org.opencontainers.image.version`, with their values. */
  readonly labels: Readonly<Record<string, string>>
  /** RFC 3339. */
  readonly created: string
  readonly platforms: readonly PlatformImage[]
}

interface ImageArchive {
  /** The hash that the whole image is known by, as `sha256:...`. */
  readonly digest: string
  /** Bytes that a node fetches, for each architecture. */
  readonly sizes: Readonly<Partial<Record<Architecture, number>>>
  /** A tar of an OCI layout, as container tools import it. */
  readonly archive: Buffer
}

const mediaTypes = {
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
  config: 'application/vnd.oci.image.config.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
} as const

export async function layer(comment: string, entries: readonly TarEntry[]): Promise<Layer> {
  const content = await tar(entries)
  return {
    mediaType: mediaTypes.layer,
    content: await gzipped(content),
    diffId: digest(content),
    comment,
  }
}

/** Puts an image together. It depends on nothing but its parts: the same ones make the same bytes. */
export async function imageArchive({ name, labels, created, platforms }: Image): Promise<ImageArchive> {
  const blobs = new Map<string, Blob>()
  const descriptor = (blob: Blob) => {
    blobs.set(digest(blob.content), blob)
    return { mediaType: blob.mediaType, digest: digest(blob.content), size: blob.content.length }
  }
  const sizes: Partial<Record<Architecture, number>> = {}
  const manifests = platforms.map(({ architecture, layers, run }) => {
    const platform = { architecture, os: 'linux', ...(architecture === 'arm64' && { variant: 'v8' }) }
    const config = json(mediaTypes.config, {
      created,
      ...platform,
      config: { User: run.user, Env: run.env, Entrypoint: run.entrypoint, WorkingDir: '/', Labels: labels },
      rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
      history: layers.map(({ comment }) => ({ created, comment })),
    })
    const manifest = json(mediaTypes.manifest, {
      schemaVersion: 2,
      mediaType: mediaTypes.manifest,
      config: descriptor(config),
      layers: layers.map(descriptor),
      annotations: labels,
    })
    sizes[architecture] = [manifest, config, ...layers].reduce((sum, { content }) => sum + content.length, 0)
    return { ...descriptor(manifest), platform }
  })
  const index = json(mediaTypes.index, {
    schemaVersion: 2,
    mediaType: mediaTypes.index,
    manifests,
    annotations: labels,
  })
  const annotations = {
    // What containerd calls it, so that manifests find it by its short name; and what others do.
    'io.containerd.image.name': `docker.io/library/${name}`,
    'org.opencontainers.image.ref.name': name.replace(/^.*:/, ''),
  }
  const entry = json(mediaTypes.index, {
    schemaVersion: 2,
    mediaType: mediaTypes.index,
    manifests: [{ ...descriptor(index), annotations }],
  })
  const file = (path: string, content: Buffer): TarEntry => ({ type: 'file', path, mode: 0o644, content })
  const archive = await tar([
    file('oci-layout', Buffer.from(JSON.stringify({ imageLayoutVersion: '1.0.0' }))),
    file('index.json', entry.content),
    ...[...blobs].map(([name, { content }]) => file(`blobs/${name.replace(':', '/')}`, content)),
  ])
  return { digest: digest(index.content), sizes, archive }
}

function json(mediaType: string, value: unknown): Blob {
  return { mediaType, content: Buffer.from(JSON.stringify(value)) }
}

function digest(content: Buffer): string {
  return `sha256:${hash('sha256', content, 'hex')}`
}
