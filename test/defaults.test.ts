/** Defaults of agent and controller that must fit each other, and what Kubernetes expects. */
import t from 'tap'
import { parseOptions } from '../agent/options.ts'
import { file, load } from '../controller/config/testing/load.ts'
import { TIMINGS } from '../controller/vcenter/timings.ts'

const SECOND = 1_000
/** The agent adds up to an eighth to the time between two reports. */
const LONGEST_REFRESH = 9 / 8
/** The longest pause of an agent after a report that failed. */
const RETRY = 30 * SECOND
/** Kubernetes' test/e2e/cloud/nodes.go waits this long for the Node of a machine that was destroyed, and looks every 20 s. */
const PATIENCE = 300 * SECOND
const LOOKS_EVERY = 20 * SECOND
/** From the last proof to the deletion, with a second try. */
const DELETED = 10 * SECOND

t.test('the Node of a machine that was destroyed is gone when Kubernetes looks', async (t) => {
  const agent = parseOptions([])
  if (agent.kind !== 'options') throw new Error('no option is needed')
  const { lifecycle } = (await load(file(''))).config
  const { absentFor } = lifecycle
  const silent = agent.options.refresh * LONGEST_REFRESH + RETRY
  t.ok(silent < absentFor, 'a machine that runs reports within that time, also by a second try')
  t.ok(absentFor + DELETED < PATIENCE - LOOKS_EVERY, 'and the Node of one that is gone goes in time')
})

t.test('a VM that is destroyed in its first seconds is missed together with others that are', (t) => {
  t.ok(TIMINGS.enter <= TIMINGS.lost.spacing, 'losses are collected for that long')
  t.end()
})
