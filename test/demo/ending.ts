/** VMs go, are off, move, and cannot be seen: what becomes of their Nodes, one after the other, explained on screen. */
import type { Condition } from '../../agent/shared/node-report.ts'
import { until } from '../fixtures/until.ts'
import { heartbeat, loseHeartbeats } from '../world/kubelet.ts'
import { condition, isShutDown } from '../world/objects.ts'
import { checkEnding } from './check.ts'
import { ABSENT_FOR, CONFIRMATIONS, eventOf, look, type Show, seen, startController } from './show.ts'
import type { Times } from './summary.ts'

/** A privilege that is named together with the object where it is missing, in the words of a condition. */
const NAMES_PRIVILEGE = /the account lacks .*System\.Read on \w+ ".+"/
/** Milliseconds: a second, and then some for a machine that has other things to do. */
const TAINTED_WITHIN = 3_000
const DELETED_WITHIN = ABSENT_FOR + 10_000
/** How long the privileges are away: more than twice what a deletion takes. */
const HOLD = 2.5 * ABSENT_FOR

const sayCondition = ({ type, status, reason, message }: Condition) =>
  `${type} is ${status}, ${reason}: ${message}`

/**
 * Shows it all. The first Node is spared: the forger's victim is looked at to the end.
 *
 * @param times is told what was measured, as far as it came
 */
export async function ending(show: Show, times: Times): Promise<string[]> {
  const { stage, agents, tell, cast, signal } = show
  const { cluster, vcsim, nodes, reports } = stage
  const [destroyed, off, moved] = cast.slice(1).toReversed()
  const there = cast.find(({ zone }) => zone !== moved?.zone)
  if (!destroyed || !off || !moved || !there) throw new Error('the ending needs 4 Nodes in two zones')
  const end = async (name: string) => {
    await agents.get(name)?.stop()
    agents.delete(name)
  }
  const what = 'vCenter is asked to push what becomes of the VMs'
  await until(what, async () => {
    signal.throwIfAborted()
    tell.wait(what)
    return ((await vcsim.calls()).operations.ModifyListView ?? 0) > 0
  })
  const before = await look(stage)

  tell.open(
    'A VM is destroyed:',
    `${destroyed.vm.name}, that of ${destroyed.name}. Its kubelet and its agent are silent from now on. It takes ${CONFIRMATIONS} proofs that the VM is gone, over ${ABSENT_FOR / 1000}s here and 4 minutes by default, and the Node is deleted.`,
  )
  await end(destroyed.name)
  await loseHeartbeats(cluster, destroyed.name)
  await vcsim.govc('vm.destroy', destroyed.vm.name)
  const said: Condition[] = []
  const deletion = await seen(
    show,
    `Node ${destroyed.name} is deleted`,
    (elapsed) => {
      const now = condition(reports.last(destroyed.name), 'DeletionPending')
      if (now !== undefined && now.message !== said.at(-1)?.message) {
        said.push(now)
        tell.say(sayCondition(now), elapsed)
      }
      return nodes.last(destroyed.name) === undefined
    },
    { within: DELETED_WITHIN },
  )
  times.deletedAfter = deletion.after
  tell.say(`Node ${destroyed.name} is deleted.`, deletion.after)
  tell.say(await eventOf(show, destroyed.name, 'Normal NodeDeleted'))

  tell.open(
    'Another VM is powered off:',
    `${off.vm.name}, that of ${off.name}, which is still Ready: nobody has missed its kubelet yet. vCenter's push is what counts.`,
  )
  await end(off.name)
  await vcsim.setState({ vm: off.vm.ref, powerState: 'poweredOff' })
  const tainted = () => isShutDown(nodes.last(off.name))
  const taint = await seen(show, `Node ${off.name} is tainted`, tainted, { within: TAINTED_WITHIN })
  times.taintedAfter = taint.after
  tell.say(
    `Node ${off.name} has the taint node.cloudprovider.kubernetes.io/shutdown:NoSchedule.`,
    taint.after,
  )
  tell.say(await eventOf(show, off.name, 'Warning VMShutDown'))

  tell.open(
    'A third one is moved (vMotion):',
    `${moved.vm.name}, that of ${moved.name}, from ${moved.vm.host} in ${moved.zone} to ${there.vm.host} in ${there.zone}. Volumes and pods may rest on the old zone, so the labels stay until a person decides.`,
  )
  await vcsim.move({ vm: moved.vm.ref, host: there.vm.host })
  const move = await seen(show, `the report of ${moved.name} says so`, () => {
    const found = condition(reports.last(moved.name), 'TopologyResolved')
    return found?.status === 'False' && found.reason === 'TopologyChanged' && found
  })
  tell.say(sayCondition(move.value), move.after)

  const left = cast.flatMap(({ name }) => (name === destroyed.name ? [] : [name]))
  const running = left.filter((name) => name !== off.name)
  await losePrivileges(show, left, running)
  const after = await look(stage)
  const problems = checkEnding(destroyed.name, off.name, before, after)
  if (deletion.after < ABSENT_FOR || !said.some(({ reason }) => reason === 'NotConfirmed'))
    problems.push(`${destroyed.name}: deleted too soon, or without a word on what was missing`)
  if (problems.length === 0)
    tell.say(
      `Only ${destroyed.name} was deleted, whose VM is gone. The ${after.nodes.size} other Nodes are as they were, byte for byte, labels of ${moved.name} included, but for the taint of ${off.name}.`,
    )
  return problems
}

/**
 * Takes the account's privileges away while no kubelet is heard, and starts the controller anew, so that it knows nothing
 * of the time before; gives them back after a while, and waits until every VM is found again.
 */
async function losePrivileges(show: Show, names: readonly string[], running: readonly string[]) {
  const { stage, tell, signal } = show
  const { cluster, vcsim, nodes, reports } = stage
  const pending = (name: string) => condition(reports.last(name), 'DeletionPending')
  tell.open(
    'The account loses its read privilege',
    `on everything, while no kubelet is heard: all ${names.length} Nodes are NotReady. And the controller is started anew, so that it has never seen a VM. Its searches succeed, and find none.`,
  )
  await loseHeartbeats(cluster, ...names)
  const start = performance.now()
  await vcsim.revoke()
  signal.throwIfAborted()
  await show.controller.stop()
  show.controller = await startController(stage, 'controller-1')
  const { value } = await seen(show, 'each report says what is missing', () => {
    const said = names.flatMap((name) => pending(name) ?? [])
    const named = said.filter(({ status, message }) => status === 'Unknown' && NAMES_PRIVILEGE.test(message))
    return named.length === names.length && named
  })
  const elapsed = performance.now() - start
  tell.say(`All ${names.length} Nodes are kept, and each report says why. That of ${names[0]}:`, elapsed)
  for (const found of value.slice(0, 1)) tell.say(sayCondition(found))
  const held = await seen(show, 'more than twice the time of a deletion is over', (elapsed) => {
    const count = names.filter((name) => nodes.last(name) !== undefined).length
    return (elapsed > HOLD || count < names.length) && count
  })
  tell.say(`${held.value} of ${names.length} Nodes are there.`, performance.now() - start)
  await vcsim.restore()
  await Promise.all(running.map((name) => heartbeat(cluster, name)))
  const isFound = (name: string) =>
    condition(reports.last(name), 'VMFound')?.status === 'True' && pending(name)?.status === 'False'
  const what = 'each VM is found again, now that the privilege is back'
  const back = await seen(show, what, () => names.every(isFound))
  tell.say('The privilege is back, and each VM is found again.', back.after)
}
