import t, { type Test } from 'tap'
import { reportObject } from '../world/crowd.ts'
import { kubeletIdentity } from '../world/kubelet.ts'
import { condition } from '../world/objects.ts'
import { deletePod } from './objects.ts'
import { checkRefused, runTheme } from './refused.ts'
import { replays } from './rows/timing.ts'
import { apply, type Forger, openAttackStage, truth } from './stage.ts'

const stage = await openAttackStage(t, { vms: 16 })
const { cluster, reports } = stage

/** A Node that was proven, was deleted and is registered anew, on the same machine: what was, and what is. */
async function registeredAnew(t: Test, name: string): Promise<{ former: Forger; present: Forger }> {
  const former = await stage.forger(name)
  await former.proven()
  t.match(await cluster.request('DELETE', `/api/v1/nodes/${name}`), { status: 200 })
  const present = await stage.forger(name, { vm: former.vm })
  t.not(present.uid, former.uid)
  return { former, present }
}

const bodyOf = (node: Forger) => reportObject({ name: node.name, uid: node.uid, spec: truth(node) })
const reason = async (node: Forger) => condition(await node.judged(), 'IdentityVerified')

await runTheme(t, replays, {
  'old token, Pod collected': async (t, row) => {
    const { former, present } = await registeredAnew(t, 'collected')
    await deletePod(cluster, 'kube-system', former.pod.name)
    checkRefused(t, row, await apply(former.agentPod, bodyOf(former)))
    await present.proven()
  },
  'old token, new body': async (t, row) => {
    const { former, present } = await registeredAnew(t, 'new-body')
    checkRefused(t, row, await apply(former.agentPod, bodyOf(present)))
    await present.proven()
  },
  'new token, old body': async (t, row) => {
    const { former, present } = await registeredAnew(t, 'old-body')
    checkRefused(t, row, await apply(present.agentPod, bodyOf(former)))
    await present.proven()
  },
  'old token, old body': async (t, row) => {
    const { former, present } = await registeredAnew(t, 'all-old')
    t.match(await apply(former.agentPod, bodyOf(former)), { status: 200 })
    // The report is as it was, and so is its generation: it was judged before, for the former Node.
    await reports.until(
      'it is judged for the present Node',
      () => condition(reports.last(present.name), 'IdentityVerified')?.reason === row.seen,
    )
    t.match(await reason(present), { status: 'False', reason: row.seen, message: new RegExp(former.uid) })
    t.match(
      condition(await present.judged(), 'Initialized'),
      { status: 'False' },
      'it is not initialized by that',
    )
    await present.proven()
  },
  'old certificate, old body': async (t, row) => {
    const { former, present } = await registeredAnew(t, 'all-old-later')
    await present.proven()
    const before = await cluster.request('GET', `/api/v1/nodes/${present.name}`)
    t.match(await apply(former.kubelet, bodyOf(former)), { status: 200 })
    t.match(await reason(present), { reason: row.seen })
    t.equal((await present.judged()).status?.identityLevel, 'proven', 'a word of another time ends nothing')
    t.same(await cluster.request('GET', `/api/v1/nodes/${present.name}`), before)
    await present.proven()
  },
  'old claim': async (t, row) => {
    const { present } = await registeredAnew(t, 'old-claim')
    t.match(await present.report(truth(present)), { status: 200 })
    t.match(await reason(present), { status: 'True', reason: 'Reported', message: new RegExp(row.seen) })
    await present.proven()
  },
  'Node to come': async (t, row) => {
    const name = 'to-come'
    const kubelet = await stage.sender({
      certificate: await cluster.clientCertificate(kubeletIdentity(name)),
    })
    const vm = stage.vms[0]
    if (vm === undefined) throw new Error('no VM is left')
    const uid = '11111111-2222-4333-8444-555555555555'
    const made = { name, uid, vm, bootID: uid, address: '10.66.1.1' }
    t.match(await apply(kubelet, reportObject({ name, uid, spec: truth(made) })), { status: 201 })
    const present = await stage.forger(name)
    t.equal(present.vm, vm)
    await reports.until('it is refused', () => {
      return condition(reports.last(name), 'IdentityVerified')?.reason === row.seen
    })
    t.notOk(reports.last(name)?.status?.identityLevel)
    await present.proven()
  },
  "another's Node to come": async (t, row) => {
    const forger = await stage.forger('worker-1')
    const name = 'another-to-come'
    const spec = truth(forger)
    for (const sender of [forger.kubelet, forger.agentPod]) {
      checkRefused(t, row, await apply(sender, reportObject({ name, uid: forger.uid, spec })))
    }
    const victim = await stage.forger(name)
    await victim.proven()
  },
})
