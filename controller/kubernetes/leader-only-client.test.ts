import t from 'tap'
import type { KubeClient, KubeRequest } from './client.ts'
import { createLeaderOnlyClient } from './leader-only-client.ts'

t.test('writes only while the Lease is held, reads always', async (t) => {
  const sent: string[] = []
  const inner: KubeClient = {
    request: async ({ method }) => sent.push(method),
    stream: async ({ method }) => {
      sent.push(`stream ${method}`)
      return (async function* () {})()
    },
    close: async () => undefined,
  }
  let holds = true
  const client = createLeaderOnlyClient(inner, { holds: () => holds })
  const { signal } = new AbortController()
  const methods: readonly KubeRequest['method'][] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
  for (const method of methods) await client.request({ method, path: '/x', signal })
  t.same(sent.splice(0), methods)
  holds = false
  for (const method of methods.slice(1)) {
    const message = `${method} /x was not sent: another replica may hold the Lease by now`
    await t.rejects(client.request({ method, path: '/x', signal }), { message })
  }
  await client.request({ method: 'GET', path: '/x', signal })
  await client.stream({ method: 'GET', path: '/x', signal }, 1)
  t.same(sent, ['GET', 'stream GET'])
})
