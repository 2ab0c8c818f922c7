import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { GUESTINFO_CLAIM } from '../../agent/shared/node-report.ts'
import { condition, isInitialized } from '../e2e/objects.ts'
import { claimVariable, drawClaim } from '../fixtures/claim.ts'
import { checkHeld } from './held.ts'
import { runTheme } from './refused.ts'
import { claims } from './rows/claims.ts'
import type { AttackRow } from './rows/row.ts'
import { type Forger, openScene, type SceneMember, truth } from './scene.ts'

const scene = await openScene(t, { vms: 20 })
const { nodes, reports, vcsim } = scene
const victim = await scene.victim('worker-10')

const write = ({ vm }: Pick<SceneMember, 'vm'>, value: string) =>
  vcsim.setGuestinfo({ vm: vm.ref, key: GUESTINFO_CLAIM, value })
/** The claim that an honest agent would write; where it keeps its nonce, one with another. */
const claimOf = ({ uid, vm, ...of }: SceneMember) => claimVariable(vm.ref, drawClaim(uid, of)).value
/** Word by word what stands in a VM's guestinfo. */
const claimIn = async ({ vm }: Pick<SceneMember, 'vm'>) =>
  (await vcsim.getGuestinfo(vm.ref, GUESTINFO_CLAIM)) ?? ''

/** A Node whose VM holds this claim is known by its own word alone, and that is said. */
const believedNoMore =
  (claim: (node: Forger) => string) =>
  async (t: Test, row: AttackRow): Promise<void> => {
    const node = await scene.forger(`guest-${randomUUID().slice(0, 8)}`)
    await write(node, claim(node))
    t.match(await node.report(truth(node)), { status: 201 })
    const { status } = await node.judged()
    t.equal(status?.identityLevel, 'reported')
    const current = condition(await node.judged(), 'IdentityVerified')
    t.match(current, { status: 'True', reason: 'Reported', message: new RegExp(`\\(${row.seen}\\)`) })
    t.notMatch(current?.message, /[^\x20-\x7e]|xxxx/, 'nothing of it is repeated')
    t.equal(nodes.last(node.name)?.spec.providerID, `vsphere://${node.vm.uuid}`, 'it is itself')
  }

await runTheme(
  t,
  claims,
  {
    'of a proven Node': believedNoMore(() => claimOf(victim)),
    'of a Node to come': async (t, row) => {
      const liar = await scene.forger('liar')
      const next = await scene.forger('to-come')
      await write(liar, claimOf(next))
      t.match(await liar.report(truth(liar)), { status: 201 })
      const current = condition(await liar.judged(), 'IdentityVerified')
      t.match(current, { status: 'True', reason: 'Reported', message: new RegExp(`\\(${row.seen}\\)`) })
      await next.proven()
    },
    'of nobody': believedNoMore((node) => claimOf({ ...node, uid: randomUUID() })),
    'of another boot': believedNoMore((node) => claimOf({ ...node, bootID: randomUUID() })),
    garbage: believedNoMore(() => 'v2 hello'),
    '60 kB': believedNoMore(() => 'x'.repeat(60_000)),
    'control characters': believedNoMore((node) => `\u001b[2J\u0007${claimOf(node)}\r\n\u009b`),
    'over a proof': async (t, row) => {
      const node = await scene.forger('overwritten')
      await node.proven()
      await write(node, claimOf(victim))
      await reports.until('the proof is of before', () => {
        return condition(reports.last(node.name), 'IdentityVerified')?.reason === row.seen
      })
      t.equal(reports.last(node.name)?.status?.identityLevel, 'proven')
      t.ok(isInitialized(nodes.last(node.name)))
    },
    'without end': async (t, row) => {
      const node = await scene.forger('restless')
      await node.proven()
      for (let turn = 0; turn < 200; turn += 1) await write(node, claimOf(turn % 2 === 0 ? victim : node))
      const marker = await scene.forger('after-the-storm')
      await marker.proven()
      await reports.until('the last claim counts', () => {
        return condition(reports.last(node.name), 'IdentityVerified')?.reason === row.seen
      })
      t.ok(reports.of(node.name).length < 60, `${reports.of(node.name).length} versions of the report`)
    },
    'a clone': async (t, row) => {
      const pool = `/DC0/host/${victim.vm.cluster}/Resources`
      await vcsim.govc('vm.clone', '-vm', victim.vm.name, '-pool', pool, '-on=true', 'clone-of-worker-10')
      const vm = (await vcsim.vms()).find(({ name }) => name === 'clone-of-worker-10')
      if (vm === undefined) throw new Error('there is no clone')
      t.not(vm.uuid, victim.vm.uuid)
      // A real clone has it; the simulator need not.
      await write({ vm }, await claimIn(victim))
      const node = await scene.forger('clone', { vm })
      t.match(await node.report(truth(node)), { status: 201 })
      t.match(condition(await node.judged(), 'IdentityVerified'), {
        status: 'True',
        reason: 'Reported',
        message: new RegExp(row.seen),
      })
      await node.proven()
    },
    'a copy': async (t, row) => {
      const [original, copied] = [scene.vms.shift(), scene.vms.shift()]
      if (original === undefined || copied === undefined) throw new Error('no VM is left')
      await vcsim.setState({ vm: copied.ref, uuid: original.uuid })
      const owner = await scene.victim('owner-of-copied', { vm: original })
      const before = await owner.seen()
      const node = await scene.forger('copy', { vm: { ...copied, uuid: original.uuid } })
      await write(node, await claimIn(owner))
      t.match(await node.report(truth(node)), { status: 201 })
      t.same(await owner.seen(), before)
      await checkHeld(t, scene, node, row.seen)
    },
    foothold: async (t, row) => {
      const owner = await scene.forger('owner')
      await owner.proven()
      const thief = await scene.forger('thief')
      const { body: before } = await scene.cluster.request('GET', `/api/v1/nodes/${owner.name}`)
      await write(owner, claimOf(thief))
      t.match(await thief.report(truth({ ...thief, vm: owner.vm })), { status: 201 })
      await reports.until('the claim has come and counts for nothing', () => {
        return condition(reports.last(thief.name), 'IdentityVerified')?.reason === row.seen
      })
      await checkHeld(t, scene, thief, row.seen)
      const { body: after } = await scene.cluster.request('GET', `/api/v1/nodes/${owner.name}`)
      t.same(after, before)
      await owner.proven()
    },
  },
  victim,
)
