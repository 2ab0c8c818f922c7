import { createHash, randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { formatClaim, GUESTINFO_CLAIM, type NodeReportSpec } from '../../agent/shared/node-report.ts'
import { claimVariable, drawClaim, drawNonce } from '../fixtures/claim.ts'
import { reportObject } from '../world/crowd.ts'
import { condition, isInitialized } from '../world/objects.ts'
import { checkHeld } from './held.ts'
import { checkRefused, runTheme } from './refused.ts'
import { claims, digests } from './rows/claims.ts'
import type { AttackRow } from './rows/row.ts'
import { type AttackMember, apply, type Forger, openAttackStage, REPORTS, truth } from './stage.ts'

const stage = await openAttackStage(t, { vms: 40 })
const { nodes, reports, vcsim } = stage
const victim = await stage.victim('worker-10')
const liar = await stage.forger('worker-1')

const write = ({ vm }: Pick<AttackMember, 'vm'>, value: string) =>
  vcsim.setGuestinfo({ vm: vm.ref, key: GUESTINFO_CLAIM, value })
/** The claim that an honest agent would write; where it keeps its nonce, one with another. */
const claimOf = ({ uid, vm, ...of }: AttackMember) => claimVariable(vm.ref, drawClaim(uid, of)).value
/** Word by word what stands in a VM's guestinfo. */
const claimIn = async ({ vm }: Pick<AttackMember, 'vm'>) =>
  (await vcsim.getGuestinfo(vm.ref, GUESTINFO_CLAIM)) ?? ''

/** A claim of version 1, which anybody can make up. */
const madeUp = ({ uid, bootID }: Pick<AttackMember, 'uid' | 'bootID'>) =>
  formatClaim({ nodeUID: uid, bootID })
const digestOf = (text: string) => createHash('sha256').update(text).digest('hex')
/** What a report says that has this digest. */
const withDigest = (digest: unknown) => ({
  claim: { written: true, reason: 'Written', message: 'it stands', digest },
})

/** A Node whose VM holds this claim is known by its own word alone, and that is said. */
const believedNoMore =
  (claim: (node: Forger) => string, changes: (node: Forger) => Partial<NodeReportSpec> = () => ({})) =>
  async (t: Test, row: AttackRow): Promise<void> => {
    const node = await stage.forger(`guest-${randomUUID().slice(0, 8)}`)
    await write(node, claim(node))
    t.match(await node.report(truth(node, changes(node))), { status: 201 })
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
      const liar = await stage.forger('liar')
      const next = await stage.forger('to-come')
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
    'version 3': believedNoMore((node) => claimOf(node).replace('v2', 'v3')),
    'no nonce': believedNoMore((node) => claimOf(node).replace(/ \w+$/, '')),
    'short nonce': believedNoMore((node) => claimOf(node).slice(0, -1)),
    'upper case': believedNoMore((node) => claimOf(node).toUpperCase().replace('V', 'v')),
    'a word more': believedNoMore((node) => `${claimOf(node)} ${drawNonce()}`),
    'of this boot': believedNoMore(madeUp),
    'over a proof': async (t, row) => {
      const node = await stage.forger('overwritten')
      await node.proven()
      await write(node, claimOf(victim))
      await reports.until('the proof is of before', () => {
        return condition(reports.last(node.name), 'IdentityVerified')?.reason === row.seen
      })
      t.equal(reports.last(node.name)?.status?.identityLevel, 'proven')
      t.ok(isInitialized(nodes.last(node.name)))
    },
    'without end': async (t, row) => {
      const node = await stage.forger('restless')
      await node.proven()
      for (let turn = 0; turn < 200; turn += 1) await write(node, claimOf(turn % 2 === 0 ? victim : node))
      const marker = await stage.forger('after-the-storm')
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
      const node = await stage.forger('clone', { vm })
      t.match(await node.report(truth(node)), { status: 201 })
      t.match(condition(await node.judged(), 'IdentityVerified'), {
        status: 'True',
        reason: 'Reported',
        message: new RegExp(row.seen),
      })
      await node.proven()
    },
    'a copy': async (t, row) => {
      const [original, copied] = [stage.vms.shift(), stage.vms.shift()]
      if (original === undefined || copied === undefined) throw new Error('no VM is left')
      await vcsim.setState({ vm: copied.ref, uuid: original.uuid })
      const owner = await stage.victim('owner-of-copied', { vm: original })
      await write({ vm: copied }, await claimIn(owner))
      await reports.until('it is said that the claim was copied, too', () => {
        const message = condition(reports.last('owner-of-copied'), 'VMUnique')?.message
        return message?.includes('has the BIOS UUID and the claim of')
      })
      const before = await owner.seen()
      const node = await stage.forger('copy', { vm: { ...copied, uuid: original.uuid } })
      t.match(await node.report(truth(node)), { status: 201 })
      t.same(await owner.seen(), before)
      await checkHeld(t, stage, node, row.seen)
    },
    foothold: async (t, row) => {
      const owner = await stage.forger('owner')
      await owner.proven()
      const thief = await stage.forger('thief')
      const { body: before } = await stage.cluster.request('GET', `/api/v1/nodes/${owner.name}`)
      await write(owner, claimOf(thief))
      t.match(await thief.report(truth({ ...thief, vm: owner.vm })), { status: 201 })
      await reports.until('the claim has come and counts for nothing', () => {
        return condition(reports.last(thief.name), 'IdentityVerified')?.reason === row.seen
      })
      await checkHeld(t, stage, thief, row.seen)
      const { body: after } = await stage.cluster.request('GET', `/api/v1/nodes/${owner.name}`)
      t.same(after, before)
      await owner.proven()
    },
  },
  victim,
)

