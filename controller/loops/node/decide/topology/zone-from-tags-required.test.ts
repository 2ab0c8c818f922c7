import t from 'tap'
import type { ConditionType } from '../../../../../agent/shared/node-report.ts'
import { after, decide, facts, SETTINGS, settled, vm } from '../../../../../test/fixtures/facts.ts'
import type { Ancestor, VirtualMachine } from '../../../../types/virtual-machine.ts'
import type { Decision } from '../decision.ts'

const settings = { ...SETTINGS, topology: { ...SETTINGS.topology, required: true } }

function condition(decision: Decision, type: ConditionType) {
  return decision.status?.conditions?.find((candidate) => candidate.type === type)
}

/** A VM whose cluster has these tags in place of its zone. */
function tagged(tags: Ancestor['tags'], unreadable: readonly string[] = []) {
  const { ancestry } = vm()
  if (ancestry === undefined) throw new Error('the VM of the fixtures has ancestors')
  const compute = ancestry.compute.map((each) =>
    each.type === 'ClusterComputeResource' ? { ...each, tags } : each,
  )
  const unreadAbove = { compute: unreadable.map((why) => ({ why })) }
  return [vm({ ancestry: { ...ancestry, compute, unreadAbove } })]
}

const WAITS: readonly {
  readonly name: string
  readonly vms: readonly VirtualMachine[]
  readonly reason: string
  readonly words: RegExp
}[] = [
  {
    name: 'has no tag of a category',
    vms: tagged([]),
    reason: 'TagMissing',
    words:
      /no tag of category "k8s-zone" .*; topology\.required is true, so the Node stays uninitialized until that is fixed in vCenter .*; or set topology\.required to false$/,
  },
  {
    name: 'has a tag that no label could have',
    vms: tagged([{ category: 'k8s-zone', name: '???' }]),
    reason: 'TagMissing',
    words: /rename it; topology\.required is true/,
  },
  {
    name: 'has tags that cannot be read',
    vms: tagged([], ['Folder "x"']),
    reason: 'TagsUnreadable',
    words: /not readable: Folder "x"; topology\.required is true, so the Node stays .* until they are read/,
  },
]

for (const { name, vms, reason, words } of WAITS) {
  t.test(`a new Node whose VM ${name} waits, and is told`, async (t) => {
    const waiting = decide(facts({ vms, settings }))
    t.match(waiting, { state: 'refused', refusal: { condition: 'TopologyResolved', reason }, requeue: true })
    t.same(Object.keys(waiting.patch ?? {}), ['addresses'], 'it keeps its taint, and shows its addresses')
    t.match(condition(waiting, 'TopologyResolved'), { status: 'False', reason, message: words })
    t.match(condition(waiting, 'Initialized'), { status: 'False', reason, message: words })
    t.match(waiting.status, { identityLevel: 'proven', topology: { region: 'region-1' } })
    t.match(waiting.events.at(-1), { type: 'Warning', reason, message: words })

    const still = after(facts({ vms, settings }), waiting)
    t.match(decide(still), { state: 'refused', patch: undefined, events: [] }, 'told once')
    const ready = decide({ ...still, lookups: facts().lookups })
    t.match(ready, { state: 'initializing', patch: { taints: [] } }, 'it goes on once the tag is there')
    t.equal(ready.patch?.labels?.['topology.kubernetes.io/zone'], 'zone-a')
    t.match(condition(ready, 'TopologyResolved'), { status: 'True' })

    const without = decide({ ...still, settings: SETTINGS })
    t.match(without, { state: 'initializing' }, 'or once it is not required')
    t.notMatch(condition(without, 'TopologyResolved')?.message, /topology\.required/)
  })

  t.test(`a running Node whose VM ${name} goes on`, async (t) => {
    const decision = decide(settled({ vms, settings }))
    t.match(decision, { state: 'initialized', patch: undefined, refusal: undefined })
    t.match(condition(decision, 'TopologyResolved'), { status: 'False', reason })
    t.notMatch(condition(decision, 'TopologyResolved')?.message, /topology\.required/)
  })
}

t.test('a category that is not configured is not waited for', async (t) => {
  const labels = { zone: undefined, region: 'k8s-region' }
  t.equal(decide(facts({ vms: tagged([]), settings: { ...settings, labels } })).state, 'initializing')
})

t.test('what another provider initializes does not wait for tags', async (t) => {
  const interlock = { state: 'held', message: 'stop the CPI' } as const
  const decision = decide(facts({ vms: tagged([]), settings, interlock }))
  t.match(decision, { state: 'waiting', refusal: { reason: 'CPIRuns' } })
  t.notMatch(condition(decision, 'TopologyResolved')?.message, /topology\.required/)
})
