import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import { isLabelValue } from '../../types/well-known.ts'

export interface CheckedLabels {
  readonly labels: Readonly<Record<string, string>>
  readonly warnings: readonly string[]
}

const NAME = /^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/
const PREFIX = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/
/** What the CPI's library never writes for a provider (cloud-provider, node_controller.go). */
const RESERVED = /(^|\.)(kubernetes|k8s)\.io\//

/**
 * The labels of `--node-labels`, by the CPI's rules: keys are checked, and those of Kubernetes' own namespaces are left out
 * with a warning. Values are checked, too: the CPI's Nodes would wait for ever, since the API server refuses them.
 */
export function checkNodeLabels(given: Iterable<readonly [string, string]>): Result<CheckedLabels> {
  const labels: Record<string, string> = {}
  const warnings: string[] = []
  for (const [key, value] of given) {
    const [name = '', prefix] = key.split('/').reverse()
    if (key.split('/').length > 2 || !NAME.test(name) || (prefix !== undefined && !PREFIX.test(prefix)))
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
