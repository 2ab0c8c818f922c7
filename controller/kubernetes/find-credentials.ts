import { delimiter, join } from 'node:path'
import { failed, ok, type Result } from '../../agent/shared/result.ts'
import { SERVICE_ACCOUNT_FOLDER } from '../../agent/shared/service-account.ts'
import type { CredentialLocation } from './credentials.ts'

/** What the command line says of the credential for the API server. */
export interface CredentialFlags {
  readonly kubeconfig: string | undefined
  /** Of the kubeconfig; without it the current one. */
  readonly context?: string | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

/** The credential of a controller that runs: what it is given, or what the kubelet gives every container. */
export function controllerCredentials(
  { kubeconfig }: CredentialFlags,
  env: Environment,
): Result<CredentialLocation> {
  const location = kubeconfig === undefined ? ofPod(env) : ({ kind: 'kubeconfig', path: kubeconfig } as const)
  if (location !== undefined) return ok(location)
  return failed('--kubeconfig is missing, and this is not a Pod with a service account')
}

/**
 * The credential of whoever runs a command, found as kubectl finds it: `--kubeconfig`, `$KUBECONFIG`, that of the Pod,
 * `~/.kube/config`.
 */
export function operatorCredentials(
  { kubeconfig, context }: CredentialFlags,
  env: Environment,
): Result<CredentialLocation> {
  const path = kubeconfig ?? (env.KUBECONFIG || undefined)
  const pod = path === undefined && context === undefined ? ofPod(env) : undefined
  if (pod !== undefined) return ok(pod)
  if (kubeconfig === undefined && path?.includes(delimiter))
    return failed('KUBECONFIG names several files, which are not merged here: name one with --kubeconfig')
  if (path === undefined && !env.HOME)
    return failed('--kubeconfig is missing, and neither KUBECONFIG nor HOME is set, nor is this a Pod')
  return ok({
    kind: 'kubeconfig',
    path: path ?? join(env.HOME ?? '', '.kube/config'),
    ...(context === undefined ? {} : { context }),
  })
}

function ofPod(env: Environment): CredentialLocation | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env
  if (host === undefined || port === undefined) return undefined
  return { kind: 'in-cluster', host, port, folder: SERVICE_ACCOUNT_FOLDER }
}
