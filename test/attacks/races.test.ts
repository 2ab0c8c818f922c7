import t, { type Test } from 'tap'
import type { NodeReportSpec } from '../../agent/shared/node-report.ts'
import { condition, eventsOf, isInitialized } from '../world/objects.ts'
import { checkHeld, metricSays } from './held.ts'
import { runTheme } from './refused.ts'
import { races } from './rows/timing.ts'
import { type AttackMember, type Forger, NO_CLAIM, nic, openAttackStage, truth } from './stage.ts'

const stage = await openAttackStage(t, { vms: 24 })
const { nodes, reports, events } = stage

/** A VM's Node, and one that reports the same VM. */
async function two(name: string): Promise<{ victim: Forger; forger: Forger }> {
  return { victim: await stage.forger(name), forger: await stage.forger(`${name}-forger`) }
}

/** The other machine's identity, in the forger's own report. */
function posing(
  forger: Forger,
  as: Pick<AttackMember, 'vm'>,
  changes: Partial<NodeReportSpec> = {},
): NodeReportSpec {
  return truth({ ...forger, vm: as.vm }, changes)
}

async function written(t: Test, node: Forger, spec: NodeReportSpec): Promise<void> {
  const { status, message } = await node.report(spec)
  t.ok(status === 201 || status === 200, message)
}

async function level(node: Forger): Promise<string | undefined> {
  return (await node.judged()).status?.identityLevel
}

await runTheme(t, races, {
  'neither has a claim': async (t, row) => {
    const { victim, forger } = await two('no-claims')
    await Promise.all([
      written(t, victim, truth(victim, NO_CLAIM)),
      written(t, forger, posing(forger, victim, NO_CLAIM)),
    ])
    // One that was judged before the other's report was there may hold the VM; else neither does.
    await reports.until('one is refused', () =>
      [victim, forger].some(
        ({ name }) => condition(reports.last(name), 'IdentityVerified')?.reason === row.seen,
      ),
    )
    const initialized = [victim, forger].filter(({ name }) => isInitialized(nodes.last(name)))
    t.ok(initialized.length < 2, 'never both')
  },
  'the victim has a claim': async (t, row) => {
    const { victim, forger } = await two('one-claim')
    await Promise.all([victim.proven(), written(t, forger, posing(forger, victim))])
    await reports.until('the forger is refused', () => {
      return condition(reports.last(forger.name), 'IdentityVerified')?.reason === row.seen
    })
    await checkHeld(t, stage, forger, row.seen)
    t.equal(await level(victim), 'proven')
  },
  'the Node is not heard yet': async (t, row) => {
    const { victim, forger } = await two('unheard')
    await written(t, forger, posing(forger, victim))
    await checkHeld(t, stage, forger, row.seen)
    t.match(condition(await forger.judged(), 'IdentityVerified')?.message, new RegExp(victim.name))
    await victim.proven()
  },
  'the forger is first': async (t, row) => {
    const [vm] = stage.vms
    if (vm === undefined) throw new Error('no VM is left')
    const forger = await stage.forger('first-forger', { vm: stage.vms.pop() ?? vm })
    await written(t, forger, posing(forger, { vm }))
    await nodes.until('the forger is initialized', () => isInitialized(nodes.last(forger.name)))
    t.equal(await level(forger), 'reported', 'as it would be anywhere without a second witness')
    const victim = await stage.forger('first')
    t.equal(victim.vm, vm)
    await victim.proven()
    await reports.until('the forger is refused', () => {
      return condition(reports.last(forger.name), 'IdentityVerified')?.reason === row.seen
    })
    t.equal(reports.last(forger.name)?.status?.identityLevel, undefined)
    await events.until('it is said', () => {
      return eventsOf(events, forger.name).some(({ reason }) => reason === row.seen)
    })
    t.equal(await level(victim), 'proven')
  },
  'the forger is first, without MACs': async (t, row) => {
    const { victim, forger } = await two('first-no-macs')
    const interfaces = [nic('02:00:00:00:00:01', [forger.address])]
    await written(t, forger, posing(forger, victim, { interfaces }))
    await checkHeld(t, stage, forger, row.seen)
    await written(t, victim, truth(victim, NO_CLAIM))
    await nodes.until('the victim is initialized', () => isInitialized(nodes.last(victim.name)))
    t.equal(await level(victim), 'reported')
  },
  'a provider ID is first': async (t, row) => {
    const victim = await stage.forger('by-provider-id')
    const providerID = `vsphere://${victim.vm.uuid}`
    await stage.forger('by-provider-id-forger', { kubelet: { providerID } })
    await victim.proven()
    t.notOk(isInitialized(nodes.last('by-provider-id-forger')))
    await metricSays(stage.running.url, 'Initialized', row.seen)
    t.equal(await level(victim), 'proven')
  },
  'a provider ID is first, no claim': async (t, row) => {
    const victim = await stage.forger('silent')
    const providerID = `vsphere://${victim.vm.uuid}`
    const forger = await stage.forger('silent-forger', { kubelet: { providerID } })
    await written(t, victim, truth(victim, NO_CLAIM))
    await checkHeld(t, stage, victim, row.seen)
    t.match(condition(await victim.judged(), 'IdentityVerified')?.message, new RegExp(forger.name))
    t.match(await stage.cluster.request('DELETE', `/api/v1/nodes/${forger.name}`), { status: 200 })
    await nodes.until('the victim is initialized', () => isInitialized(nodes.last(victim.name)))
  },
  'without rest': async (t, row) => {
    const { victim, forger } = await two('restless')
    await forger.proven()
    let proven = false
    // It goes on as long as the victim waits: one that it could hold up would never be proven.
    const turns = (async () => {
      for (let turn = 0; turn < 200 || !proven; turn += 1) {
        await written(t, forger, turn % 2 === 0 ? posing(forger, victim) : truth(forger))
      }
      await written(t, forger, posing(forger, victim))
    })()
    await victim.proven().finally(() => {
      proven = true
    })
    await turns
    t.match(condition(await forger.judged(), 'IdentityVerified'), { status: 'False', reason: row.seen })
    t.equal(await level(victim), 'proven')
  },
})
