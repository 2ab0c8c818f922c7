/** The control loops, a row each. A leader runs them by this table, and so do `plan` and `explain` on their copy. */

import type { NodeReportStatus } from '../../agent/shared/node-report.ts'
import { type Config, settingsOf } from '../config/config.ts'
import type { Task } from '../lib/tasks.ts'
import type { ConditionValues } from '../types/condition-value.ts'
import type { Trouble } from '../types/trouble.ts'
import { type CertificateLoopPorts, startCertificateLoop } from './certificates/loop.ts'
import { labelsRead } from './node/facts/labels-read.ts'
import { type NodeLoopPorts, startNodeLoop } from './node/loop.ts'

/** What a loop may watch, ask and write: all that the rows need. */
export type LoopPorts = NodeLoopPorts & CertificateLoopPorts

/** A loop under one configuration. */
export interface RunningLoop {
  /**
   * Called with each Node that may have to be looked at again, whatever has changed; before `run`, too.
   *
   * @param why `itself` where all that changed is the Node or its report: a loop knows what it wrote itself
   */
  add(node: string, why?: 'itself'): void
  /**
   * Called with what the loop of Nodes has decided of a Node: the status of its report, also while that waits to be written.
   * Undefined where the Node is gone, or not Rollcall's.
   */
  onDecided?(node: string, status: NodeReportStatus | undefined): void
  /** Called when a Node is being initialized: Pods may wait for it, and what nobody waits for should not be in its way. */
  onInitializing?(): void
  /** What it says of a Node in the status of its report, which the loop of Nodes writes. */
  conditions?(node: string): ConditionValues
  /** Works until the signal aborts. Called once all that is watched is listed; until then nothing is decided. */
  readonly run: Task
  /** Whether nothing is left to do until something changes or time passes. */
  isIdle(): boolean
  /** What keeps it from working as it should, one line each: the leader is not ready then. Anyone can read them. */
  problems(): readonly string[]
  /** What else people should know. */
  remarks(): readonly Trouble[]
}

export interface Loop {
  /** Those of the CPI's controllers whose work it does, as in `--controllers`, and whether the configuration wants that. */
  readonly controllers: Readonly<Record<string, (config: Config) => boolean>>
  /** The labels of Nodes that it reads. Others are not kept: a kubelet may give its own Node a megabyte of them. */
  labels(config: Config): Iterable<string>
  /** Undefined where the configuration turns it off. */
  start(ports: LoopPorts): RunningLoop | undefined
}

export const LOOPS: readonly Loop[] = [
  {
    controllers: {
      'cloud-node-controller': ({ initialization }) => initialization.on,
      'cloud-node-lifecycle-controller': ({ lifecycle }) =>
        lifecycle.deletion !== 'off' || lifecycle.shutdownTaint,
    },
    labels: (config) => labelsRead(settingsOf(config)),
    // It runs without these, too: then it says in the reports which VM each Node is.
    start: startNodeLoop,
  },
  { controllers: {}, labels: () => [], start: startCertificateLoop },
]

/** What a leader does to Nodes by its configuration: the work of which of the CPI's controllers. */
export function ownControllers(config: Config): { readonly node: boolean; readonly lifecycle: boolean } {
  const isWanted = (name: string) => LOOPS.some(({ controllers }) => controllers[name]?.(config) === true)
  return {
    node: isWanted('cloud-node-controller'),
    lifecycle: isWanted('cloud-node-lifecycle-controller'),
  }
}
