import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { settled } from '../world/deletion.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 5 })
const { cluster } = stage

t.test('somebody else writes to the same Nodes all the time', async (t) => {
  const names = ['a', 'b', 'c', 'd', 'e']
  const members = await stage.machines(...names)
  for (const member of members) await member.reportOnce()
  const merge = { contentType: 'application/merge-patch+json' }
  let busy = true
  const written = new Map<string, number>()

  /** Writes until it is stopped; its last write must be what remains in the end. */
  async function meddle(path: string): Promise<void> {
    for (let round = 1; busy; round++) {
      const body = { metadata: { annotations: { 'example.com/round': `${round}` } } }
      const { status } = await cluster.request('PATCH', path, body, merge)
      if (status !== 200) throw new Error(`${path} was answered with ${status}`)
      written.set(path, round)
      await nextTurn()
    }
  }
  const paths = names.map((name) => `/api/v1/nodes/${name}`)
  const meddling = Promise.all(paths.map(meddle))
  const controller = await stage.controller()
  await settled(stage, ...names)
  busy = false
  await meddling

  const metrics = await controller.metrics()
  const conflicts = [...metrics.matchAll(/^rollcall_api_requests_total\{.*code="409"\} (\d+)$/gm)]
  const count = conflicts.reduce((sum, [, value]) => sum + Number(value), 0)
  t.ok(
    count > 0,
    `${count} conflicts while others wrote ${[...written.values()].reduce((a, b) => a + b, 0)} times`,
  )
  for (const path of paths) {
    const { body } = await cluster.request<{ metadata: { annotations: Record<string, string> } }>('GET', path)
    t.equal(
      body.metadata.annotations['example.com/round'],
      `${written.get(path)}`,
      `${path} has lost nothing`,
    )
  }
  t.notMatch(controller.output(), /write refused|reconcile failed/, 'a conflict is nothing to complain about')
})
