import type { Secret } from '../../config/secret.ts'
import { SKIP_DELETION } from '../../config/settings/environment.ts'
import type { LeaseName } from '../../kubernetes/lease.ts'
import { bool, readCSV } from '../arguments/flags.ts'
import { ALL, chooseControllers, NONE } from '../arguments/node-flags.ts'
import { FLAGS } from '../arguments/table.ts'
import type { VariableSource } from './container-environment.ts'
import { type ConfigKey, findKey, type Workload } from './workloads.ts'

/** As `kube-system/cloud-controller-manager`. */
export function textOf({ namespace, name }: LeaseName): string {
  return `${namespace}/${name}`
}

/** The CPI's own, and that of every other manager without another name in its flags (`cloud-provider/options`, v0.36). */
export const DEFAULT_LEASE: LeaseName = {
  namespace: FLAGS['leader-elect-resource-namespace'].default,
  name: FLAGS['leader-elect-resource-name'].default,
}

/** A cloud controller manager that is set up in the cluster. */
export interface Manager extends Omit<Workload, 'images' | 'words' | 'environments'> {
  /** Undefined where leader election is switched off. */
  readonly lease: LeaseName | undefined
  /** What it does to Nodes, by `--controllers`. */
  readonly controllers: {
    /** Initializes them and keeps them current, as `cloud-node`. */
    readonly node: boolean
    /** Deletes and taints them, as `cloud-node-lifecycle`. */
    readonly lifecycle: boolean
  }
  /** Whether it serves Services of type LoadBalancer, and routes; by `--controllers`, too. */
  readonly serves: { readonly services: boolean; readonly routes: boolean }
  /** Whether its environment keeps it from deleting Nodes. */
  readonly skipsDeletion: boolean
  /** Its environment variables, by name; undefined where the value is not known. */
  readonly variables: ReadonlyMap<string, Secret | undefined>
  /** What gives it variables and was not read; `whole` where the names of the variables are not known either. */
  readonly variableSources: readonly (VariableSource & { readonly whole: boolean })[]
  /** As given; undefined where they are not. */
  readonly flags: {
    readonly cloudProvider: string | undefined
    readonly controllers: string | undefined
    readonly nodeLabels: string | undefined
    readonly cloudConfig: string | undefined
    readonly clusterName: string | undefined
    readonly clusterCIDR: string | undefined
  }
  /** Where the text of the file of `--cloud-config` is. */
  readonly config: ConfigKey | undefined
}

export interface Managers {
  /** The vSphere CPI, as a rule once. */
  readonly cpi: readonly Manager[]
  /** Another cloud's, by the same flags: the default name of its Lease is the same. */
  readonly others: readonly Manager[]
}

/**
 * Tells the vSphere CPI from other clouds' managers by image and arguments: the Lease says nothing, since all have the same
 * default name.
 */
export function findManagers(workloads: readonly Workload[]): Managers {
  const theirs = workloads.filter(
    ({ name, account, images, words }) => ![name, account, ...images, ...words].some(isRollcall),
  )
  const isCPI = ({ images, words }: Workload) =>
    images.some((image) =>
      // The CSI driver's images were in the same place, cloud-provider-vsphere/csi, and have copies of that name.
      /cloud-provider-vsphere(?![/-]csi\b)|vsphere-cloud-controller|cloud-provider-for-vsphere/.test(image),
    ) ||
    words.some((word) => /vsphere-cloud-controller-manager/.test(word)) ||
    valuesOf(words, 'cloud-provider').at(-1) === 'vsphere'
  const isManager = ({ images, words }: Workload) =>
    [...images, ...words].some((each) => /cloud-controller-manager/.test(each)) ||
    // With `external` it is one of Kubernetes' own programs, which leaves Nodes to such a manager.
    valuesOf(words, 'cloud-provider').some((value) => value !== 'external')
  return {
    cpi: theirs.filter(isCPI).map(managerOf),
    others: theirs.filter((each) => isManager(each) && !isCPI(each)).map(managerOf),
  }
}

function isRollcall(word: string): boolean {
  return word.includes('rollcall')
}

function managerOf({ images: _, words, environments, ...workload }: Workload): Manager {
  const variables = new Map(environments.flatMap((each) => [...each.variables]))
  const last = (flag: string) => valuesOf(words, flag).at(-1)
  // Both add up over several flags, and a comma parts their items; an empty list of controllers is one, too.
  const all = (flag: string) => {
    const values = valuesOf(words, flag)
    return values.length === 0 ? undefined : values.filter((value) => value !== '').join(',')
  }
  const elects = bool.parse(last('leader-elect') ?? 'true')
  const [controllers, cloudConfig] = [all('controllers'), last('cloud-config')]
  // A script with several command lines may run any of them.
  const isOneOfMany = valuesOf(words, 'cloud-provider').length > 1
  const { node, lifecycle, services, routes } = isOneOfMany ? ALL : controllersOf(controllers)
  return {
    ...workload,
    variables,
    variableSources: environments.flatMap(({ unread, unreadWhole }) =>
      unread.map((each) => ({ ...each, whole: unreadWhole.includes(each) })),
    ),
    controllers: { node, lifecycle },
    serves: { services, routes },
    skipsDeletion: variables.has(SKIP_DELETION.name),
    flags: {
      cloudProvider: last('cloud-provider'),
      controllers,
      nodeLabels: all('node-labels') || undefined,
      cloudConfig,
      clusterName: last('cluster-name'),
      clusterCIDR: last('cluster-cidr'),
    },
    config: cloudConfig === undefined ? undefined : findKey(workload.mounts, cloudConfig),
    lease:
      elects.ok && !elects.value
        ? undefined
        : {
            namespace: last('leader-elect-resource-namespace') ?? DEFAULT_LEASE.namespace,
            name: last('leader-elect-resource-name') ?? DEFAULT_LEASE.name,
          },
  }
}

/** As `IsControllerEnabled` of k8s.io/controller-manager has it (v0.36.3). What cannot be read may be anything. */
function controllersOf(controllers: string | undefined): typeof ALL {
  const items = readCSV(controllers ?? '')
  const chosen = items.ok ? chooseControllers(controllers === undefined ? [] : [items.value]) : items
  if (!chosen.ok) return ALL
  return chosen.value.onlyOut ? NONE : chosen.value
}

/** Whether it initializes, deletes or taints Nodes. */
export function handlesNodes({ controllers: { node, lifecycle } }: Pick<Manager, 'controllers'>): boolean {
  return node || lifecycle
}

/** As `DaemonSet kube-system/vsphere-cpi`. */
export function nameOf({ kind, namespace, name }: Pick<Manager, 'kind' | 'namespace' | 'name'>): string {
  return `${kind} ${namespace}/${name}`
}

/**
 * The values of a flag, in either form, as often as it is given. Unlike `parseFlags` it passes over flags that it does not
 * know: the CPI may be of any version, and the words may begin with a command.
 */
function valuesOf(words: readonly string[], flag: string): readonly string[] {
  return words.flatMap((word, index) => {
    const [name = '', inline] = word.split(/=(.*)/s)
    if (name.replace(/^--?/, '').replaceAll('_', '-') !== flag || !name.startsWith('-')) return []
    const value = inline ?? words[index + 1]
    return value === undefined ? [] : [value]
  })
}
