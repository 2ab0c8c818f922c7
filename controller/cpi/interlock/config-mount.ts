import * as v from 'valibot'

/** Where a container mounts something. */
export const VolumeMount = v.object({
  name: v.string(),
  mountPath: v.string(),
  subPath: v.nullish(v.string(), ''),
})

/** Under which names keys become files; by default under their own. */
const items = v.nullish(v.array(v.object({ key: v.string(), path: v.string() })))

/** Of a Pod, as far as it is a ConfigMap or a Secret. */
export const Volume = v.object({
  name: v.string(),
  configMap: v.nullish(v.object({ name: v.optional(v.string(), ''), items })),
  secret: v.nullish(v.object({ secretName: v.optional(v.string(), ''), items })),
})

/** What a container sees of a ConfigMap or a Secret. */
export interface ConfigMount extends Pick<ConfigKey, 'kind' | 'name'> {
  /** Without a slash at its end. */
  readonly path: string
  /** The one file that is there; empty where it is a folder. */
  readonly subPath: string
  readonly items: v.InferOutput<typeof items>
}

/** Where a file's text is. */
export interface ConfigKey {
  readonly kind: 'configmap' | 'secret'
  readonly name: string
  readonly key: string
}

export function mountsOf(
  mounts: readonly v.InferOutput<typeof VolumeMount>[],
  volumes: readonly v.InferOutput<typeof Volume>[],
): readonly ConfigMount[] {
  return mounts.flatMap(({ name, mountPath, subPath }): readonly ConfigMount[] => {
    const { configMap, secret } = volumes.find((each) => each.name === name) ?? {}
    const at = { path: mountPath.replace(/\/$/, ''), subPath: subPath ?? '' }
    if (configMap) return [{ ...at, kind: 'configmap', name: configMap.name, items: configMap.items }]
    return secret ? [{ ...at, kind: 'secret', name: secret.secretName, items: secret.items }] : []
  })
}

/** Where the text of the file at this path is; undefined where it is not known to be mounted. */
export function findKey(mounts: readonly ConfigMount[], path: string): ConfigKey | undefined {
  // Of folders in one another the inner one counts.
  for (const mount of mounts.toSorted((a, b) => b.path.length - a.path.length)) {
    const inside = path.startsWith(`${mount.path}/`) ? path.slice(mount.path.length + 1) : undefined
    const file = mount.subPath === '' ? inside : path === mount.path ? mount.subPath : undefined
    if (file === undefined) continue
    const { kind, name, items } = mount
    const key = items ? items.find((each) => each.path === file)?.key : file
    return key === undefined ? undefined : { kind, name, key }
  }
  return undefined
}
