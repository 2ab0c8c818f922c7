import t from 'tap'
import { MISSING, probed, pushes } from '../world/deletion.ts'
import { again } from '../world/kubelet.ts'
import { becomes } from '../world/meters.ts'
import { isShutDown } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

// A hundred Nodes with zones, two replicas, and all that makes the leader ask: never more than one session of a kind.
const COUNT = 100
const MANY = 20
const stage = await openStage(t, { vms: COUNT, hosts: 4 })
const { nodes, vcsim } = stage

const highest = watchSessions()
const lifecycle = { absentFor: '60s', confirmations: 60, leaderAge: '0s', outOfServiceAfter: '2s' }
const options = { lifecycle, topology: { onChange: 'relabel' } }
const leader = await stage.controller({ ...options, identity: 'leader' })
const standby = await stage.controller({ ...options, identity: 'standby', until: 'answering' })
const crowd = await stage.crowd(COUNT)
const some = (from: number) => crowd.slice(from, from + MANY)

t.test('all are initialized, with their zones', async (t) => {
  t.ok(
    crowd.every(({ name }) => nodes.last(name)?.metadata.labels['topology.kubernetes.io/zone'] !== undefined),
  )
  t.same(await logins(), [1, 1])
  t.same(await vcsim.sessions(), { soap: 1, rest: 1 })
})

t.test('vCenter can tell whose session it is, and which call is which in its logs', async (t) => {
  t.match(await vcsim.userAgents(), [/^rollcall-controller\/\d+\.\d+\.\d+/])
  const ids = await vcsim.operationIDs()
  t.ok(ids.length > 10, `${ids.length} calls`)
  t.same(
    ids.filter((id) => !/^rollcall-[0-9a-f]{1,8}-[1-9]\d*$/.test(id)),
    [],
  )
  t.equal(new Set(ids).size, ids.length)
})

t.test('VMs move, go off and go missing, many at once', async (t) => {
  await pushes(stage)
  await vcsim.setState(...some(0).map(({ vm }) => ({ vm: vm.ref, powerState: 'poweredOff' as const })))
  await nodes.until('they are shut down', () => some(0).every(({ name }) => isShutDown(nodes.last(name))))
  const zone = (name: string) => nodes.last(name)?.metadata.labels['topology.kubernetes.io/zone']
  const movers = some(MANY).filter(({ vm }) => vm.cluster === 'DC0_C0')
  for (const { vm } of movers) await vcsim.move({ vm: vm.ref, host: 'DC0_C1_H3' })
  await nodes.until('the movers are in another zone', () =>
    movers.every(({ name }) => zone(name) === 'zone-b'),
  )
  await vcsim.hide(...some(2 * MANY).map(({ vm }) => vm.ref))
  await becomes(leader, MISSING, MANY)
  await probed(stage, MANY)
  await vcsim.show()
  await becomes(leader, MISSING, 0)
  t.same(await logins(), [1, 1])
})

t.test('the other replica takes over', async (t) => {
  await vcsim.setState(...some(0).map(({ vm }) => ({ vm: vm.ref, powerState: 'poweredOn' as const })))
  await leader.stop()
  await nodes.until('it works', () => some(0).every(({ name }) => !isShutDown(nodes.last(name))))
  t.equal(standby.exit(), undefined)
  t.same((await logins())[0], 2)
})

t.test('at no time was there a second session', async (t) => {
  t.equal(highest.soap, 1)
  t.equal(highest.rest, 1)
  t.ok(highest.looks > 0, `${highest.looks} looks`)
  t.comment(`${highest.looks} looks, ${COUNT} Nodes: never more than 1 SOAP and 1 REST session`)
})

async function logins(): Promise<readonly (number | undefined)[]> {
  const { operations } = await vcsim.calls()
  return [operations.Login, operations['REST POST /rest/com/vmware/cis/session']]
}

/** Counts the sessions until the test ends. */
function watchSessions(): { readonly soap: number; readonly rest: number; readonly looks: number } {
  const highest = { soap: 0, rest: 0, looks: 0 }
  const watching = again(50, async () => {
    const { soap, rest } = await vcsim.sessions()
    highest.soap = Math.max(highest.soap, soap)
    highest.rest = Math.max(highest.rest, rest)
    highest.looks += 1
  })
  t.teardown(() => watching[Symbol.asyncDispose]())
  return highest
}
