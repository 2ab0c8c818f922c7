import type { Test } from 'tap'
import type { ConditionType } from '../../agent/shared/node-report.ts'
import { until } from '../fixtures/until.ts'
import { metric } from '../world/meters.ts'
import { condition, eventsOf, isInitialized, type NodeObject } from '../world/objects.ts'
import type { AttackStage, Forger } from './stage.ts'

/**
 * Checks what an operator has of a Node that is held up for this reason: a condition, a Warning on the Node, and a metric; and
 * that the Node has nothing of what it asked for.
 */
export async function checkHeld(
  t: Test,
  stage: AttackStage,
  forger: Pick<Forger, 'name' | 'judged'>,
  reason: string,
): Promise<void> {
  const { cluster, events, running } = stage
  const { name } = forger
  const report = await forger.judged()
  const type = (['VMFound', 'IdentityVerified', 'AddressesResolved'] as const).find(
    (type) => condition(report, type)?.status === 'False',
  )
  const current = type === undefined ? undefined : condition(report, type)
  t.match(current, { status: 'False', reason, message: /\w{3}/ }, `the report of ${name} says ${reason}`)
  t.match(condition(report, 'Initialized'), { status: 'False', reason })
  const { body: node } = await cluster.request<NodeObject>('GET', `/api/v1/nodes/${name}`)
  t.notOk(isInitialized(node), `${name} stays tainted`)
  t.notMatch(node.metadata.labels, { 'topology.kubernetes.io/zone': String })
  await events.until(`an Event on ${name} says ${reason}`, () =>
    eventsOf(events, name).some((event) => event.type === 'Warning' && event.reason === reason),
  )
  await metricSays(running.url, type, reason)
}

/** Waits until the metric of Nodes that are held up has one for this reason. */
export async function metricSays(
  url: string,
  type: ConditionType | undefined,
  reason: string,
): Promise<void> {
  const series = `rollcall_nodes_held_up{condition="${type ?? ''}",reason="${reason}"}`
  await until(`the metric has ${series}`, async () => (await metric({ url }, series)) !== undefined)
}
