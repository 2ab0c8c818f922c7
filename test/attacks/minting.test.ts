// The certificate library leaves it to us to bring what its decorators need.
import 'reflect-metadata'
import { Pkcs10CertificateRequestGenerator } from '@peculiar/x509'
import t, { type Test } from 'tap'
import { until } from '../fixtures/until.ts'
import { collection, createAgentPod } from '../world/service-account.ts'
import { checkRefused, runTheme } from './refused.ts'
import { minting } from './rows/credentials.ts'
import type { AttackRow } from './rows/row.ts'
import type { Answer, AttackRequest, Sender } from './sender.ts'
import { openAttackStage } from './stage.ts'

const stage = await openAttackStage(t, { vms: 2 })
const victim = await stage.victim('worker-10')
const { kubelet, agentPod, ...forger } = await stage.forger('worker-1')
const victimsPod = await createAgentPod(stage.cluster, victim.name)

const askFor = (boundObjectRef?: object): AttackRequest => ({
  method: 'POST',
  path: `${collection('kube-system', 'ServiceAccount')}/rollcall-agent/token`,
  body: {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 3600, ...(boundObjectRef === undefined ? {} : { boundObjectRef }) },
  },
})

/** As a kubelet makes one for a Pod of its own disk. */
const mirrorPod = (nodeName: string): AttackRequest => ({
  method: 'POST',
  path: collection('kube-system', 'Pod'),
  body: {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'mirror',
      annotations: { 'kubernetes.io/config.mirror': 'x' },
      ownerReferences: [
        { apiVersion: 'v1', kind: 'Node', name: forger.name, uid: forger.uid, controller: true },
      ],
    },
    spec: {
      nodeName,
      serviceAccountName: 'rollcall-agent',
      containers: [{ name: 'agent', image: 'rollcall-agent' }],
    },
  },
})

const refused = (sender: Sender, attempt: AttackRequest) => async (t: Test, row: AttackRow) =>
  checkRefused(t, row, await sender.send(attempt))

await runTheme(
  t,
  minting,
  {
    'token bound to the Pod': async (t, row) => {
      // Neither the authorizer nor NodeRestriction knows a Pod before its watch has told.
      const known = ({ message }: Answer) => !/no relationship found|not found/.test(message)
      const answer = await until('the API server knows the Pods', async () => {
        const given = await kubelet.send(askFor({ apiVersion: 'v1', kind: 'Pod', ...victimsPod }))
        return known(given) ? given : undefined
      })
      checkRefused(t, row, answer)
    },
    'token bound to the Node': refused(
      kubelet,
      askFor({ apiVersion: 'v1', kind: 'Node', name: victim.name, uid: victim.uid }),
    ),
    'token bound to nothing': refused(kubelet, askFor()),
    'token by token': refused(agentPod, askFor({ apiVersion: 'v1', kind: 'Pod', ...victimsPod })),
    'a Pod over there': refused(kubelet, mirrorPod(victim.name)),
    'a Pod of its own': refused(kubelet, mirrorPod(forger.name)),
    certificate: async (t, row) => {
      const keys = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
        'sign',
        'verify',
      ])
      const request = await Pkcs10CertificateRequestGenerator.create({
        name: [{ O: ['system:nodes'] }, { CN: [`system:node:${victim.name}`] }],
        keys,
        signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
      })
      const answer = await kubelet.send({
        method: 'POST',
        path: '/apis/certificates.k8s.io/v1/certificatesigningrequests',
        body: {
          apiVersion: 'certificates.k8s.io/v1',
          kind: 'CertificateSigningRequest',
          metadata: { name: 'another' },
          spec: {
            signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
            request: Buffer.from(request.toString('pem')).toString('base64'),
            usages: ['digital signature', 'client auth'],
          },
        },
      })
      checkRefused(t, row, answer)
    },
  },
  victim,
)
