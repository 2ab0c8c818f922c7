// A person who knows that VMs are gone on purpose lets their Nodes go though the brake is engaged.
import { execFile } from 'node:child_process'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { serverBinary } from '../servers/build.ts'
import { deleted, deletionPending, wish } from '../world/deletion.ts'
import { metric } from '../world/meters.ts'
import { openStage } from '../world/stage.ts'
import { BRAKE, DELETED, HALF_LIFECYCLE, heldByBrake, openHalf } from './half.ts'

const stage = await openStage(t, { vms: 10 })
const { nodes, vcsim } = stage
const lifecycle = { ...HALF_LIFECYCLE, deletionsPerMinute: 3 }
const controller = await stage.controller({ lifecycle })
const { names, refs, kept } = await openHalf(stage)
const [one = '', ...others] = names

t.test('one Node goes, the others stay', async (t) => {
  await vcsim.hide(...refs)
  await heldByBrake(stage, names)
  await wish(stage, one, 'proceed')
  const start = performance.now()
  await deleted(stage, one)
  t.comment(`annotated to deleted: ${(performance.now() - start).toFixed()} ms`)
  // They are looked at again, as if something had happened.
  await wish(stage, others[0] ?? '', 'hold')
  await deletionPending(stage, others[0] ?? '', { status: 'True', reason: 'DeletionHeld' })
  await wish(stage, others[0] ?? '', null)
  await heldByBrake(stage, others)
  t.equal(kept(), 9)
  t.equal(await metric(controller, BRAKE), 1)
  t.equal(await metric(controller, DELETED), 1)
})

t.test('all of them may go by one command, and no more do in a minute than are allowed', async (t) => {
  const { message } = await deletionPending(stage, others[0] ?? '', { reason: 'BrakeEngaged' })
  const [, command = ''] = /or all Nodes that it holds: (kubectl .*)$/.exec(message) ?? []
  const env = {
    PATH: `${dirname(await serverBinary('kubectl'))}:/usr/bin:/bin`,
    KUBECONFIG: stage.cluster.adminKubeconfig,
    HOME: stage.dir,
  }
  // No garbage collector runs here: it complains of the report of the Node that is gone already.
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', `${command} || true`], { env })
  for (const name of others) t.match(stdout, `node/${name} annotated`)
  await nodes.until('two more are deleted', () => kept() === 7)
  const left = others.filter((name) => nodes.last(name) !== undefined)
  for (const name of left) {
    const message = /is kept for now: lifecycle.deletionsPerMinute is 3, and that many/
    await deletionPending(stage, name, { status: 'True', reason: 'RateLimited', message })
  }
  t.equal(kept(), 7)
  t.equal(await metric(controller, BRAKE), 0)
  t.equal(await metric(controller, DELETED), 3)
})
