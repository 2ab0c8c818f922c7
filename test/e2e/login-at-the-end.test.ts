// A login takes longer than the process lives: what vCenter makes of it is found by the next one, whichever replica that is.
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { isInitialized } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 1 })
const { nodes, vcsim } = stage

t.test('a replica ends within a login: the next leader ends the session of that', async (t) => {
  const hours = 3_600_000
  const slow = await vcsim.fault({ operation: 'Login', kind: 'late', milliseconds: hours, times: 1 })
  const leaving = await stage.controller({ identity: 'leaving', until: 'answering' })
  await until('it logs in', async () => (await vcsim.sessions()).soap === 1)
  await leaving.stop()
  t.same(await vcsim.sessions(), { soap: 1, rest: 0 }, 'it did not wait for the answer')
  await vcsim.clearFaults(slow)

  const next = await stage.controller({ identity: 'next', until: 'answering' })
  const { name } = await stage.reported('node-1')
  await nodes.until('the Node is initialized', () => isInitialized(nodes.last(name)))
  await until('one session is left', async () => (await vcsim.sessions()).soap === 1)
  await next.stop()
  t.same(await vcsim.sessions(), { soap: 0, rest: 0 })
})
