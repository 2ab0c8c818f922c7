import { API_GROUP } from '../../agent/shared/node-report.ts'
import { hasStatus } from './api-error.ts'

/** Why something cannot be read from the API server, in one sentence with the next step, for whoever runs a command. */
export function unread(what: string, error: unknown): string {
  const said = error instanceof Error ? error.message : String(error)
  return `${what} cannot be read: ${said}${next(said, error)}`
}

function next(said: string, error: unknown): string {
  if (hasStatus(error, 401))
    return '; the credential has expired or is for another cluster: check --kubeconfig'
  if (hasStatus(error, 403)) return '; docs/explain.md lists the rights that are needed'
  if (hasStatus(error, 404) && said.includes(`/apis/${API_GROUP}/`))
    return '; the CRD is not there: apply the manifests of Rollcall'
  return /failed:/.test(said)
    ? '; check that the API server of this kubeconfig answers: kubectl get nodes'
    : ''
}
