import { didYouMean } from '../../../agent/shared/did-you-mean.ts'
import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import { isLabelKey } from '../../config/label-selector.ts'
import { isLabelValue } from '../../types/labels.ts'

/** The CPI's controllers by their former names, which its manifests use, and by their own. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['cloud-node', 'cloud-node-controller'],
  ['cloud-node-lifecycle', 'cloud-node-lifecycle-controller'],
  ['service', 'service-lb-controller'],
  ['route', 'node-route-controller'],
])

export const ALL = { node: true, lifecycle: true, services: true, routes: true }
export const NONE = { node: false, lifecycle: false, services: false, routes: false }

const EMPTY = '--controllers is empty, so no Node is handled, as in the CPI: write * for all'

/**
 * Reads `--controllers`: `*` is all, a name is that one, `-NAME` excludes that one from `*`. Where two items contradict each
 * other, the first counts. With exclusions alone, without `*`, the CPI runs nothing at all. The person who wrote that meant the
 * rest to run, so here it does.
 *
 * @param lists the values of the flag, each with its items
 */
export function chooseControllers(lists: readonly (readonly string[])[]): Result<{
  /** Nodes are initialized and kept current. */
  readonly node: boolean
  /** Nodes whose VM is gone are deleted, and those whose VM is off are tainted. */
  readonly lifecycle: boolean
  /** Services of type LoadBalancer, and routes; Rollcall supports neither. */
  readonly services: boolean
  readonly routes: boolean
  /** Whether the list only excludes controllers: with such a list the CPI itself runs nothing. */
  readonly onlyOut: boolean
  /** What the person who wrote it should know. */
  readonly warnings: readonly string[]
}> {
  const items = lists.flat()
  if (lists.length === 0) return ok({ ...ALL, onlyOut: false, warnings: [] })
  if (items.length === 0) return ok({ ...NONE, onlyOut: false, warnings: [EMPTY] })
  const known = [...NAMES.keys(), ...NAMES.values()]
  for (const item of items) {
    const name = item.replace(/^-/, '')
    if (item === '*' || known.includes(name)) continue
    const near = didYouMean(name, known)
    const hint = near === undefined ? `known are ${known.join(', ')}` : `did you mean ${near}?`
    return failed(`--controllers: unknown controller: ${hint}`)
  }
  const chosen = items.map((item) => (item.startsWith('-') ? `-${fullName(item.slice(1))}` : fullName(item)))
  const onlyOut = chosen.every((item) => item.startsWith('-'))
  const star = onlyOut || chosen.includes('*')
  const isOn = (name: string) => chosen.find((item) => item === name || item === `-${name}`)
  const on = (name: string) => (isOn(name) ?? (star ? name : `-${name}`)) === name
  return ok({
    node: on('cloud-node-controller'),
    lifecycle: on('cloud-node-lifecycle-controller'),
    services: on('service-lb-controller'),
    routes: on('node-route-controller'),
    onlyOut,
    warnings: [
      ...(onlyOut
        ? [
            '--controllers only excludes controllers; the CPI would run nothing, but Rollcall runs the rest: write *, before it',
          ]
        : []),
      ...['service-lb-controller', 'node-route-controller'].flatMap((name) =>
        isOn(name) === name
          ? [`--controllers: ${name} is not supported; if you need it, run the CPI for it`]
          : [],
      ),
    ],
  })
}

function fullName(name: string): string {
  return NAMES.get(name) ?? name
}

/** What the CPI's library never writes for a provider (cloud-provider, node_controller.go). */
const RESERVED = /(^|\.)(kubernetes|k8s)\.io\//

/**
 * The labels of `--node-labels`, by the CPI's rules: keys are checked, and those of Kubernetes' own namespaces are left out
 * with a warning. Values are checked, too: the CPI's Nodes would wait forever, since the API server refuses them.
 */
export function checkNodeLabels(
  given: Iterable<readonly [string, string]>,
): Result<{ readonly labels: Readonly<Record<string, string>>; readonly warnings: readonly string[] }> {
  const labels: Record<string, string> = {}
  const warnings: string[] = []
  for (const [key, value] of given) {
    if (!isLabelKey(key))
      return failed(
        '--node-labels: a key is not a valid label key: expected NAME or DOMAIN/NAME, such as example.com/rack, at most 63 characters after the slash',
      )
    if (!isLabelValue(value))
      return failed(
        `--node-labels: the value of ${key} is not a valid label value: expected at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends`,
      )
    if (RESERVED.test(key))
      warnings.push(`--node-labels: ${key} is left out, as in the CPI: that namespace is Kubernetes' own`)
    else labels[key] = value
  }
  return ok({ labels, warnings })
}
