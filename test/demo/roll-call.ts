/** Nodes come, are proven and initialized, and a forger among them is refused. */
import type { Member } from '../world/member.ts'
import { address, condition, isInitialized } from '../world/objects.ts'
import type { Stage } from '../world/stage.ts'
import { checkForger, REFUSED_BECAUSE, type Snapshot } from './check.ts'
import type { NodeProgress } from './screen.ts'
import { eventOf, FORGER, kubectl, look, type Show, seen } from './show.ts'

/** What the Node itself says counts; what only the report knows comes from there. */
function rowOf(stage: Stage, name: string): NodeProgress {
  const [node, report] = [stage.nodes.last(name), stage.reports.last(name)]
  const labels: Partial<Record<string, string>> = node?.metadata.labels ?? {}
  const initialized = condition(report, 'Initialized')
  const refusal = initialized?.status === 'False' ? initialized.reason : ''
  const decided = refusal === '' ? 'checking' : 'refused'
  const tainted = report === undefined ? 'tainted' : decided
  const state = node === undefined ? 'waiting' : isInitialized(node) ? 'initialized' : tainted
  const { identityLevel: level = '', vm } = report?.status ?? {}
  const zone = labels['topology.kubernetes.io/zone']
  const type = labels['node.kubernetes.io/instance-type']
  const got = [vm?.name, vm?.host, zone, address(node, 'InternalIP'), type].map((text) => text ?? '')
  return { name, state, level, details: state === 'initialized' ? got : [refusal] }
}

/** Shows these Nodes until each is as wanted, while they are made. */
async function watched(
  show: Show,
  names: readonly string[],
  what: string,
  isDone: (row: NodeProgress) => boolean,
  make: () => Promise<void>,
): Promise<void> {
  const { stage, tell } = show
  const since = stage.nodes.versions[0]?.at ?? performance.now()
  let failure: unknown
  const making = make().catch((error: unknown) => {
    failure = error
  })
  try {
    const look = () => {
      if (failure !== undefined) throw failure
      const rows = names.map((name) => rowOf(stage, name))
      for (const row of rows) tell.node(row, performance.now() - since)
      return rows.every(isDone)
    }
    await seen(show, what, look, { waits: false })
  } finally {
    await making
  }
}

/** Registers the Nodes, starts an agent for each, and shows them until all are initialized and proven. */
export async function rollCall(show: Show): Promise<string[]> {
  const { stage, cast, agents } = show
  const names = cast.map(({ name }) => name)
  const isDone = ({ state, level }: NodeProgress) => state === 'initialized' && level === 'proven'
  await watched(show, names, 'all Nodes are initialized and proven', isDone, async () => {
    const members: Member[] = []
    for (const [i, { name, vm, address }] of cast.entries()) {
      // Both kinds in both zones.
      const agentOf = Math.floor(i / 2) % 2 === 0 ? 'kubelet' : 'pod'
      members.push(await stage.member(name, { vm, addresses: [`${address}/24`], agentOf }))
    }
    for (const member of members) agents.set(member.name, await member.agent())
  })
  return []
}

/** Lets the forger register its Node and report among the others; shows that it is refused, and what an operator sees. */
export async function forgery(show: Show, before: Snapshot): Promise<string[]> {
  const { stage, agents, victim, forgersVM, screen } = show
  const isDone = ({ state }: NodeProgress) => state === 'refused' || state === 'initialized'
  await watched(show, [FORGER], `something is decided about ${FORGER}`, isDone, async () => {
    const member = await stage.member(FORGER, { vm: victim.vm, runsIn: forgersVM })
    agents.set(FORGER, await member.agent())
  })
  await eventOf(show, FORGER, `Warning ${REFUSED_BECAUSE}`)
  await kubectl(show, 'kubectl get nodes -o wide')
  await kubectl(show, 'kubectl get nodereports')
  screen.print(
    '',
    `${screen.style('bold', 'The forger.')} Node ${FORGER} runs in a VM of its own, ${forgersVM.name}, and has a valid credential of its own,`,
    `but reports the serial number and the MAC addresses of ${victim.vm.name}, the VM of ${victim.name}.`,
  )
  await kubectl(show, `kubectl describe nodereport ${FORGER} | grep -B5 'Type: *IdentityVerified'`)
  await kubectl(show, `kubectl events --for node/${FORGER}`)
  const problems = checkForger(FORGER, victim.name, before, await look(stage))
  if (problems.length === 0)
    screen.print(
      '',
      `${FORGER} keeps its taint and has no provider ID; the Node and the NodeReport of ${victim.name} are the same, byte for byte.`,
    )
  return problems
}
