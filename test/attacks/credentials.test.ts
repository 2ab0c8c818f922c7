import { generateKeyPairSync } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type CertificateIdentity, createCertificateAuthority } from '../servers/pki.ts'
import { reportObject } from '../world/crowd.ts'
import { kubeletIdentity } from '../world/kubelet.ts'
import { createAgentPod, createObject, serviceAccountToken } from '../world/service-account.ts'
import { deletePod, podOf } from './objects.ts'
import { checkRefused, runTheme } from './refused.ts'
import { credentials } from './rows/credentials.ts'
import type { AttackRow } from './rows/row.ts'
import { AGENT, apply, openAttackStage, truth } from './stage.ts'
import { resign, signingKey, tamper, unsigned } from './tokens.ts'

const stage = await openAttackStage(t, { vms: 2 })
const { cluster } = stage
const victim = await stage.victim('worker-10')
const forger = await stage.forger('worker-1')
const forged = reportObject({
  name: victim.name,
  uid: victim.uid,
  spec: truth(forger, { nodeUID: victim.uid }),
})
const victimsPod = await createAgentPod(cluster, victim.name)
const victimsToken = await serviceAccountToken(cluster, AGENT, { pod: victimsPod })
const key = await signingKey(cluster)
const now = Math.floor(Date.now() / 1000)

/** The write that would succeed with the right credential, and is refused as the row says. */
async function tries(
  t: Test,
  row: AttackRow,
  credential: { token: string } | CertificateIdentity,
): Promise<void> {
  const sender = await stage.sender(
    'user' in credential ? { certificate: await cluster.clientCertificate(credential) } : credential,
  )
  checkRefused(t, row, await apply(sender, forged))
}

const withToken =
  (token: () => Promise<string> | string) =>
  async (t: Test, row: AttackRow): Promise<void> =>
    tries(t, row, { token: await token() })

const withCertificate =
  (identity: CertificateIdentity) =>
  async (t: Test, row: AttackRow): Promise<void> =>
    tries(t, row, identity)

await t.test('with the right one, in a dry run, the API server takes it', async (t) => {
  const query = 'fieldManager=rollcall-agent&force=true&dryRun=All'
  for (const token of [victimsToken, resign(victimsToken, (claims) => claims, key)]) {
    t.match(await apply(await stage.sender({ token }), forged, { query }), { status: 200 })
  }
  const certificate = await cluster.clientCertificate(kubeletIdentity(victim.name))
  t.match(await apply(await stage.sender({ certificate }), forged, { query }), { status: 200 })
  const boundTo = { kind: 'Node', name: victim.name, uid: victim.uid }
  const token = await serviceAccountToken(cluster, AGENT, { boundTo })
  t.match(
    await apply(await stage.sender({ token }), forged, { query }),
    { status: 200 },
    'whoever may ask for tokens of the account speaks for any node',
  )
})

