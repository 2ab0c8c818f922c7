/** Fixed scenes: a small world, what happens in it at which time, and what must follow. The judge of all runs looks on. */
import t, { type Test } from 'tap'
import type {
  CertificatesConfig,
  DecisionConfig,
  LifecycleConfig,
  TopologyConfig,
} from '../../controller/config/config.ts'
import { SETTINGS } from '../fixtures/facts.ts'
import type { Population } from './population.ts'
import { createRecord } from './record.ts'
import { runWorld } from './run-world.ts'
import { createScene, type FixedScene } from './scene.ts'

export interface Setting<Name extends string> {
  /** Names of the Nodes, each with a VM of its own in the first vCenter. */
  readonly nodes: readonly Name[]
  /** What differs from the defaults. */
  readonly lifecycle?: Partial<LifecycleConfig>
  /** Tag categories of zone and region; none by default. */
  readonly labels?: DecisionConfig['labels']
  /** What becomes of the labels of running Nodes: that they differ is reported by default. */
  readonly onChange?: TopologyConfig['onChange']
  /** None by default. */
  readonly labelRules?: DecisionConfig['labelRules']
  /** What differs from the defaults, by which no certificate is approved. */
  readonly certificates?: Partial<CertificatesConfig>
  /** What the second vCenter has; there is none by default. */
  readonly second?: Population['second']
  /** Milliseconds between the reports of an agent that has nothing new to say. */
  readonly refresh?: number
}

/** Any will do: it draws how long requests take, and in which order things happen that happen at once. */
const SEED = 1
/** Until then all Nodes are verified, vCenter is watched, and the leader is old enough; milliseconds. */
const BEGINS = 180_000
/** The default of `--node-monitor-grace-period` before Kubernetes 1.32, milliseconds. */
const GRACE_PERIOD = 40_000
const NO_LABELS = { zone: undefined, region: undefined }

/**
 * A test of one scene. The script begins when all Nodes are initialized and watched; it lets the model's time pass, and it
 * asserts. At the end no promise may have been broken.
 */
export function scenario<const Name extends string>(
  name: string,
  {
    nodes,
    lifecycle,
    labels = NO_LABELS,
    onChange = SETTINGS.topology.onChange,
    labelRules = [],
    certificates,
    second = 'none',
    refresh = 600_000,
  }: Setting<Name>,
  script: (scene: FixedScene<Name>, t: Test) => Promise<void>,
): void {
  const settings: DecisionConfig = {
    ...SETTINGS,
    labels,
    topology: { ...SETTINGS.topology, onChange },
    labelRules,
    ipFamilies: {},
    certificates: { ...SETTINGS.certificates, ...certificates },
    lifecycle: { ...SETTINGS.lifecycle, ...lifecycle },
  }
  void t.test(name, async (t) => {
    const record = createRecord()
    const population: Population = {
      second,
      heartbeat: 300_000,
      gracePeriod: GRACE_PERIOD,
      refresh,
      // The scene makes its own machines.
      place: () => undefined,
    }
    const options = {
      settings: () => settings,
      population,
      onlooker: record,
      until: Number.POSITIVE_INFINITY,
    }
    const { violation, trace } = await runWorld(SEED, options, async (world, passing) => {
      const scene = createScene(world, passing, record, nodes)
      await scene.settled(...nodes)
      await scene.at(BEGINS)
      await script(scene, t)
      return { pairs: new Set(), faults: [] }
    })
    t.equal(violation, undefined, 'no promise is broken', { trace })
  })
}
