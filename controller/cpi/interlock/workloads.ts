/** DaemonSets and Deployments, as far as they may be a cloud controller manager, and where their files come from. */
import * as v from 'valibot'
import {
  containerEnvironment,
  ENVIRONMENT,
  expand,
  expandInShell,
  type ReadSources,
} from './container-environment.ts'

/** A DaemonSet or Deployment, as far as it may be a cloud controller manager. */
export interface Workload {
  readonly kind: 'DaemonSet' | 'Deployment'
  readonly namespace: string
  readonly name: string
  /** Undefined unless Helm installed it. */
  readonly release: { readonly namespace: string; readonly name: string } | undefined
  readonly account: string
  readonly images: readonly string[]
  /** Command and arguments of all containers, with the values of variables in them as far as they are known. */
  readonly words: readonly string[]
  /** What is mounted from a ConfigMap or a Secret. */
  readonly mounts: readonly ConfigMount[]
  /** The environment of each container. */
  readonly environments: readonly ReturnType<typeof containerEnvironment>[]
  /** How many Pods there are. */
  readonly pods: number
  /** Whether all of them are of the present template, as far as its controller has looked. */
  readonly upToDate: boolean
}

/** Where a container mounts something. */
const VolumeMount = v.object({
  name: v.string(),
  mountPath: v.string(),
  subPath: v.nullish(v.string(), ''),
})

/** Under which names keys become files; by default under their own. */
const items = v.nullish(v.array(v.object({ key: v.string(), path: v.string() })))

/** Of a Pod, as far as it is a ConfigMap or a Secret. */
const Volume = v.object({
  name: v.string(),
  configMap: v.nullish(v.object({ name: v.optional(v.string(), ''), items })),
  secret: v.nullish(v.object({ secretName: v.optional(v.string(), ''), items })),
})

const count = v.nullish(v.number(), 0)
const words = v.nullish(v.array(v.string()), [])
const WorkloadObject = v.object({
  metadata: v.object({
    namespace: v.string(),
    name: v.string(),
    generation: count,
    annotations: v.nullish(v.record(v.string(), v.string()), {}),
  }),
  spec: v.object({
    template: v.object({
      spec: v.object({
        serviceAccountName: v.optional(v.string(), ''),
        containers: v.array(
          v.object({
            image: v.optional(v.string(), ''),
            command: words,
            args: words,
            ...ENVIRONMENT,
            volumeMounts: v.nullish(v.array(VolumeMount), []),
          }),
        ),
        volumes: v.nullish(v.array(Volume), []),
      }),
    }),
  }),
  status: v.optional(
    v.object({
      observedGeneration: v.nullish(v.number()),
      // Of a DaemonSet.
      currentNumberScheduled: count,
      numberMisscheduled: count,
      updatedNumberScheduled: count,
      // Of a Deployment.
      replicas: count,
      updatedReplicas: count,
    }),
    {},
  ),
})

/**
 * Undefined for anything else.
 *
 * @param read the ConfigMaps and Secrets of its namespace that were read, for its environment
 */
export function parseWorkload(
  kind: Workload['kind'],
  object: unknown,
  read: ReadSources = new Map(),
): Workload | undefined {
  const parsed = v.safeParse(WorkloadObject, object)
  if (!parsed.success) return undefined
  const { metadata, spec, status } = parsed.output
  const { namespace, name, generation, annotations } = metadata
  const { containers, serviceAccountName, volumes } = spec.template.spec
  // Pods on Nodes that the DaemonSet does not mean any more are never counted as updated.
  const [current, updated, strays] =
    kind === 'DaemonSet'
      ? [status.currentNumberScheduled, status.updatedNumberScheduled, status.numberMisscheduled]
      : [status.replicas, status.updatedReplicas]
  const environments = containers.map((container) => containerEnvironment(container, read))
  return {
    kind,
    namespace,
    name,
    release: releaseOf(annotations ?? {}),
    account: serviceAccountName,
    images: containers.map(({ image }) => image),
    words: containers.flatMap(({ command, args }, index) => {
      const shown = environments[index]?.shown ?? new Map<string, string>()
      return [...(command ?? []), ...(args ?? [])].flatMap((word) => wordsIn(expand(word, shown), shown))
    }),
    mounts: containers.flatMap(({ volumeMounts }) => mountsOf(volumeMounts ?? [], volumes ?? [])),
    environments,
    pods: (current ?? 0) + (strays ?? 0),
    // Where nobody has looked at it yet, it has no Pods.
    upToDate: (status.observedGeneration ?? generation) === generation && (updated ?? 0) >= (current ?? 0),
  }
}

/** As Helm marks each object of a release. */
function releaseOf(annotations: Readonly<Record<string, string>>): Workload['release'] {
  const name = annotations['meta.helm.sh/release-name']
  const namespace = annotations['meta.helm.sh/release-namespace']
  return name === undefined || namespace === undefined ? undefined : { namespace, name }
}

/**
 * A shell's script is taken apart, as in `sh -c "exec cpi --v=2"`: without its comments, and at what ends a command. Its quotes
 * part nothing that matters here.
 */
function wordsIn(word: string, shown: ReadonlyMap<string, string>): readonly string[] {
  if (/^-|^\S*$/.test(word)) return [word]
  const commands = word.replaceAll('\\\n', ' ').replaceAll(/(^|\s)#.*$/gm, ' ')
  const script = expandInShell(commands, shown)
  return script.replaceAll(/['"]/g, '').split(/[\s;&|()]+/)
}

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

function mountsOf(
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
