// Labels by rule: at the initialization, by push, when a VM moves, and against what others write.
import t from 'tap'
import { watched } from '../world/deletion.ts'
import type { Member } from '../world/member.ts'
import { eventsOf, isInitialized } from '../world/objects.ts'
import { runProgram } from '../world/program.ts'
import { openStage } from '../world/stage.ts'

const PREFIX = 'rollcall.node-restriction.kubernetes.io'
const LABELS = ['host', 'cluster', 'pool', 'rack', 'owner'].map((name) => `${PREFIX}/${name}`)
const OTHER = 'example.com/rack'
const labelRules = [
  ...[
    { host: 'name' },
    { cluster: 'name' },
    { resourcePool: 'name' },
    { tagCategory: 'rack' },
    { attribute: 'Owner' },
  ].map((from, i) => ({ label: LABELS[i], from })),
  { label: OTHER, from: { tagCategory: 'rack' }, map: { 'r 2': 'r2' } },
]

const stage = await openStage(t, { hosts: 2, vms: 8 })
const { nodes, events, vcsim } = stage
stage.keepVMs(({ host }) => host === 'DC0_C0_H0')
const owner = Number(await vcsim.govc('fields.add', '-type', 'VirtualMachine', 'Owner'))
await vcsim.tag(
  { category: 'rack', tag: 'r1', object: 'DC0_C0_H0' },
  { category: 'rack', tag: 'r 2', object: 'DC0_C1_H0' },
)

const labels = ({ name }: Pick<Member, 'name'>) =>
  [...LABELS, OTHER].map((label) => nodes.last(name)?.metadata.labels[label])
const writes = ({ name }: Member) => nodes.of(name).length

t.test('labels and their record come with the patch that initializes', async (t) => {
  const controller = await stage.controller({ labelRules }, t)
  const member = await stage.initialized('first')
  t.match(labels(member), ['DC0_C0_H0', 'DC0_C0', String, 'r1', undefined, 'r1'])
  t.match(
    nodes.last('first')?.metadata.annotations?.['rollcall.dev/labels'],
    new RegExp(`^${OTHER}=r1,${PREFIX}/cluster=DC0_C0,`),
  )
  const first = nodes.of('first').find(({ object }) => isInitialized(object))
  t.equal(first?.object.metadata.labels[LABELS[0] ?? ''], 'DC0_C0_H0', 'no Node is initialized without them')
  await stage.says('first', 'LabelsResolved', { status: 'True', reason: 'Resolved' })
  await watched(stage)

  await t.test('an attribute is pushed', async (t) => {
    const before = writes(member)
    await vcsim.setState({ vm: member.vm.ref, customValues: { [owner]: 'ops' } })
    await nodes.until('the label is there', () => labels(member)[4] === 'ops')
    t.equal(writes(member), before + 1)
    await vcsim.setState({ vm: member.vm.ref, customValues: { [owner]: 'Team A' } })
    await stage.says('first', 'LabelsResolved', { status: 'False', reason: 'LabelInvalid' })
    t.equal(labels(member)[4], 'ops')
    await vcsim.setState({ vm: member.vm.ref, customValues: { [owner]: 'dev' } })
    await nodes.until('the label follows', () => labels(member)[4] === 'dev')
    await events.until('an Event says so', () =>
      eventsOf(events, 'first').some(
        ({ reason, message }) => reason === 'Relabeled' && message?.includes('from ops to dev'),
      ),
    )
  })

  await t.test('vMotion to another cluster: all labels in one write', async (t) => {
    const before = writes(member)
    const start = performance.now()
    await vcsim.move({ vm: member.vm.ref, host: 'DC0_C1_H0' })
    await nodes.until('the host follows', () => labels(member)[0] === 'DC0_C1_H0')
    t.comment(`labelled after ${Math.round(performance.now() - start)} ms`)
    t.match(labels(member), ['DC0_C1_H0', 'DC0_C1', String, 'r1', 'dev', 'r2'], '"r 2" is no label value')
    await stage.says('first', 'LabelsResolved', { status: 'False', reason: 'LabelInvalid' })
    t.equal(writes(member), before + 1)
    await vcsim.move({ vm: member.vm.ref, host: 'DC0_C0_H0' })
    await nodes.until('it is back', () => labels(member)[5] === 'r1' && labels(member)[0] === 'DC0_C0_H0')
    t.equal(writes(member), before + 2)
  })

  await t.test("a person's value stays, and plan says what would be written", async (t) => {
    await controller.stop()
    await stage.patch('first', {
      metadata: { labels: { [LABELS[0] ?? '']: 'mine', [LABELS[1] ?? '']: null } },
    })
    const { configFile, kubeconfig } = controller
    const plan = await runProgram(
      'rollcall-controller',
      'plan',
      `--config=${configFile}`,
      `--kubeconfig=${kubeconfig}`,
    )
    t.match(plan.text, `+ labels.${LABELS[1]}: DC0_C0`)
    t.match(plan.text, /LabelNotOurs: .*host is mine, which Rollcall did not write/)
    await stage.controller({ labelRules }, t)
    await nodes.until('what was removed is back', () => labels(member)[1] === 'DC0_C0')
    await stage.says('first', 'LabelsResolved', { status: 'False', reason: 'LabelNotOurs' })
    t.equal(labels(member)[0], 'mine')
  })
})
