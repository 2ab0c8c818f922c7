import { eventsOn, type ObservedEvent } from '../events.ts'
import type { ExpectedNode } from '../scene.ts'
import { isShutDown } from '../view.ts'
import { type Scenery, waitFor } from './wait-for.ts'
import { sayEvent } from './words.ts'

export interface PowerOff {
  /** Milliseconds from the moment when vCenter had it to the taint. */
  readonly after: number
  /** On the Node. */
  readonly events: readonly ObservedEvent[]
}

/** Powers the VM off, with all that runs in it, and waits for the taint; the Node's Ready condition stays True. */
export async function powerOff(scenery: Scenery, { name, vm }: ExpectedNode): Promise<PowerOff> {
  const { site, agents, narrator, signal } = scenery
  narrator.open(
    'Another VM is powered off:',
    `${vm.name}, that of ${name}, which is still Ready: nobody has missed its kubelet yet. vCenter's push is what counts.`,
  )
  await agents.get(name)?.stop()
  agents.delete(name)
  await site.vcsim.setState({ vm: vm.ref, powerState: 'poweredOff' })
  const { after } = await waitFor(scenery, `Node ${name} is tainted`, ({ nodes }) =>
    isShutDown(nodes.get(name)) ? true : undefined,
  )
  narrator.say(`Node ${name} has the taint node.cloudprovider.kubernetes.io/shutdown:NoSchedule.`, after)
  const events = await eventsOn(site.cluster, name, 'VMShutDown', signal)
  for (const event of events.filter(({ reason }) => reason === 'VMShutDown')) narrator.say(sayEvent(event))
  return { after, events }
}
