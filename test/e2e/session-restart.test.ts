import t from 'tap'
import { until } from '../fixtures/until.ts'
import type { Vcsim } from '../servers/vcsim.ts'
import { type ApiProxy, startApiProxy } from '../world/api-proxy.ts'
import type { CrowdMember } from '../world/crowd.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { metric } from '../world/meters.ts'
import { condition, eventsOf, isShutDown, level } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

// Two vCenters restart at once: their sessions die, they refuse connections, then answer 503 while they load.
const COUNT = 40
/** So quick that whatever could be deleted on this ground would be, several times over. */
const lifecycle = { absentFor: '1s', confirmations: 2, leaderAge: '0s', maxAbsentMinimum: COUNT }

const stage = await openStage(t, { vms: COUNT })
const { cluster, nodes, reports, events, vcsim } = stage
const other = await stage.vCenter({ vms: 2, seed: 'second' })
const vCenters: readonly Vcsim[] = [vcsim, other]
const lines = await Promise.all(vCenters.map(({ url }) => startApiProxy(url)))
for (const line of lines) t.teardown(() => line.close())
const [main, second] = vCenters.map((vCenter, i) => ({ ...vCenter, port: portOf(lines[i]) }))
if (!main || !second) throw new Error('there are two vCenters')
const controller = await stage.controller({ lifecycle, vcsim: main, otherVCenters: { second } })
const crowd = await stage.crowd(COUNT)
const [first, next, silent] = crowd
if (!first || !next || !silent) throw new Error('the crowd is too small')

t.test('a restart of all vCenters', async (t) => {
  const shutDown = ({ name }: CrowdMember) => isShutDown(nodes.last(name))
  const pending = () => condition(reports.last(silent.name), 'DeletionPending')
  const all = (act: (vCenter: Vcsim) => Promise<unknown>) => Promise.all(vCenters.map(act))
  await until('vCenter watches all', async () => {
    await vcsim.setState({ vm: next.vm.ref, powerState: 'suspended' })
    return shutDown(next)
  })
  await vcsim.setState({ vm: next.vm.ref, powerState: 'poweredOn' })
  await nodes.until('it runs', () => !shutDown(next))
  await loseHeartbeats(cluster, silent.name)

  for (const vCenter of vCenters) t.match(await vCenter.sessions(), { soap: 1 })
  const touched = new Map(crowd.map(({ name }) => [name, nodes.of(name).length]))
  await nodes.until('its kubelet is silent', () => nodes.of(silent.name).length > 0)

  for (const line of lines) line.set('cut')
  await all((vCenter) => vCenter.endSessions())
  await until('it is told', async () => {
    const problems = await controller.readyz()
    return problems.includes('vCenter main: ') && problems.includes('vCenter second: ')
  })
  t.match(await stage.says(silent.name, 'DeletionPending', { status: 'Unknown' }), {
    reason: /^(Unreachable|Unavailable)$/,
    message: /the Node is kept/,
  })
  // It happens while nobody can hear of it.
  await vcsim.setState({ vm: first.vm.ref, powerState: 'poweredOff' })
  await all((vCenter) => vCenter.fault({ operation: '*', kind: 'status', status: 503 }))
  for (const line of lines) line.set('works')
  await until('they answer again, and are not ready', async () =>
    (await Promise.all(vCenters.map((vCenter) => vCenter.faults()))).every(
      (faults) => (faults[0]?.hits ?? 0) > 0,
    ),
  )

  await all((vCenter) => vCenter.resetCalls())
  await all((vCenter) => vCenter.clearFaults())
  const start = performance.now()
  await nodes.until('what happened meanwhile is seen', () => shutDown(first))
  t.comment(`in step ${Math.round(performance.now() - start)} ms after they answer again`)
  await until('all is well', async () => (await controller.readyz()).startsWith('leading'))
  await reports.until('the doubt is over', () => pending()?.status === 'False')

  for (const vCenter of vCenters) {
    t.equal((await vCenter.calls()).operations.Login, 1, 'one login')
    t.match(await vCenter.sessions(), { soap: 1 })
  }
  for (const { name, uid } of crowd) {
    const node = nodes.last(name)
    t.equal(node?.metadata.uid, uid)
    t.equal(level(node), 'proven')
    t.equal(reports.last(name)?.status?.identityLevel, 'proven')
    t.equal(condition(reports.last(name), 'VMFound')?.status, 'True')
    if (name === first.name || name === silent.name) continue
    t.equal(nodes.of(name).length, touched.get(name), 'the Node is not touched')
    t.notOk(eventsOf(events, name).some(({ type }) => type === 'Warning' && name !== next.name))
  }
  t.equal((await metric(controller, 'rollcall_nodes_deleted_total{vcenter="main"}')) ?? 0, 0)

  await vcsim.setState({ vm: first.vm.ref, powerState: 'poweredOn' })
  await nodes.until('push is there again', () => !shutDown(first))
})

function portOf(line: ApiProxy | undefined): number {
  return Number(new URL(line?.url ?? '').port)
}
