import type { DecisionConfig } from '../../controller/config/config.ts'
import { ANNOTATION_DELETION, ANNOTATION_VM } from '../../controller/types/node.ts'
import { createJudge } from './invariants/judge.ts'
import { createApiServer, type Write } from './model/api-server.ts'
import { createCertificates } from './model/certificates.ts'
import { createConfigFile } from './model/config-file.ts'
import { type ControllerModelOptions, type ControllerOnlooker, runController } from './model/controller.ts'
import type { Folder } from './model/machine.ts'
import { createMachines } from './model/machines.ts'
import { createProcess, type Process } from './model/process.ts'
import { createVCenterModel, type VCenterModel } from './model/vcenter.ts'
import type { Population } from './population.ts'
import type { Random } from './random.ts'
import type { Timeline } from './timeline.ts'
import type { World } from './world.ts'

const TICK = 5_000
/** Milliseconds by which a clock may be wrong. */
const CLOCKS_DIFFER = 60_000
/** After which a kubelet starts a process anew that has exited, milliseconds. */
const BACKOFF = 10_000

/** Who looks on beside the judge. */
export interface Onlooker extends ControllerOnlooker {
  /** The API server has taken a write of a controller. */
  wrote(write: Write): void
}

export interface WorldPlan {
  readonly settings: DecisionConfig
  readonly population: Population
  /** Nobody by default. */
  readonly onlooker?: Onlooker | undefined
}

export function createWorld(
  random: Random,
  timeline: Timeline,
  { settings, population, onlooker }: WorldPlan,
): World {
  const judge = createJudge(() => world)
  const onWrite = (write: Write): void => {
    judge.onWrite(write)
    onlooker?.wrote(write)
  }
  const api = createApiServer(timeline, {
    onWrite,
    onRefused: judge.onRefused,
    onRequestDecided: judge.onRequestDecided,
  })
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

  const { second } = population
  const vCenters = [
    vCenter('vc-1', random.derive('vc-1')),
    ...(second === 'none' ? [] : [vCenter('vc-2', random.derive('vc-2'), { strangers: second === 'few' })]),
  ]
  const clones: VCenterModel[] = []
  const machines = createMachines({
    api,
    timeline,
    random: random.derive('machines'),
    ...population,
  })
  const certificates = createCertificates({
    api,
    machines: machines.all,
    timeline,
    random: random.derive('serving certificates'),
    bootstrap: settings.certificates.approve,
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
      onlooker,
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
    certificates,
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
    annotate(nodeName, value) {
      const uid = api.nodes.get(nodeName)?.metadata.uid
      if (uid !== undefined && value === undefined) judge.letGoAt.set(uid, timeline.now)
      setAnnotation(nodeName, ANNOTATION_DELETION, value)
    },
    nameVM: (nodeName, instanceUUID) => setAnnotation(nodeName, ANNOTATION_VM, instanceUUID),
    end: () => stop.abort(),
  }

  population.place(world)
  startReplica(0, 1)
  startReplica(1, 1)
  const tick = (): void => {
    machines.kubelets.tick()
    certificates.tick()
    judge.look()
    timeline.after(TICK, 'heartbeats', tick)
  }
  tick()
  return world
}
