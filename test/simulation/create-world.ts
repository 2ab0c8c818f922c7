import { ANNOTATION_DELETION, ANNOTATION_VM } from '../../controller/types/node.ts'
import { createJudge } from './invariants/judge.ts'
import { createApiServer } from './model/api-server.ts'
import { createConfigFile } from './model/config-file.ts'
import { type ControllerModelOptions, runController } from './model/controller.ts'
import type { Folder } from './model/machine.ts'
import { createMachines } from './model/machines.ts'
import { createProcess, type Process } from './model/process.ts'
import { createVCenterModel, type VCenterModel } from './model/vcenter.ts'
import type { Random } from './random.ts'
import { drawSettings } from './settings.ts'
import type { Timeline } from './timeline.ts'
import type { World } from './world.ts'

const TICK = 5_000
/** Milliseconds by which a clock may be wrong. */
const CLOCKS_DIFFER = 60_000
/** After which a kubelet starts a process anew that has exited, milliseconds. */
const BACKOFF = 10_000

export function createWorld(random: Random, timeline: Timeline, settings = drawSettings(random)): World {
  const judge = createJudge(() => world)
  const api = createApiServer(timeline, judge.onWrite, judge.onRefused)
  const stop = new AbortController()
  let numbers = 100
  const number = (): number => ++numbers

  function folders(count: number): Folder[] {
    return Array.from({ length: count }, (_, index) => ({
      moref: `group-v${number()}`,
      name: `folder-${index}`,
      datacenter: index === count - 1 ? 'dc-2' : 'dc-1',
    }))
  }

  function vCenter(
    name: string,
    random: Random,
    { strangers = true, cloneOf }: { readonly strangers?: boolean; readonly cloneOf?: VCenterModel } = {},
  ): VCenterModel {
    const made = createVCenterModel({
      name,
      ...(cloneOf === undefined
        ? { instanceUUID: random.uuid(), folders: folders(4) }
        : { instanceUUID: cloneOf.instanceUUID, folders: cloneOf.folders, cloneOf }),
      loading: settings.lifecycle.absentFor * 0.9,
      timeline,
      random,
      number,
      onLogin(owner, accepted) {
        const clock = processes.find((process) => owner.startsWith(`${process.name}/`))
        judge.judged(name, accepted, Math.abs(clock?.ahead ?? 0) <= CLOCKS_DIFFER)
      },
    })
    if (strangers) for (const folder of made.folders.slice(2)) addStranger(made, folder, random)
    return made
  }

  function addStranger(vCenter: VCenterModel, folder: Folder, random: Random): void {
    vCenter.register({
      name: `stranger-${number()}`,
      biosUUID: random.uuid(),
      instanceUUID: random.uuid(),
      folder,
      host: 'host-0',
      connectionState: 'connected',
      shownPower: undefined,
      claim: undefined,
      template: false,
      mac: `00:50:56:aa:00:${(number() & 255).toString(16).padStart(2, '0')}`,
      machine: undefined,
      faultTolerance: undefined,
      standby: false,
    })
  }

  const second = random.pick(['none', 'one', 'few', 'few', 'one', 'empty'] as const)
  const vCenters = [
    vCenter('vc-1', random.derive('vc-1')),
    ...(second === 'none' ? [] : [vCenter('vc-2', random.derive('vc-2'), { strangers: second === 'few' })]),
  ]
  const clones: VCenterModel[] = []
  const machines = createMachines({
    api,
    timeline,
    random: random.derive('machines'),
    heartbeat: random.between(20_000, 300_000),
    gracePeriod: drawGracePeriod(random.derive('grace period')),
    refresh: random.between(30_000, 2.5 * settings.lifecycle.absentFor),
  })
  const processes: Process[] = []
  const configFile = createConfigFile({
    settings,
    vCenters: vCenters.map(({ name }) => name),
    apart: random.derive('credentials').chance(0.3),
    timeline,
  })

  function setAnnotation(nodeName: string, key: string, value: string | undefined): void {
    const node = api.nodes.get(nodeName)
    if (node === undefined) return
    const { [key]: _, ...others } = node.metadata.annotations
    const annotations = value === undefined ? others : { ...others, [key]: value }
    api.putNode(nodeName, { ...node, metadata: { ...node.metadata, annotations } })
  }

  function startReplica(index: number, generation: number): void {
    const name = `${'ab'[index]}-${generation}`
    const process = createProcess(name, timeline, random.derive(name))
    processes[index] = process
    const onExit = (): void => world.restart(process, BACKOFF)
    const options: ControllerModelOptions = {
      api,
      vCenterNamed: (name) =>
        vCenters.find((each) => each.name === name) ?? clones.find((each) => each.name === name),
      process,
      timeline,
      configFile,
      watch: judge,
      onExit,
    }
    void runController(options, stop.signal)
  }

  const world: World = {
    timeline,
    random,
    get settings() {
      return configFile.settings
    },
    configFile,
    api,
    vCenters,
    clones,
    machines,
    processes,
    judge,
    leader: () => processes.find(({ name }) => name === api.holder.identity),
    restart(process, after) {
      const index = processes.indexOf(process)
      if (index < 0 || process.state === 'dead') return
      process.kill()
      const generation = Number(process.name.slice(2)) + 1
      timeline.after(after, `replica ${index} starts anew`, () => startReplica(index, generation))
    },
    anotherVCenter: vCenter,
    cloneVCenter(original, random) {
      const clone = vCenter(`vc-clone-${clones.length}`, random, { strangers: false, cloneOf: original })
      clones.push(clone)
      return clone
    },
    healing: { until: 0 },
    annotate: (nodeName, value) => setAnnotation(nodeName, ANNOTATION_DELETION, value),
    nameVM: (nodeName, instanceUUID) => setAnnotation(nodeName, ANNOTATION_VM, instanceUUID),
    end: () => stop.abort(),
  }

  populate(world, second)
  startReplica(0, 1)
  startReplica(1, 1)
  const tick = (): void => {
    machines.kubelets.tick()
    judge.look()
    timeline.after(TICK, 'heartbeats', tick)
  }
  tick()
  return world
}

/** The second vCenter may have nothing but one VM, or not even that. */
function populate({ random, vCenters, machines }: World, second: 'none' | 'few' | 'one' | 'empty'): void {
  const inSecond = { none: 0, empty: 0, one: 1, few: 1 + random.below(3) }[second]
  for (const [index, vCenter] of vCenters.entries()) {
    const count = index === 0 ? 4 + random.below(4) : inSecond
    for (let n = 1; n <= count; n++) {
      // The first folder holds one alone, so that no other's being found says anything of it.
      const [first, ...rest] = vCenter.folders
      const folder: Folder | undefined = n === 1 ? first : rest[random.below(2)]
      if (folder !== undefined) machines.create(`node-${index}-${n}`, vCenter, folder)
    }
    const [folder] = vCenter.folders
    if (folder !== undefined && (random.chance(0.4) || (index > 0 && second === 'one')))
      machines.create(`migrated-${index}`, vCenter, folder, { migrated: true })
  }
}

/** Mostly the default before Kubernetes 1.32; some wait for minutes. */
function drawGracePeriod(random: Random): number {
  return random.chance(0.7) ? 40_000 : random.between(40_000, 300_000)
}
