import t from 'tap'
import { until } from '../fixtures/until.ts'
import type { VcsimFault } from '../servers/control.ts'
import type { Controller } from '../world/controller.ts'
import type { CrowdMember } from '../world/crowd.ts'
import { pushes } from '../world/deletion.ts'
import { condition, isShutDown, level } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

// Whatever becomes of the wait for news: what happens meanwhile is seen, and no Node suffers.
const stage = await openStage(t, { vms: 6 })
const { nodes, reports, vcsim } = stage
let controller = await stage.controller()
const [herald, quiet, ...others] = await stage.crowd(['herald', 'quiet', 'a', 'b', 'c', 'd'])

t.test('the wait for news is interrupted', async (t) => {
  const rows: readonly Row[] = [
    { what: 'the wait is canceled', fault: soapFault('RequestCanceled'), logins: 0, anew: true },
    {
      what: 'its version is not known any more',
      fault: soapFault('InvalidCollectorVersion'),
      logins: 0,
      anew: true,
    },
    { what: 'the collector is lost', fault: soapFault('ManagedObjectNotFound'), logins: 0, anew: true },
    { what: 'the session is lost', logins: 1, anew: true },
    { what: 'the answer is cut off', fault: { kind: 'truncate' }, logins: 0, anew: true },
    { what: 'the connection breaks half-way', fault: { kind: 'abort' }, logins: 0, anew: true },
    { what: 'the connection is reset', fault: { kind: 'reset' }, logins: 0, anew: false },
    { what: 'a proxy answers', fault: { kind: 'status', status: 502 }, logins: 0, anew: false },
    { what: 'it is answered late', fault: { kind: 'delay', milliseconds: 2_000 }, logins: 0, anew: false },
  ]
  for (const [i, { what, logins, anew, fault }] of rows.entries()) {
    await t.test(what, async (t) => {
      // Failures that follow each other are met with growing patience.
      if (i % 3 === 0) await startAnew()
      const before = await reconnects(controller)
      const written = others.map(({ name }) => [nodes.of(name).length, reports.of(name).length])
      await vcsim.resetCalls()
      await interrupt(fault)
      const ms = await power(quiet, false)
      t.comment(`${what}: what happened then was seen after ${ms} ms`)
      t.equal((await vcsim.calls()).operations.Login ?? 0, logins)
      t.equal((await vcsim.calls()).operations.CreateListView ?? 0, anew ? 1 : 0)
      if (anew) t.strictNotSame(await reconnects(controller), before, 'the metric says so')
      t.match(await vcsim.sessions(), { soap: 1 })
      await power(herald, true)
      await power(quiet, true)
      t.notOk([herald, quiet].some(({ name }) => isShutDown(nodes.last(name))))
      t.same(
        others.map(({ name }) => [nodes.of(name).length, reports.of(name).length]),
        written,
        'nothing is written of those to whom nothing happened',
      )
      await vcsim.clearFaults()
    })
  }
})

t.test('all are as they were', async (t) => {
  for (const { name, uid } of [herald, quiet, ...others]) {
    t.equal(nodes.last(name)?.metadata.uid, uid)
    t.equal(level(nodes.last(name)), 'proven')
    await stage.says(name, 'VMFound', { reason: 'VMFound' })
    t.equal(condition(reports.last(name), 'DeletionPending'), undefined)
  }
})

async function power({ name, vm }: CrowdMember, on: boolean): Promise<number> {
  const start = performance.now()
  await vcsim.setState({ vm: vm.ref, powerState: on ? 'poweredOn' : 'poweredOff' })
  await nodes.until(`${name} is ${on ? 'not ' : ''}shut down`, () => isShutDown(nodes.last(name)) !== on)
  return Math.round(performance.now() - start)
}

async function reconnects(controller: Controller): Promise<string[]> {
  return (await controller.metrics())
    .split('\n')
    .filter((line) => line.startsWith('rollcall_vcenter_reconnects_total{'))
}

interface Row {
  readonly what: string
  /** Of the next wait; without one, all sessions end. */
  readonly fault?: Omit<VcsimFault, 'operation'>
  /** Logins that it costs. */
  readonly logins: number
  /** Whether everything has to be requested again. */
  readonly anew: boolean
}

function soapFault(fault: string): Omit<VcsimFault, 'operation'> {
  return { kind: 'fault', fault }
}

/** Resolves when the next wait of the controller has come to this. */
async function interrupt(fault: Row['fault']): Promise<void> {
  const id = fault && (await vcsim.fault({ operation: 'WaitForUpdatesEx', times: 1, ...fault }))
  if (id === undefined) await vcsim.endSessions()
  // Its news ends the wait that goes on.
  await power(herald, false)
  await until('it has happened', async () =>
    id === undefined
      ? (await vcsim.sessions()).soap === 1
      : (await vcsim.faults()).some((each) => each.id === id && each.hits === 1),
  )
}

async function startAnew(): Promise<void> {
  await controller.stop()
  await vcsim.resetCalls()
  controller = await stage.controller()
  await pushes(stage)
}
