import type { VcsimOptions } from '../servers/vcsim.ts'
import type { Controller, ControllerProcessOptions } from './controller.ts'
import type { CrowdMember } from './crowd.ts'
import { deleted, watched } from './deletion.ts'
import { loseHeartbeats } from './kubelet.ts'
import { metric } from './meters.ts'
import { openStage, type Stage, type Teardown } from './stage.ts'

/** A cluster whose Nodes are all initialized, and whose VMs vCenter watches for the controller that leads. */
export interface Play<Name extends string = string> extends Stage {
  /** The controller that leads, or led last. */
  readonly leader: Controller
  readonly members: readonly CrowdMember[]
  readonly cast: Readonly<Record<Name, CrowdMember>>
  /** Makes their kubelets silent, and hides their VMs as if they were destroyed. */
  vanish(...members: readonly CrowdMember[]): Promise<void>
  /** Destroys their VMs, and all that runs in them. */
  destroy(...members: readonly CrowdMember[]): Promise<void>
  /** Waits until their Nodes are deleted. */
  ends(...members: readonly CrowdMember[]): Promise<void>
  /** How many Nodes of the cast there are. */
  kept(): number
  /** The value of a series of the leader. */
  count(series: string): Promise<number | undefined>
  /** Ends the leader, and starts another that knows nothing of what it has seen. */
  nextLeader(options: Partial<ControllerProcessOptions>): Promise<Controller>
}

export interface PlayOptions {
  /** How many VMs there are; as many as Nodes, unless given. */
  readonly vms?: number
  readonly vcsim?: VcsimOptions
  /** More about the first controller. */
  readonly controller?: (stage: Stage) => Promise<Partial<ControllerProcessOptions>>
}

/**
 * Opens a stage with Nodes of these names, or with so many, and a controller. Their reports are made up: no agent's process
 * has to be quick.
 */
export async function openPlay<const Name extends string>(
  t: Teardown,
  of: number | readonly Name[],
  lifecycle: NonNullable<ControllerProcessOptions['lifecycle']>,
  { vms = typeof of === 'number' ? of : of.length, vcsim, controller }: PlayOptions = {},
): Promise<Play<Name>> {
  const stage = await openStage(t, { vms, ...vcsim })
  let leader = await stage.controller({ lifecycle, ...(await controller?.(stage)) })
  const members = await stage.crowd(of)
  await watched(stage)
  const { cluster, nodes } = stage
  return {
    ...stage,
    get leader() {
      return leader
    },
    members,
    cast: Object.fromEntries(members.map((member) => [member.name, member])) as Record<Name, CrowdMember>,
    async vanish(...gone) {
      await loseHeartbeats(cluster, ...gone.map(({ name }) => name))
      await stage.vcsim.hide(...gone.map(({ vm }) => vm.ref))
    },
    async destroy(...gone) {
      await loseHeartbeats(cluster, ...gone.map(({ name }) => name))
      for (const { vm } of gone) await stage.vcsim.destroy(vm.ref)
    },
    async ends(...gone) {
      await Promise.all(gone.map(({ name }) => deleted(stage, name)))
    },
    kept: () => members.filter(({ name }) => nodes.last(name) !== undefined).length,
    count: (series) => metric(leader, series),
    async nextLeader(options) {
      await leader.stop()
      leader = await stage.controller({ lifecycle, ...options })
      return leader
    },
  }
}
