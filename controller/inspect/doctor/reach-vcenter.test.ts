import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { systemClock } from '../../../agent/shared/clock.ts'
import { startNameServer } from '../../../test/fixtures/name-server.ts'
import { openSlowLink } from '../../../test/fixtures/slow-link.ts'
import { Secret } from '../../config/secret.ts'
import { BASE } from '../../config/testing/load.ts'
import { createNames } from '../../vcenter/wire/names.ts'
import { REACH } from './reach-vcenter.ts'

t.test('a name with two addresses, of which only the slow one can be reached', async (t) => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const link = await openSlowLink((server.address() as AddressInfo).port)
  t.teardown(() => link.close())
  const nameServer = await startNameServer(new Map([['vc.example', ['127.0.0.1', '::1']]]))
  t.teardown(() => nameServer.close())
  const { signal } = new AbortController()
  const sources = { hostsFile: '/nowhere', resolverFile: '/nowhere', servers: [nameServer.address] }
  const around = {
    config: { ...BASE, server: 'vc.example', port: link.port, password: new Secret('') },
    server: `vc.example:${link.port}`,
    isController: async () => true,
    names: createNames({ clock: systemClock, signal, sources }),
  }
  t.same(await REACH.dns.look(around, signal), ['127.0.0.1', '::1'])
  await link.fill()
  await REACH.tcp.look(around, signal)
})
