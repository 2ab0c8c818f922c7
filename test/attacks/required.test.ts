import t, { type Test } from 'tap'
import { productUUID } from '../world/machine.ts'
import { condition } from '../world/objects.ts'
import { checkHeld } from './held.ts'
import { checkRefused, runTheme } from './refused.ts'
import { required } from './rows/required.ts'
import type { AttackRow } from './rows/row.ts'
import { openScene, truth } from './scene.ts'
import { booted, checkTold, claims, copyOf, elsewhere, followed, holdings, show } from './tenant.ts'

const EXEMPT = 'example.com.node-restriction.kubernetes.io/no-agent'
const scene = await openScene(t, { vms: 16 }, { require: 'proven', exempt: EXEMPT })
const victim = await scene.victim('worker-10')

/** With the label that only people can give. */
async function exempt(name: string): Promise<void> {
  const body = { metadata: { labels: { [EXEMPT]: '' } } }
  const contentType = 'application/merge-patch+json'
  const { status } = await scene.cluster.request('PATCH', `/api/v1/nodes/${name}`, body, { contentType })
  if (status !== 200) throw new Error(`${name} is not labeled: ${status}`)
}

/** A machine without an agent waits while another VM has its UUID, in the form that `of` makes. */
async function copied(t: Test, row: AttackRow, of: (uuid: string) => string): Promise<void> {
  const [vm] = scene.vms
  if (vm === undefined) throw new Error('no VM is left')
  const copy = elsewhere(scene, vm)
  await scene.vcsim.govc('vm.change', '-vm', copy.name, '-uuid', of(vm.uuid))
  const node = await scene.forger(`agentless-${copy.ref}`)
  t.equal(node.vm, vm)
  await exempt(node.name)
  await scene.reports.until('it has a report to show that', () => scene.reports.last(node.name) !== undefined)
  await checkHeld(t, scene, node, row.seen)
  await scene.vcsim.destroy(copy.ref)
  await scene.reports.until('it is that VM', () => {
    return condition(scene.reports.last(node.name), 'IdentityVerified')?.reason === 'Asserted'
  })
}

await runTheme(
  t,
  required,
  {
    'VM without a Node': async (t, row) => {
      const forger = await scene.forger('worker-1')
      const vm = scene.vms.shift()
      if (vm === undefined) throw new Error('no VM is left')
      t.match(await forger.report(truth({ ...forger, vm })), { status: 201 })
      await checkHeld(t, scene, forger, row.seen)
    },
    'exempts itself': async (t, row) => {
      const { kubelet } = await scene.forger('worker-2')
      const answer = await kubelet.send({
        method: 'PATCH',
        path: '/api/v1/nodes/worker-2',
        body: { metadata: { labels: { [EXEMPT]: '' } } },
        contentType: 'application/strategic-merge-patch+json',
      })
      checkRefused(t, row, answer)
    },
    'only the copy is shown': async (t, row) => {
      const [vm] = scene.vms
      if (vm === undefined) throw new Error('no VM is left')
      const copy = await copyOf(scene, vm)
      await scene.vcsim.hide(vm.ref)
      const node = await scene.forger('joins')
      t.equal(node.vm, vm)
      await show(scene, copy, claims.madeUp(node))
      t.match(await node.report(truth(node)), { status: 201 })
      await checkHeld(t, scene, node, row.seen)
      await scene.vcsim.show(vm.ref)
      await node.proven()
      t.match(scene.reports.last(node.name)?.status?.vm, { moref: vm.ref })
    },
    'after a boot': async (t, row) => {
      const node = await scene.forger('boots')
      await node.proven()
      const copy = await copyOf(scene, node.vm)
      await followed(scene, node.vm, copy)
      const before = await holdings(scene, node.name)
      const machine = booted(node)
      await show(scene, node.vm, '')
      await show(scene, copy, claims.madeUp(machine))
      t.match(await node.report(truth(machine)), { status: 200 })
      await node.judged()
      await checkTold(t, scene, { node, copy }, { reason: row.seen })
      await scene.reports.until('it is proven by what was before', () => {
        return condition(scene.reports.last(node.name), 'IdentityVerified')?.reason === 'ProvenBefore'
      })
      t.same(await holdings(scene, node.name), before)
    },
    'a copy of an exempt machine': (t, row) => copied(t, row, (uuid) => uuid),
    'the other byte order': (t, row) => copied(t, row, productUUID),
    "exempt, with the victim's UUID": async (t, row) => {
      const forger = await scene.forger('windows', { kubelet: { biosUUID: victim.vm.uuid } })
      await exempt(forger.name)
      await scene.reports.until('it has a report to show that', () => {
        return scene.reports.last(forger.name) !== undefined
      })
      await checkHeld(t, scene, forger, row.seen)
    },
  },
  victim,
)
