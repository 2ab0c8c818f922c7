import { setTimeout as sleep } from 'node:timers/promises'
import { makeRequest, type RequestParts } from '../../controller/loops/certificates/testing/make-request.ts'
import { PATIENCE } from '../fixtures/until.ts'
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

/** Lets the controller approve certificates, and resolves once the policy acts. */
export async function allowApprovals(cluster: Cluster): Promise<void> {
  await applyManifests(cluster, [`${COMPONENT}/rbac.yaml`, `${COMPONENT}/policy-approve-certificate.yaml`])
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
  const start = Date.now()
  for (;;) {
    const { status } = await readRequestObject(cluster, name)
    if (status?.certificate) return Buffer.from(status.certificate, 'base64').toString()
    if (Date.now() - start > PATIENCE)
      throw new Error(`${name} has no certificate: ${JSON.stringify(status)}`)
    await sleep(50)
  }
}
