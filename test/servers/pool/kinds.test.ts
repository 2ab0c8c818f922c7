import t from 'tap'
import { apiPath } from './kinds.ts'

const core = { root: '/api/v1', group: '' }
const kinds = [
  ...['nodes', 'pods', 'services', 'endpoints', 'events'].map((name) => ({ ...core, name })),
  { root: '/apis/apps/v1', group: 'apps', name: 'daemonsets' },
  { root: '/apis/events.k8s.io/v1', group: 'events.k8s.io', name: 'events' },
  { root: '/apis/rollcall.dev/v1alpha1', group: 'rollcall.dev', name: 'nodereports' },
]

t.test('the path of what is stored under a key', async (t) => {
  for (const [key, path] of [
    ['/registry/minions/n1', '/api/v1/nodes/n1'],
    ['/registry/pods/default/p1', '/api/v1/namespaces/default/pods/p1'],
    ['/registry/services/specs/default/s1', '/api/v1/namespaces/default/services/s1'],
    ['/registry/services/endpoints/default/e1', '/api/v1/namespaces/default/endpoints/e1'],
    ['/registry/events/default/e1', '/api/v1/namespaces/default/events/e1'],
    ['/registry/daemonsets/kube-system/d1', '/apis/apps/v1/namespaces/kube-system/daemonsets/d1'],
    ['/registry/rollcall.dev/nodereports/n1', '/apis/rollcall.dev/v1alpha1/nodereports/n1'],
    ['/registry/example.com/things/default/t1', undefined],
    ['/registry/ranges/servicenodeports', undefined],
  ] as const)
    t.equal(apiPath(key, kinds), path, key)
})
