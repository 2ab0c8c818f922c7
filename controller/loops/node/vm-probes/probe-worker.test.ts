import t from 'tap'
import { boundVM } from '../../../../test/fixtures/facts.ts'
import { probe } from '../../../../test/fixtures/probes.ts'
import { createLogLines } from '../../../kubernetes/testing/log-lines.ts'
import type { ProbeRequest, ProbeResult } from '../decide/lifecycle/evidence.ts'
import { createProbeWorker } from './probe-worker.ts'

const REQUEST: ProbeRequest = {
  nodeUID: 'uid',
  vm: boundVM(),
  others: [],
  lifeSign: 'a',
  agentSign: 'a',
  volumes: true,
}

function setUp(changes: Partial<Parameters<typeof createProbeWorker>[0]> = {}) {
  const results: ProbeResult[] = []
  const told: string[] = []
  const log = createLogLines()
  let now = 1000
  const end = new AbortController()
  const probeNode = createProbeWorker({
    tracker: {
      request: (name) => (name === 'n1' ? REQUEST : undefined),
      record: (_, __, result) => results.push(result),
    },
    inventories: ['vc1', 'vc2'].map((vCenter) => ({
      probe: async () => {
        now += 5000
        return probe({ vCenter })
      },
    })),
    heartbeatOf: async () => 'beat',
    volumesAttachedTo: async () => 2,
    inhabitantsOf: () => undefined,
    onResult: (name) => told.push(name),
    clock: { now: () => 0, monotonic: () => now, sleep: async () => undefined },
    logger: log.logger,
    ...changes,
  })
  const work = (name: string) => probeNode(name, end.signal)
  return { work, results, told, log, end }
}

t.test('every vCenter is asked, and both times are known', async (t) => {
  const { work, results, told } = setUp()
  t.equal(await work('n1'), 'done')
  t.match(results, [
    {
      askedAt: 1000,
      answeredAt: { monotonic: 11_000 },
      heartbeat: 'beat',
      attachments: 2,
      probes: [{ vCenter: 'vc1' }, { vCenter: 'vc2' }],
    },
  ])
  t.same(told, ['n1'])
  await work('nobody wants to know')
  t.equal(results.length, 1)
})

t.test('volumes that cannot be counted are not none', async (t) => {
  const { work, results, log } = setUp({
    volumesAttachedTo: async () => Promise.reject(new Error('volumeattachments is forbidden')),
  })
  await work('n1')
  t.match(results, [{ attachments: undefined, probes: { length: 2 } }])
  t.match(log.lines, [{ node: 'n1', msg: /VolumeAttachments/ }])
})

t.test('a Lease that cannot be read says nothing of the kubelet', async (t) => {
  const { work, results, log } = setUp({
    heartbeatOf: async () => Promise.reject(new Error('leases is forbidden')),
  })
  await work('n1')
  t.match(results, [{ heartbeat: undefined, attachments: 2 }])
  t.match(log.lines, [{ node: 'n1', msg: /Lease of the kubelet/ }])
})

t.test('after the end nothing is concluded', async (t) => {
  const { work, results, told, end } = setUp()
  end.abort()
  await work('n1')
  t.same([results, told], [[], []])
})
