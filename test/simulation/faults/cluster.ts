/** What goes wrong with the API server, with the replicas of the controller, and what people do. */
import type { Process } from '../model/process.ts'
import type { World } from '../world.ts'
import type { Fault, Faults } from './fault.ts'

/** To a leader, most often. */
function toReplica(begin: (process: Process, world: World) => () => void): Fault {
  return (world) => {
    const { random, processes } = world
    const process = (random.chance(0.8) ? world.leader() : undefined) ?? random.pick(processes)
    return begin(process, world)
  }
}

function stop(how: 'frozen' | 'suspended'): Fault {
  return toReplica((process) => {
    process.stop(how)
    return process.wake
  })
}

function annotated(value: string): Fault {
  return (world, { machine }) => {
    world.annotate(machine.nodeName, value)
    return () => world.annotate(machine.nodeName, undefined)
  }
}

export const CLUSTER_FAULTS: Faults = {
  'api-server-away'({ api }) {
    api.away = true
    return () => {
      api.away = false
    }
  },
  'api-server-slow'({ api, random }) {
    api.slow = random.pick([1_000, 4_000])
    return () => {
      api.slow = 0
    }
  },
  'watch-late': toReplica(({ line }, { random }) => {
    line.lag = random.pick([500, 5_000, 20_000])
    return () => {
      line.lag = 0
    }
  }),
  'replica-cut-off': toReplica(({ line }) => {
    line.cut = true
    return () => {
      line.cut = false
    }
  }),
  'answers-lost': toReplica(({ line }) => {
    line.deaf = true
    return () => {
      line.deaf = false
    }
  }),
  conflicts({ api, timeline, random }, { machine: { nodeName } }) {
    let over = false
    const touch = (): void => {
      const node = api.nodes.get(nodeName)
      if (over || node === undefined) return
      const labels = { ...node.metadata.labels, touched: String(timeline.steps) }
      if (!api.away) api.putNode(nodeName, { ...node, metadata: { ...node.metadata, labels } })
      timeline.after(random.between(50, 3_000), `somebody labels ${nodeName}`, touch)
    }
    touch()
    return () => {
      over = true
    }
  },
  'replica-killed': toReplica((process, world) => {
    world.restart(process, world.random.between(1_000, 60_000))
    return () => undefined
  }),
  /** Whoever leads crashes once it has begun to work. */
  'crash-loop'(world) {
    let over = false
    const crash = (): void => {
      if (over) return
      const leader = world.leader()
      if (leader !== undefined) world.restart(leader, world.random.between(500, 3_000))
      world.timeline.after(world.random.between(3_000, 25_000), 'the leader crashes', crash)
    }
    crash()
    return () => {
      over = true
    }
  },
  'replica-frozen': stop('frozen'),
  'replica-suspended': stop('suspended'),
  'clock-jumps': toReplica((process, { random }) => {
    process.setWall(random.pick([-3_600_000, -60_000, 60_000, 3_600_000]))
    return () => process.setWall(0)
  }),
  'configuration-changes'({ configFile, random }) {
    configFile.write({}, random.chance(0.3))
    return undefined
  },
  'deletion-set-otherwise'({ configFile, random }) {
    const { deletion } = configFile.original.lifecycle
    const others = (['on', 'dry-run', 'off'] as const).filter((each) => each !== deletion)
    configFile.write({ deletion: random.pick(others) })
    return () => configFile.write({ deletion })
  },
  'configuration-invalid'({ configFile }) {
    configFile.spoil(true)
    return () => configFile.spoil(false)
  },
  'credentials-away'({ configFile }) {
    configFile.credentials(false)
    return () => configFile.credentials(true)
  },
  'configuration-half-written': toReplica((process, { configFile }) => {
    configFile.tear(process)
    return () => undefined
  }),
  'report-deleted'({ api }, { machine: { nodeName } }) {
    api.putReport(nodeName, undefined)
    return undefined
  },
  held: annotated('hold'),
  'annotated-wrongly': annotated('Proceed!'),
  'let-go': annotated('proceed'),
  'volumes-attached'({ api, random, timeline }, { machine: { nodeName } }) {
    api.volumesChangedAt = timeline.now
    api.attachments.set(nodeName, 1 + random.below(3))
    return () => api.attachments.delete(nodeName)
  },
  'node-lifecycle-controller-away'({ machines }) {
    machines.kubelets.watched = false
    return () => {
      machines.kubelets.watched = true
    }
  },
  'deletions-refused'({ api }) {
    api.deletionsRefused = true
    return () => {
      api.deletionsRefused = false
    }
  },
  'volumes-unreadable'({ api, timeline }) {
    api.volumesRefused = true
    return () => {
      api.volumesRefused = false
      api.volumesChangedAt = timeline.now
    }
  },
}
