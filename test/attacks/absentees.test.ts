import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { deletionPending, followed, probed, QUICK } from '../world/deletion.ts'
import { heartbeat, loseHeartbeats } from '../world/kubelet.ts'
import { condition, eventsOf } from '../world/objects.ts'
import { runTheme } from './refused.ts'
import { absentees } from './rows/copies.ts'
import type { AttackRow } from './rows/row.ts'
import { type Forger, openAttackStage, truth } from './stage.ts'
import {
  booted,
  checkTold,
  claims,
  copyOf,
  createMarker,
  type Holdings,
  holdings,
  isUnique,
  type Pair,
  show,
} from './tenant.ts'

// So quick that whatever could be deleted would be, and the brake engages for nothing.
const stage = await openAttackStage(
  t,
  { vms: 30 },
  {
    topology: { onChange: 'relabel' },
    lifecycle: { ...QUICK, maxAbsentMinimum: 10 },
  },
)
const { cluster, nodes, reports, vcsim, events } = stage
const passed = await createMarker(stage)

/** A proven Node, and a copy of its VM that is known as one. */
async function pair(name: string): Promise<Pair> {
  const node = await stage.forger(name)
  await node.proven()
  const copy = await copyOf(stage, node.vm)
  await followed(stage, node.vm, copy)
  return { node, copy }
}

const away = await pair('away')
const stored = await pair('stored')
let machine: Forger = stored.node

/** Waits until what is deleted without more ado would have been: a silent Node whose VM is destroyed now goes. */
let fillers = 0
async function provenGone(): Promise<void> {
  fillers += 1
  const node = await stage.forger(`filler-${fillers}`)
  await node.proven()
  await followed(stage, node.vm)
  await loseHeartbeats(cluster, node.name)
  await vcsim.destroy(node.vm.ref)
  await nodes.until('a Node whose VM is gone goes', () => nodes.last(node.name) === undefined)
}

const found = ({ name }: Forger) => condition(reports.last(name), 'VMFound')
const says = async (node: Forger, reason: string) => {
  try {
    await reports.until(`${node.name} says ${reason}`, () => found(node)?.reason === reason)
  } catch (error) {
    const { vm, conditions } = reports.last(node.name)?.status ?? {}
    throw new Error(`${node.name} is ${vm?.moref}, with ${JSON.stringify(conditions)}`, { cause: error })
  }
}

/** Tries this, after which the Node is what it was, and its condition VMFound says why. */
const attempt =
  ({ node }: Pair, act: () => Promise<unknown>, change: Partial<Holdings> = {}) =>
  async (t: Test, row: AttackRow): Promise<void> => {
    const before = await holdings(stage, node.name)
    await act()
    await passed()
    await says(node, row.seen)
    t.same(await holdings(stage, node.name), { ...before, ...change })
  }

/** Another leader, which has found the marker's VM. */
const newLeader = async () => {
  await stage.newLeader()
  await passed()
}

/** A kubelet and an agent that run, until what this waits for is so. */
async function speaking<T>(node: Forger, until: Promise<T>): Promise<T> {
  const ending = new AbortController()
  const machine = (async () => {
    for (let turn = 0; !ending.signal.aborted; turn += 1) {
      await heartbeat(cluster, node.name)
      await node.report(truth(node, { hostname: `turn-${turn}.example` }))
      // sleep() rejects only when the signal aborts.
      await sleep(500, undefined, { signal: ending.signal }).catch(() => undefined)
    }
  })()
  try {
    return await until
  } finally {
    ending.abort()
    await machine
  }
}

await runTheme(t, absentees, {
  unregistered: attempt(away, async () => {
    await show(stage, away.copy, claims.own(away.node))
    await vcsim.unregister(away.node.vm.ref)
  }),
  'unregistered: made-up claim': attempt(away, () => show(stage, away.copy, claims.madeUp(away.node))),
  'unregistered: leader': attempt(away, newLeader),
  'unregistered: for long': async (t, row) => {
    await followed(stage, away.copy)
    await attempt(away, () => speaking(away.node, provenGone()))(t, row)
    const before = await holdings(stage, away.node.name)
    const { ref } = await vcsim.register(away.node.vm.ref)
    await reports.until('it is bound again', () => reports.last(away.node.name)?.status?.vm?.moref === ref)
    const { vm, ...rest } = await holdings(stage, away.node.name)
    t.same({ ...rest, vm: { ...vm, moref: before.vm?.moref } }, before)
    await checkTold(t, stage, away, { reason: 'CopyFound' })
  },
  inaccessible: attempt(stored, async () => {
    await show(stage, stored.copy, claims.own(stored.node))
    const lost = { connectionState: 'inaccessible', powerState: 'poweredOff', uuid: '' } as const
    await vcsim.setState({ vm: stored.node.vm.ref, ...lost })
  }),
  'inaccessible: leader': attempt(stored, newLeader),
  'inaccessible: new boot': attempt(stored, async () => {
    machine = booted(machine)
    t.match(await machine.report(truth(machine)), { status: 200 })
    await machine.judged()
    await followed(stage, stored.copy)
    await show(stage, stored.copy, claims.madeUp(machine))
  }),
  'inaccessible: guessed nonce': attempt(stored, () => show(stage, stored.copy, claims.guessed(machine))),
  'inaccessible: destroyed': async (t, row) => {
    const before = await holdings(stage, stored.node.name)
    await loseHeartbeats(cluster, stored.node.name)
    await vcsim.destroy(stored.copy.ref)
    await newLeader()
    await deletionPending(stage, stored.node.name, { status: 'False', reason: row.seen })
    await probed(stage, 3)
    await provenGone()
    t.same(await holdings(stage, stored.node.name), before)
    await vcsim.setState({
      vm: stored.node.vm.ref,
      connectionState: 'connected',
      powerState: 'poweredOn',
      uuid: stored.node.vm.uuid,
    })
    await says(stored.node, 'VMFound')
    t.same(await holdings(stage, stored.node.name), before)
  },
  'gone: kept': async (t, row) => {
    const gone = await pair('gone')
    const before = await holdings(stage, gone.node.name)
    await loseHeartbeats(cluster, gone.node.name)
    await vcsim.destroy(gone.node.vm.ref)
    await deletionPending(stage, gone.node.name, { reason: row.seen })
    await provenGone()
    t.same(await holdings(stage, gone.node.name), before)
    await vcsim.destroy(gone.copy.ref)
    await nodes.until('then it goes', () => nodes.last(gone.node.name) === undefined)
  },
  'failed over: former VM': async (t, row) => {
    const { node, copy } = await pair('failed-over')
    await vcsim.setState({ vm: node.vm.ref, powerState: 'poweredOff' })
    await says(node, 'VMPoweredOff')
    const there = booted({ ...node, vm: copy })
    await show(stage, copy, claims.own(there))
    t.match(await node.report(truth(there)), { status: 200 })
    await reports.until('it is the other VM', () => reports.last(node.name)?.status?.vm?.moref === copy.ref)
    await events.until('it is said', () =>
      eventsOf(events, node.name).some(({ reason }) => reason === 'VMChanged'),
    )
    t.ok(isUnique(stage, node.name), 'the former VM is off, and no copy')
    const before = await holdings(stage, node.name)
    t.equal(before.formerVMs, 1)
    await loseHeartbeats(cluster, node.name)
    await vcsim.destroy(copy.ref)
    await says(node, row.seen)
    await provenGone()
    t.match(await holdings(stage, node.name), { uid: before.uid, vm: before.vm })
    await vcsim.destroy(node.vm.ref)
    await nodes.until('then it goes', () => nodes.last(node.name) === undefined)
  },
})
