import t from 'tap'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import { createLogLines } from '../kubernetes/testing/log-lines.ts'
import { createTwinIdentities } from './twin-identities.ts'

t.test('servers that say they are one vCenter are told once, both by name', async (t) => {
  const clock = createHandClock()
  const { logger, lines } = createLogLines()
  const ids = new Map<string, string>()
  const twins = createTwinIdentities({
    servers: { main: 'a 443', tenant: 'a 443', other: 'b 443', third: 'c 443' },
    inventories: ['main', 'tenant', 'other', 'third'].map((vCenter) => ({
      vCenter,
      instanceUUID: () => ids.get(vCenter) ?? '',
    })),
    clock,
    random: () => 0.5,
    logger,
  })
  const ending = new AbortController()
  const running = twins.run(ending.signal)
  await clock.turn(2_000)
  t.same(lines, [], 'nothing is known yet')
  for (const name of ['main', 'tenant']) ids.set(name, 'one')
  ids.set('third', 'three')
  await clock.turn(2_000)
  t.same(lines, [], 'two accounts of one server')
  ids.set('other', 'one')
  await clock.turn(2_000)
  await clock.turn(2_000)
  t.match(lines, [{ level: 40, vCenters: ['main', 'tenant', 'other'] }])
  t.equal(lines.length, 1)
  t.match(twins.remarks(), [/^vCenters main, tenant, other say that they are one/])
  ending.abort()
  await running
})
