import t, { type Test } from 'tap'
import type { VcsimVM } from '../servers/control.ts'
import { deleted, followed, QUICK } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { condition, eventsOf } from '../world/objects.ts'
import { runTheme } from './refused.ts'
import { words } from './rows/words.ts'
import { openAttackStage, truth } from './stage.ts'
import { copyOf } from './tenant.ts'

const EVIL = 'evil\u001b[2J\u0007\u009b\u202e\u2028end'
/** What a terminal or a reader of lines would act on; a line ends with the first of those left out. */
const ACTS = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u
const SHOWN = /evil\ufffd.*end/

const stage = await openAttackStage(t, { vms: 8 }, { lifecycle: QUICK })
const { cluster, events, nodes, reports, vcsim, running } = stage
const victim = await stage.forger('worker-10')
await victim.proven()
const rename = (vm: VcsimVM) => vcsim.govc('object.rename', `VirtualMachine:${vm.ref}`, `${EVIL} ${vm.ref}`)

/** Waits until this condition of a Node, and an Event on it, show the name. */
async function told(
  t: Test,
  name: string,
  type: 'IdentityVerified' | 'VMUnique',
  reason: string,
): Promise<void> {
  const current = () => condition(reports.last(name), type)
  await reports.until(
    'it is told',
    () => current()?.reason === reason && SHOWN.test(current()?.message ?? ''),
  )
  t.notMatch(current()?.message, ACTS)
  await said(t, name, reason)
}

async function said(t: Test, name: string, reason: string): Promise<void> {
  const event = () =>
    eventsOf(events, name).find((each) => each.reason === reason && SHOWN.test(each.message))
  await events.until('an Event says it', () => event() !== undefined)
  t.notMatch(event()?.message, ACTS)
}

await runTheme(t, words, {
  'provider ID': async (t, { seen }) => {
    const forger = await stage.forger('worker-1', { kubelet: { providerID: `other://${EVIL}` } })
    t.match(await forger.report(truth(forger)), { status: 201 })
    await told(t, forger.name, 'IdentityVerified', seen)
  },
  copy: async (t, { seen }) => {
    const copy = await copyOf(stage, victim.vm)
    await rename(copy)
    await told(t, victim.name, 'VMUnique', seen)
  },
  'VM that goes': async (t, { seen }) => {
    const [vm] = stage.vms.splice(0, 1)
    if (vm === undefined) throw new Error('no VM is left')
    await rename(vm)
    const goes = await stage.forger('worker-2', { vm })
    await goes.proven()
    await followed(stage, vm)
    await loseHeartbeats(cluster, goes.name)
    await vcsim.destroy(vm.ref)
    await deleted(stage, goes.name)
    await said(t, goes.name, seen)
    t.match(running.output(), /Node deleted, its VM is gone/)
    t.match(running.output(), SHOWN)
  },
})

t.test('nothing that the controller has logged acts on a terminal', async (t) => {
  t.notMatch(running.output(), ACTS)
  t.ok(nodes.last(victim.name))
})
