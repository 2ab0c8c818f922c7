import { makeRequest, type RequestParts } from '../../controller/loops/certificates/testing/make-request.ts'
import { until } from '../fixtures/until.ts'
import type { Cluster } from '../servers/cluster.ts'
import { applyManifests } from '../servers/manifests.ts'
import { startControlPlane } from './control-plane.ts'
import type { AnyObject } from './recorder.ts'

export const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const COMPONENT = '../components/approve-certificates'

/** A CertificateSigningRequest as the API server has it. */
export interface RequestObject extends AnyObject {
  readonly metadata: AnyObject['metadata'] & { readonly creationTimestamp: string }
  readonly spec: { readonly username: string; readonly signerName: string }
  readonly status?: {
    readonly certificate?: string
    readonly conditions?: readonly {
      readonly type: string
      readonly reason: string
      readonly message: string
    }[]
  }
}

/** Lets the controller approve certificates, and resolves once the policy acts: it refuses what no kubelet has made. */
export async function allowApprovals(cluster: Cluster): Promise<void> {
  await applyManifests(cluster, [`${COMPONENT}/rbac.yaml`, `${COMPONENT}/policy-approve-certificate.yaml`])
  const probe = 'policy-probe'
  await cluster.request('POST', REQUESTS, requestObject(probe))
  const status = { conditions: [{ type: 'Approved', status: 'True', reason: 'Probe', message: 'a trial' }] }
  await until('the policy for approvals acts', async () => {
    const { body } = await cluster.request<{ message?: string }>(
      'PATCH',
      `${REQUESTS}/${probe}/approval?dryRun=All`,
      { status },
      {
        contentType: 'application/merge-patch+json',
        headers: { 'impersonate-user': 'system:serviceaccount:kube-system:rollcall-controller' },
      },
    )
    return body.message?.includes("'approve-certificate.rollcall.dev'") === true
  })
  await cluster.request('DELETE', `${REQUESTS}/${probe}`)
}

/** Starts the real kube-controller-manager, which signs what is approved with the cluster's CA. */
export function startSigner(cluster: Cluster): Promise<AsyncDisposable> {
  return startControlPlane(cluster, 'kube-controller-manager', [
    '--controllers=certificatesigningrequest-signing-controller',
    `--cluster-signing-cert-file=${cluster.caFile}`,
    `--cluster-signing-key-file=${cluster.caKeyFile}`,
  ])
}

/** The object that a kubelet creates for its serving certificate, with these changes. */
export function requestObject(name: string, parts?: RequestParts, spec: object = {}) {
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name },
    spec: {
      request: makeRequest(parts),
      signerName: 'kubernetes.io/kubelet-serving',
      usages: ['digital signature', 'server auth'],
      ...spec,
    },
  }
}

/** The request as it is now, as administrator. */
export async function readRequestObject(cluster: Cluster, name: string): Promise<RequestObject> {
  return (await cluster.request<RequestObject>('GET', `${REQUESTS}/${name}`)).body
}

/** Waits until a request has a certificate; resolves with that, in PEM. */
export async function certificateOf(cluster: Cluster, name: string): Promise<string> {
  return until(`${name} has a certificate`, async () => {
    const { status } = await readRequestObject(cluster, name)
    return status?.certificate !== undefined && Buffer.from(status.certificate, 'base64').toString()
  })
}
