import t from 'tap'
import { after, decide, facts, node, report, settled } from '../../../../test/fixtures/facts.ts'
import { agentlessReport } from '../facts/previous-status.ts'
import type { AgentContact, NodeFacts } from './node-facts.ts'

const MINUTE = 60_000
const contact = (minutes: number, isHeard = true): AgentContact => ({ silentFor: minutes * MINUTE, isHeard })
const said = ({ report }: Pick<NodeFacts, 'report'>) =>
  report?.status.conditions?.find(({ type }) => type === 'AgentReports')

t.test('three missed reports are said once, and a report ends that', async (t) => {
  const early = decide(settled({ agentContact: contact(10) }))
  t.match(early, { requeueAfter: undefined, events: [] }, 'without a timer for each Node')
  t.notOk(said({ report: report({ status: early.status ?? {} }) }))
  const late = settled({ agentContact: contact(10.5) })
  const first = decide(late)
  t.match(first.events, [
    {
      type: 'Warning',
      reason: 'AgentSilent',
      message:
        /since 2026-03-01T09:59:55Z, although the Node is Ready and three reports were due within 10m30s;/,
    },
  ])
  const silent = after(late, first)
  t.match(said(silent), { status: 'False', reason: 'AgentSilent' })
  t.same(decide({ ...silent, agentContact: contact(60) }).events, [])
  t.same(decide({ ...silent, agentContact: contact(60) }).status, silent.report?.status, 'written once')

  const newLeader = { ...silent, agentContact: contact(0, false) }
  t.match(said(after(newLeader, decide(newLeader))), { status: 'False' }, 'it may be as old as before')
  const heard = { ...silent, agentContact: contact(0) }
  t.match(said(after(heard, decide(heard))), { status: 'True', reason: 'AgentReports' })
})

t.test(
  'an agent that reports less often may be silent for longer, and one that reports more often is not in haste',
  async (t) => {
    const every = (refreshSeconds: number, minutes: number) => {
      const of = settled().report
      if (of?.spec.ok !== true) throw new Error('there is a report')
      const spec = { ok: true, value: { ...of.spec.value, refreshSeconds } } as const
      const one = settled({ report: { ...of, spec }, agentContact: contact(minutes) })
      return said(after(one, decide(one)))?.status
    }
    t.equal(every(1_800, 104), undefined)
    t.equal(every(1_800, 105), 'False')
    t.equal(every(60, 10), undefined)
    t.equal(every(60, 10.5), 'False')
  },
)

t.test('it is not the fault of an agent that none is there, or that its machine is silent', async (t) => {
  const { node: running } = settled()
  const silent = { ...running, ready: { status: 'Unknown', lastHeartbeatTime: '' } }
  const own = report({ ...settled().report, spec: { ok: true, value: agentlessReport(running) } })
  for (const [what, each] of Object.entries({
    'it waits for a cloud provider': facts({ node: node(), agentContact: contact(60) }),
    'its kubelet is silent': settled({ node: silent, agentContact: contact(60) }),
    'it has no agent': settled({ report: own, agentContact: contact(60) }),
    'nothing is known of it': settled(),
  }))
    t.notOk(said(after(each, decide(each))), what)
})