/** A report that the API server does not take. */
const refused = (digest: unknown) => async (t: Test, row: AttackRow) => {
  const spec = { ...truth(liar), ...withDigest(digest) }
  const body = reportObject({ name: liar.name, uid: liar.uid, spec: truth(liar) })
  for (const sender of [liar.kubelet, liar.agentPod])
    checkRefused(t, row, await apply(sender, { ...body, ...{ spec } }))
}
const statusOf =
  (...statuses: object[]) =>
  async (t: Test, row: AttackRow) => {
    for (const { send } of [liar.kubelet, liar.agentPod]) {
      for (const status of statuses) {
        const path = `${REPORTS}/${liar.name}/status`
        checkRefused(t, row, await send({ method: 'PATCH', path, body: { status }, contentType: MERGE }))
      }
    }
  }
const MERGE = 'application/merge-patch+json'
const { status: believed } = reports.last(victim.name) ?? {}
const FORGED = {
  lastClaim: ['', digestOf('mine')],
  formerVMs: [[], [believed?.vm]],
  provenUntil: ['2126-01-01T00:00:00Z'],
}

/** Believed to be what it is, whatever it says of its claim. */
const itself =
  (changes: Partial<NodeReportSpec>, claim: (node: Forger) => string, digest = true) =>
  async (t: Test, row: AttackRow): Promise<void> => {
    const node = await stage.forger(`guest-${randomUUID().slice(0, 8)}`)
    await write(node, claim(node))
    const { bootID: _bootID, ...spec } = truth(node)
    const said = { ...spec.claim, ...changes.claim, ...(digest ? { digest: digestOf(claim(node)) } : {}) }
    t.match(await node.report({ ...spec, ...changes, claim: said }), { status: 201 })
    const { status } = await node.judged()
    t.match(status, { identityLevel: 'proven', vm: { moref: node.vm.ref } })
    t.match(condition(await node.judged(), 'IdentityVerified'), { reason: row.seen })
  }

await runTheme(
  t,
  digests,
  {
    'no digest': believedNoMore(claimOf, () => ({
      claim: { written: true, reason: 'Written', message: 'it stands' },
    })),
    'another digest': believedNoMore(claimOf, () => ({
      claim: { written: true, reason: 'Written', message: 'it stands', digest: digestOf('another') },
    })),
    "the victim's digest": async (t, row) => {
      const digest = reports.last(victim.name)?.spec.claim.digest ?? ''
      t.match(digest, /^[0-9a-f]{64}$/)
      await believedNoMore(claimOf, () => ({
        claim: { written: true, reason: 'Written', message: 'it stands', digest },
      }))(t, row)
    },
    'digest of version 1': believedNoMore(madeUp, (node) => ({
      claim: { written: true, reason: 'Written', message: 'it stands', digest: digestOf(madeUp(node)) },
    })),
    'no boot, version 1': async (t, row) => {
      const node = await stage.forger('bootless')
      await write(node, `v1 ${node.uid} -`)
      const { bootID: _bootID, ...spec } = truth(node)
      t.match(await node.report(spec), { status: 201 })
      t.equal((await node.judged()).status?.identityLevel, 'reported')
      t.match(condition(await node.judged(), 'IdentityVerified')?.message, row.seen)
    },
    'another boot, version 1': believedNoMore(madeUp, () => ({ bootID: randomUUID() })),
    'no boot': itself({}, (node) => formatClaim({ nodeUID: node.uid, bootID: undefined, nonce: node.nonce })),
    'not written': itself(
      { claim: { written: false, reason: 'Disabled', message: 'the host forbids it' } },
      claimOf,
    ),
    'digest in upper case': refused('A'.repeat(64)),
    'short digest': refused('a'.repeat(63)),
    'long digest': refused('a'.repeat(1_000_000)),
    'digest of a list': refused([digestOf('one')]),
    'last claim': statusOf(...FORGED.lastClaim.map((lastClaim) => ({ lastClaim }))),
    'former VMs': statusOf(...FORGED.formerVMs.map((formerVMs) => ({ formerVMs }))),
    'proven until': statusOf(...FORGED.provenUntil.map((provenUntil) => ({ provenUntil }))),
    'beside the spec': async (t) => {
      await liar.proven()
      const before = await liar.judged()
      const status = {
        lastClaim: digestOf('mine'),
        formerVMs: [believed?.vm],
        provenUntil: FORGED.provenUntil[0],
      }
      for (const sender of [liar.kubelet, liar.agentPod]) {
        const own = reportObject({ name: liar.name, uid: liar.uid, spec: truth(liar) })
        t.match(await apply(sender, { ...own, ...{ status } }), { status: 200 })
        t.same((await liar.judged()).status, before.status, 'it counts for nothing')
      }
    },
  },
  victim,
)
