import { once } from 'node:events'
import { createServer } from 'node:net'
import { pino } from 'pino'
import t from 'tap'
import { freePort } from '../../test/servers/ports.ts'
import { openPlainPort } from './server.ts'

/** Another address of this machine's than the one that a kubelet asks at. */
const OTHER = '127.0.0.2'

async function open(host: string, port: number) {
  const lines: string[] = []
  const server = await openPlainPort({
    host,
    port,
    metrics: { contentType: 'text/plain', text: async () => '' },
    healthy: () => ({ ok: true, text: 'ok' }),
    ready: () => ({ ok: true, text: 'leading' }),
    logger: pino({ base: null, timestamp: false }, { write: (line: string) => lines.push(line) }),
  })
  return { server, lines }
}

const ask = async (host: string, port: number) => (await fetch(`http://${host}:${port}/healthz`)).text()

t.test('on one address it answers on loopback too, where a Pod without an address is probed', async (t) => {
  const port = await freePort()
  const { server, lines } = await open(OTHER, port)
  t.equal(await ask(OTHER, port), 'ok\n')
  t.equal(await ask('127.0.0.1', port), 'ok\n')
  t.strictSame(lines, [])
  await server.close()
  await t.rejects(ask(OTHER, port))
  await t.rejects(ask('127.0.0.1', port))
})

t.test('where another program has that, it says so and goes on', async (t) => {
  const port = await freePort()
  const holder = createServer().listen(port, '127.0.0.1')
  await once(holder, 'listening')
  t.teardown(() => holder.close())
  const { server, lines } = await open(OTHER, port)
  t.equal(await ask(OTHER, port), 'ok\n')
  t.match(lines, [/another program has this port.*probes fail until the Node has an address/])
  await server.close()
})

t.test('an address that has loopback is opened once', async (t) => {
  for (const host of ['', '0.0.0.0', 'localhost', '127.0.0.1']) {
    const { server, lines } = await open(host, await freePort())
    t.strictSame(lines, [], host)
    await server.close()
  }
})