await runTheme(
  t,
  credentials,
  {
    'bound to nothing': withToken(() => serviceAccountToken(cluster, AGENT)),
    'bound to a Secret': withToken(async () => {
      const secret = await createObject(cluster, 'kube-system', {
        kind: 'Secret',
        metadata: { name: 'some' },
      })
      return serviceAccountToken(cluster, AGENT, { boundTo: { kind: 'Secret', ...secret } })
    }),
    'bound to a Pod without a node': withToken(async () => {
      const pod = await createObject(cluster, 'kube-system', podOf(AGENT, 'pending'))
      return serviceAccountToken(cluster, AGENT, { pod })
    }),
    'bound to a Pod elsewhere': async (t, row) => checkRefused(t, row, await apply(forger.agentPod, forged)),
    'another account': withToken(async () => {
      await createObject(cluster, 'kube-system', { kind: 'ServiceAccount', metadata: { name: 'other' } })
      const pod = await createObject(cluster, 'kube-system', podOf('other', 'other', victim.name))
      return serviceAccountToken(cluster, 'other', { pod })
    }),
    'another namespace': withToken(async () => {
      await createObject(cluster, 'default', { kind: 'ServiceAccount', metadata: { name: AGENT } })
      const pod = await createObject(cluster, 'default', podOf(AGENT, 'agent', victim.name))
      return serviceAccountToken(cluster, AGENT, { pod, namespace: 'default' })
    }),
    'the controller': withToken(() => serviceAccountToken(cluster, 'rollcall-controller')),
    audience: withToken(() => serviceAccountToken(cluster, AGENT, { pod: victimsPod, audiences: ['vault'] })),
    // TokenRequest gives no less than ten minutes.
    expired: withToken(() =>
      resign(victimsToken, (claims) => ({ ...claims, iat: now - 7200, exp: now - 3600 }), key),
    ),
    'not yet valid': withToken(() =>
      resign(victimsToken, (claims) => ({ ...claims, nbf: now + 86_400 }), key),
    ),
    'Pod deleted': async (t, row) => {
      const pod = await createObject(cluster, 'kube-system', podOf(AGENT, 'leaving', victim.name))
      const token = await serviceAccountToken(cluster, AGENT, { pod })
      await deletePod(cluster, 'kube-system', pod.name)
      await tries(t, row, { token })
    },
    'Pod made anew': async (t, row) => {
      const pod = await createObject(cluster, 'kube-system', podOf(AGENT, 'again', victim.name))
      const token = await serviceAccountToken(cluster, AGENT, { pod })
      await deletePod(cluster, 'kube-system', pod.name)
      const { uid } = await createObject(cluster, 'kube-system', podOf(AGENT, 'again', victim.name))
      t.not(uid, pod.uid)
      await tries(t, row, { token })
    },
    'another key': withToken(() => {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      return resign(victimsToken, (claims) => claims, privateKey)
    }),
    tampered: withToken(async () => {
      const token = await serviceAccountToken(cluster, AGENT, { pod: forger.pod })
      return tamper(token, (claims) => ({
        ...claims,
        'kubernetes.io': {
          ...Object(claims['kubernetes.io']),
          node: { name: victim.name, uid: victim.uid },
        },
      }))
    }),
    unsigned: withToken(() => unsigned(victimsToken)),
    impersonation: async (t, row) => {
      const extra = 'Impersonate-Extra-authentication.kubernetes.io%2fnode-'
      const disguises: Record<string, string>[] = [
        { 'Impersonate-User': `system:node:${victim.name}` },
        { 'Impersonate-User': `system:node:${victim.name}`, 'Impersonate-Group': 'system:nodes' },
        {
          'Impersonate-User': `system:serviceaccount:kube-system:${AGENT}`,
          [`${extra}name`]: victim.name,
          [`${extra}uid`]: victim.uid,
        },
      ]
      for (const headers of disguises) {
        for (const sender of [forger.kubelet, forger.agentPod]) {
          checkRefused(t, row, await apply(sender, forged, { headers }), Object.values(headers).join(' '))
        }
      }
    },
    'proxy headers': async (t, row) => {
      const headers = { 'X-Remote-User': `system:node:${victim.name}`, 'X-Remote-Group': 'system:nodes' }
      checkRefused(t, row, await apply(forger.kubelet, forged, { headers }))
    },
    'foreign name': withCertificate(kubeletIdentity(forger.name)),
    'without the group': withCertificate({ user: `system:node:${victim.name}` }),
    'a node without a name': withCertificate(kubeletIdentity('')),
    'upper case': withCertificate(kubeletIdentity(victim.name.toUpperCase())),
    'a space': withCertificate(kubeletIdentity(`${victim.name} `)),
    "another cluster's": async (t, row) => {
      const dir = join(cluster.dir, 'another')
      await mkdir(dir)
      const ca = await createCertificateAuthority(dir)
      const certificate = await ca.client(kubeletIdentity(victim.name))
      checkRefused(t, row, await apply(await stage.sender({ certificate }), forged))
    },
    nobody: async (t, row) => checkRefused(t, row, await apply(await stage.sender({}), forged)),
  },
  victim,
)
