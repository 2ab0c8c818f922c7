import { attempt, failed, messageOf, ok, type Result } from '../../agent/shared/result.ts'
import type { Config, VCenterCredentials } from '../config/config.ts'
import { describeSource } from '../config/credential-source.ts'
import { accountOf, reviewAccess } from '../kubernetes/access-review.ts'
import type { KubeClient } from '../kubernetes/client.ts'
import { DEFAULT_LEASE, type Manager, nameOf, textOf } from './interlock/find-cpi.ts'

/**
 * Whether the Secrets that the file of this CPI names may be read with the rights of whoever runs the command. Outside kube-system
 * anybody who may run a Pod may seem to be a CPI, and could have any Secret of the cluster sent to a server of their own. So a Secret of
 * another namespace is read only where the CPI may read it itself, and sent only where the server is checked.
 *
 * @returns an error that says what to do
 */
export async function checkForeignSecrets(
  client: KubeClient,
  cpi: Manager,
  { credentials, vCenters }: Pick<Config, 'credentials' | 'vCenters'>,
  signal: AbortSignal,
): Promise<Result<undefined>> {
  if (cpi.namespace === DEFAULT_LEASE.namespace) return ok(undefined)
  const instead = 'if it is the CPI of this cluster, name its vsphere.conf with --config'
  for (const { name, trust } of vCenters) {
    const source = credentials[name]
    if (source?.kind !== 'secret' || source.namespace === cpi.namespace) continue
    const what = `the file of ${nameOf(cpi)} names ${describeSource(source)}`
    if (trust.kind === 'insecure')
      return failed(
        `${what} of another namespace, and by insecureFlag its vCenter's certificate is not checked: nothing is sent there; ${instead}`,
      )
    const allowed = await attempt(() => mayRead(client, cpi, source, signal))
    signal.throwIfAborted()
    if (!allowed.ok)
      return failed(
        `${what} of another namespace, and whether that CPI may read it cannot be found out: ${messageOf(allowed.error)}; use the kubeconfig of an administrator, or ${instead}`,
      )
    if (!allowed.value)
      return failed(
        `${what}, which its own account ${textOf(accountOfCPI(cpi))} may not get: it is not read; ${instead}`,
      )
  }
  return ok(undefined)
}

function mayRead(
  client: KubeClient,
  cpi: Manager,
  { namespace, name }: Extract<VCenterCredentials, { readonly kind: 'secret' }>,
  signal: AbortSignal,
): Promise<boolean> {
  const secret = { verb: 'get', group: '', resource: 'secrets', namespace, name }
  return reviewAccess(client, accountOf(accountOfCPI(cpi)), secret, signal)
}

function accountOfCPI({ namespace, account }: Manager) {
  return { namespace, name: account || 'default' }
}
