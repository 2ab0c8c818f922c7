import t from 'tap'
import { loadConfig } from '../config/load.ts'
import type { KubeClient, KubeRequest } from '../kubernetes/client.ts'
import { checkForeignSecrets } from './foreign-secrets.ts'
import { findManagers } from './interlock/find-cpi.ts'
import { parseWorkload } from './interlock/workloads.ts'

const { signal } = new AbortController()

/** Asks for a CPI in this namespace whose file says this; returns what was asked, and what was said. */
async function check(namespace: string, global: string, answer: () => unknown, account = '') {
  const workload = parseWorkload('Deployment', {
    metadata: { namespace, name: 'cpi' },
    spec: {
      template: {
        spec: { serviceAccountName: account, containers: [{ args: ['--cloud-provider=vsphere'] }] },
      },
    },
  })
  const [cpi] = findManagers(workload === undefined ? [] : [workload]).cpi
  if (cpi === undefined) throw new Error('it looks like a CPI')
  const text = `global: {${global}}\nvcenter: {vc1: {server: vc.test, datacenters: [DC0]}}`
  const { config } = await loadConfig({
    path: '/etc/cpi/vsphere.conf',
    readFile: async () => Buffer.from(text),
    readFolder: () => Promise.reject(Object.assign(new Error('none'), { code: 'ENOENT' })),
  })
  const asked: KubeRequest[] = []
  const client: KubeClient = {
    async request(request) {
      asked.push(request)
      return answer()
    },
    stream: () => Promise.reject(new Error('not used')),
    close: async () => undefined,
  }
  const result = await checkForeignSecrets(client, cpi, config, signal)
  return { asked: asked.map(({ body }) => body), said: result.ok ? undefined : result.message }
}

const FOREIGN = 'secretName: login, secretNamespace: kube-system'
const allowed = (allowed: boolean) => () => ({ status: { allowed } })
const never = () => {
  throw new Error('forbidden')
}

t.test('a Secret of another namespace is read only where the CPI may read it itself', async (t) => {
  t.match(await check('tenant', FOREIGN, allowed(false), 'builder'), {
    said: /^the file of Deployment tenant\/cpi names the Secret kube-system\/login, which its own account tenant\/builder may not get: it is not read; .*--config$/,
    asked: [
      {
        spec: {
          user: 'system:serviceaccount:tenant:builder',
          groups: { 1: 'system:serviceaccounts:tenant' },
          resourceAttributes: { verb: 'get', resource: 'secrets', namespace: 'kube-system', name: 'login' },
        },
      },
    ],
  })
  t.match(await check('tenant', FOREIGN, allowed(true)), {
    said: undefined,
    asked: [{ spec: { user: 'system:serviceaccount:tenant:default' } }],
  })
  t.match(await check('tenant', FOREIGN, never), { said: /cannot be found out: forbidden; .*administrator/ })
  t.match(await check('tenant', `${FOREIGN}, insecureFlag: true`, allowed(true)), {
    said: /by insecureFlag its vCenter's certificate is not checked: nothing is sent there/,
    asked: [],
  })
})

t.test(
  'nobody is asked about a Secret of its own, a password in its file, or a CPI in kube-system',
  async (t) => {
    const none = { said: undefined, asked: [] }
    t.same(
      await check('tenant', 'secretName: login, secretNamespace: tenant, insecureFlag: true', never),
      none,
    )
    t.same(await check('tenant', 'user: u, password: p', never), none)
    t.same(await check('kube-system', 'secretName: login, secretNamespace: other', never), none)
  },
)
