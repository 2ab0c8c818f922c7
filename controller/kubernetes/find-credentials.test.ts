import t from 'tap'
import { controllerCredentials, operatorCredentials } from './credentials.ts'

const POD = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' }
const HOME = { HOME: '/home/ann' }
const none = { kubeconfig: undefined }
const file = (path: string, context?: string) => ({
  ok: true,
  value: { kind: 'kubeconfig', path, ...(context === undefined ? {} : { context }) },
})

t.test('a controller takes what it is given, else what its Pod has, and nothing of a person', async (t) => {
  t.same(controllerCredentials({ kubeconfig: '/k' }, POD), file('/k'))
  t.match(controllerCredentials(none, POD), { ok: true, value: { kind: 'in-cluster', host: '10.0.0.1' } })
  t.match(controllerCredentials(none, { ...HOME, KUBECONFIG: '/k' }), { ok: false })
})

t.test('a command finds the credential as kubectl does', async (t) => {
  t.same(operatorCredentials({ kubeconfig: '/k' }, { ...POD, KUBECONFIG: '/e' }), file('/k'))
  t.same(operatorCredentials(none, { ...POD, ...HOME, KUBECONFIG: '/e' }), file('/e'))
  t.match(operatorCredentials(none, { ...POD, ...HOME }), { ok: true, value: { kind: 'in-cluster' } })
  t.same(operatorCredentials(none, { ...HOME, KUBECONFIG: '' }), file('/home/ann/.kube/config'))
  t.same(
    operatorCredentials({ ...none, context: 'c' }, { ...POD, ...HOME }),
    file('/home/ann/.kube/config', 'c'),
    'a context is never that of a Pod',
  )
})

t.test('what it cannot use it names', async (t) => {
  t.match(operatorCredentials(none, { KUBECONFIG: '/a:/b' }), {
    ok: false,
    message: /name one with --kubeconfig/,
  })
  t.match(operatorCredentials(none, {}), { ok: false, message: /neither KUBECONFIG nor HOME/ })
})
