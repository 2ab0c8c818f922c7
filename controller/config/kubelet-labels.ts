import { BETA_LABELS } from '../types/well-known.ts'

/** Labels that a kubelet may set on its own Node although they are Kubernetes' own (pkg/apis `kubeletLabels`, 0.36). */
const ALLOWED: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  ...Object.entries(BETA_LABELS).flat(),
])
const ALLOWED_DOMAINS = ['kubelet.kubernetes.io', 'node.kubernetes.io']

/**
 * Whether the admission plugin NodeRestriction lets a kubelet set, change and remove this label of its own Node: any label
 * except Kubernetes' own, and of those the ones that describe the machine.
 */
export function kubeletMaySet(key: string): boolean {
  const [domain] = key.includes('/') ? key.split('/') : []
  if (domain === undefined) return true
  if (within(domain, 'node-restriction.kubernetes.io')) return false
  if (!within(domain, 'kubernetes.io') && !within(domain, 'k8s.io')) return true
  return ALLOWED.has(key) || ALLOWED_DOMAINS.some((allowed) => within(domain, allowed))
}

function within(domain: string, parent: string): boolean {
  return domain === parent || domain.endsWith(`.${parent}`)
}
