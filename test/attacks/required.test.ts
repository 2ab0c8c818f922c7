import t, { type Test } from 'tap'
import { followed } from '../world/deletion.ts'
import { productUUID } from '../world/machine.ts'
import { condition } from '../world/objects.ts'
import { checkHeld } from './held.ts'
import { checkRefused, runTheme } from './refused.ts'
import { required } from './rows/required.ts'
import type { AttackRow } from './rows/row.ts'
import { openAttackStage, truth } from './stage.ts'
import { booted, checkTold, claims, copyOf, elsewhere, holdings, show } from './tenant.ts'

const EXEMPT = 'example.com.node-restriction.kubernetes.io/no-agent'
const stage = await openAttackStage(t, { vms: 16 }, { require: 'proven', exempt: EXEMPT })
const victim = await stage.victim('worker-10')

/** With the label that only people can give. */
async function exempt(name: string): Promise<void> {
  const body = { metadata: { labels: { [EXEMPT]: '' } } }
  const contentType = 'application/merge-patch+json'
  const { status } = await stage.cluster.request('PATCH', `/api/v1/nodes/${name}`, body, { contentType })
  if (status !== 200) throw new Error(`${name} is not labeled: ${status}`)
}

/** A machine without an agent waits while another VM has its UUID, in the form that `of` makes. */
async function copied(t: Test, row: AttackRow, of: (uuid: string) => string): Promise<void> {
  const [vm] = stage.vms
  if (vm === undefined) throw new Error('no VM is left')
  const copy = elsewhere(stage, vm)
  await stage.vcsim.govc('vm.change', '-vm', copy.name, '-uuid', of(vm.uuid))
  const node = await stage.forger(`agentless-${copy.ref}`)
  t.equal(node.vm, vm)
  await exempt(node.name)
  await stage.reports.until('it has a report to show that', () => stage.reports.last(node.name) !== undefined)
  await checkHeld(t, stage, node, row.seen)
  await stage.vcsim.destroy(copy.ref)
  await stage.reports.until('it is that VM', () => {
    return condition(stage.reports.last(node.name), 'IdentityVerified')?.reason === 'Asserted'
  })
}

await runTheme(
  t,
  required,
  {
    'VM without a Node': async (t, row) => {
      const forger = await stage.forger('worker-1')
      const vm = stage.vms.shift()
      if (vm === undefined) throw new Error('no VM is left')
      t.match(await forger.report(truth({ ...forger, vm })), { status: 201 })
      await checkHeld(t, stage, forger, row.seen)
    },
    'exempts itself': async (t, row) => {
      const { kubelet } = await stage.forger('worker-2')
      const answer = await kubelet.send({
        method: 'PATCH',
        path: '/api/v1/nodes/worker-2',
        body: { metadata: { labels: { [EXEMPT]: '' } } },
        contentType: 'application/strategic-merge-patch+json',
      })
      checkRefused(t, row, answer)
    },
    'only the copy is shown': async (t, row) => {
      const [vm] = stage.vms
      if (vm === undefined) throw new Error('no VM is left')
      const copy = await copyOf(stage, vm)
      await stage.vcsim.hide(vm.ref)
      const node = await stage.forger('joins')
      t.equal(node.vm, vm)
      await show(stage, copy, claims.madeUp(node))
      t.match(await node.report(truth(node)), { status: 201 })
      await checkHeld(t, stage, node, row.seen)
      await stage.vcsim.show(vm.ref)
      await node.proven()
      t.match(stage.reports.last(node.name)?.status?.vm, { moref: vm.ref })
    },
    'after a boot': async (t, row) => {
      const node = await stage.forger('boots')
      await node.proven()
      const copy = await copyOf(stage, node.vm)
      await followed(stage, node.vm, copy)
      const before = await holdings(stage, node.name)
      const machine = booted(node)
      await show(stage, node.vm, '')
      await show(stage, copy, claims.madeUp(machine))
      t.match(await node.report(truth(machine)), { status: 200 })
      await node.judged()
      await checkTold(t, stage, { node, copy }, { reason: row.seen })
      await stage.reports.until('it is proven by what was before', () => {
        return condition(stage.reports.last(node.name), 'IdentityVerified')?.reason === 'ProvenBefore'
      })
      t.same(await holdings(stage, node.name), before)
    },
    'a copy of an exempt machine': (t, row) => copied(t, row, (uuid) => uuid),
    'the other byte order': (t, row) => copied(t, row, productUUID),
    "exempt, with the victim's UUID": async (t, row) => {
      const forger = await stage.forger('windows', { kubelet: { biosUUID: victim.vm.uuid } })
      await exempt(forger.name)
      await stage.reports.until('it has a report to show that', () => {
        return stage.reports.last(forger.name) !== undefined
      })
      await checkHeld(t, stage, forger, row.seen)
    },
  },
  victim,
)
