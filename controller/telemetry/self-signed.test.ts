import { createPrivateKey, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:tls'
import t from 'tap'
import { createSelfSigned, integer } from './serving-certificate.ts'

const NOW = Date.parse('2026-03-01T10:00:00Z')

t.test('a certificate for this machine, by its own key', async (t) => {
  const { cert, key } = await createSelfSigned(NOW)
  const parsed = new X509Certificate(cert)
  t.ok(parsed.checkPrivateKey(createPrivateKey(key)))
  t.ok(parsed.verify(parsed.publicKey), 'signed by itself')
  t.equal(parsed.subject, 'CN=rollcall-controller')
  t.equal(parsed.issuer, parsed.subject)
  t.equal(parsed.subjectAltName, 'DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1')
  t.same(parsed.keyUsage, ['1.3.6.1.5.5.7.3.1'])
  t.equal(Date.parse(parsed.validFrom), NOW - 3_600_000)
  t.equal(new Date(parsed.validTo).getUTCFullYear(), 2036)
  t.not(new X509Certificate((await createSelfSigned(NOW)).cert).serialNumber, parsed.serialNumber)
})

t.test('TLS takes it, and whoever has it can trust it', async (t) => {
  const pair = await createSelfSigned(Date.now())
  const server = createServer(pair, (socket) => socket.end('hello'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const socket = connect({ host: '127.0.0.1', port: address.port, ca: pair.cert, servername: 'localhost' })
  await once(socket, 'secureConnect')
  t.ok(socket.authorized)
  socket.destroy()
})

const rows: [what: string, bytes: number[], contents: number[]][] = [
  ['as it is', [0x12, 0x34], [0x12, 0x34]],
  ['with a sign', [0x80], [0, 0x80]],
  ['without leading zeros', [0, 0, 0x7f, 0], [0x7f, 0]],
  ['with the one zero that is its sign', [0, 0xff], [0, 0xff]],
  ['zero', [0, 0], [0]],
]
for (const [what, bytes, contents] of rows) {
  t.test(`an integer, ${what}`, async (t) => {
    t.same([...integer(Buffer.from(bytes))], [0x02, contents.length, ...contents])
  })
}
