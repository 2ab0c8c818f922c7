import * as v from 'valibot'
import { chooseControllers } from '../cpi-arguments/controllers.ts'

/** A DaemonSet or Deployment, as far as it may be a cloud controller manager. */
export interface Workload {
  readonly kind: 'DaemonSet' | 'Deployment'
  readonly namespace: string
  readonly name: string
  readonly images: readonly string[]
  /** Command and arguments of all containers. */
  readonly words: readonly string[]
}

const WorkloadObject = v.object({
  metadata: v.object({ namespace: v.string(), name: v.string() }),
  spec: v.object({
    template: v.object({
      spec: v.object({
        containers: v.array(
          v.object({
            image: v.optional(v.string(), ''),
            command: v.nullish(v.array(v.string()), []),
            args: v.nullish(v.array(v.string()), []),
          }),
        ),
      }),
    }),
  }),
})

/** Undefined for anything else. */
export function parseWorkload(kind: Workload['kind'], object: unknown): Workload | undefined {
  const parsed = v.safeParse(WorkloadObject, object)
  if (!parsed.success) return undefined
  const { metadata, spec } = parsed.output
  const { containers } = spec.template.spec
  return {
    kind,
    ...metadata,
    images: containers.map(({ image }) => image),
    words: containers.flatMap(({ command, args }) => [...(command ?? []), ...(args ?? [])]),
  }
}

/** The Lease by which the replicas of a cloud controller manager elect one. */
export interface ManagerLease {
  readonly namespace: string
  readonly name: string
}

/** A cloud controller manager that runs in the cluster. */
export interface Manager extends Pick<Workload, 'kind' | 'namespace' | 'name'> {
  /** Undefined where leader election is switched off. */
  readonly lease: ManagerLease | undefined
  /** Whether it initialises, deletes or taints Nodes: not where `--controllers` names only others. */
  readonly handlesNodes: boolean
}

export interface Managers {
  /** The vSphere CPI, as a rule once. */
  readonly cpi: readonly Manager[]
  /** Another cloud's, by the same flags: the default name of its Lease is the same. */
  readonly others: readonly Manager[]
}

/**
 * Tells the vSphere CPI from other clouds' managers by image and arguments: the Lease tells nothing, since all have the same
 * default name (`cloud-provider/options` of Kubernetes).
 */
export function findManagers(workloads: readonly Workload[]): Managers {
  const theirs = workloads.filter(({ images, words }) => ![...images, ...words].some(isRollcall))
  const isCPI = ({ images, words }: Workload) =>
    images.some((image) =>
      /cloud-provider-vsphere|vsphere-cloud-controller|cloud-provider-for-vsphere/.test(image),
    ) ||
    words.some((word) => /vsphere-cloud-controller-manager/.test(word)) ||
    flagOf(words, 'cloud-provider') === 'vsphere'
  const isManager = ({ images, words }: Workload) =>
    [...images, ...words].some((each) => /cloud-controller-manager/.test(each)) ||
    flagOf(words, 'cloud-provider') !== undefined
  return {
    cpi: theirs.filter(isCPI).map(managerOf),
    others: theirs.filter((each) => isManager(each) && !isCPI(each)).map(managerOf),
  }
}

function isRollcall(word: string): boolean {
  return word.includes('rollcall')
}

function managerOf({ kind, namespace, name, words }: Workload): Manager {
  const elects = flagOf(words, 'leader-elect') !== 'false'
  return {
    kind,
    namespace,
    name,
    handlesNodes: handlesNodes(flagOf(words, 'controllers')),
    lease: elects
      ? {
          namespace: flagOf(words, 'leader-elect-resource-namespace') ?? 'kube-system',
          name: flagOf(words, 'leader-elect-resource-name') ?? 'cloud-controller-manager',
        }
      : undefined,
  }
}

function handlesNodes(controllers: string | undefined): boolean {
  const chosen = chooseControllers(controllers === undefined ? [] : [controllers.split(',')])
  return !chosen.ok || chosen.value.node || chosen.value.lifecycle
}

/** The last value of a flag, in either form; undefined where it is not given. */
function flagOf(words: readonly string[], flag: string): string | undefined {
  let value: string | undefined
  for (const [index, word] of words.entries()) {
    const [name = '', inline] = word.split(/=(.*)/s)
    if (name.replace(/^--?/, '').replaceAll('_', '-') !== flag || !name.startsWith('-')) continue
    value = inline ?? words[index + 1]
  }
  return value
}
