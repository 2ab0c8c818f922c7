import t from 'tap'
import { checkHeld } from './held.ts'
import { checkRefused, runTheme } from './refused.ts'
import { required } from './rows/required.ts'
import { openScene, truth } from './scene.ts'

const EXEMPT = 'example.com.node-restriction.kubernetes.io/no-agent'
const scene = await openScene(t, { vms: 5 }, { require: 'proven', exempt: EXEMPT })
const victim = await scene.victim('worker-10')

/** With the label that only people can give. */
async function exempt(name: string): Promise<void> {
  const body = { metadata: { labels: { [EXEMPT]: '' } } }
  const contentType = 'application/merge-patch+json'
  const { status } = await scene.cluster.request('PATCH', `/api/v1/nodes/${name}`, body, { contentType })
  if (status !== 200) throw new Error(`${name} is not labelled: ${status}`)
}

await runTheme(
  t,
  required,
  {
    'VM without a Node': async (t, row) => {
      const forger = await scene.forger('worker-1')
      const vm = scene.vms.shift()
      if (vm === undefined) throw new Error('no VM is left')
      t.match(await forger.report(truth({ ...forger, vm })), { status: 201 })
      await checkHeld(t, scene, forger, row.seen)
    },
    'exempts itself': async (t, row) => {
      const { kubelet } = await scene.forger('worker-2')
      const answer = await kubelet.send({
        method: 'PATCH',
        path: '/api/v1/nodes/worker-2',
        body: { metadata: { labels: { [EXEMPT]: '' } } },
        contentType: 'application/strategic-merge-patch+json',
      })
      checkRefused(t, row, answer)
    },
    "exempt, with the victim's UUID": async (t, row) => {
      const forger = await scene.forger('windows', { kubelet: { biosUUID: victim.vm.uuid } })
      await exempt(forger.name)
      await scene.reports.until('it has a report to show that', () => {
        return scene.reports.last(forger.name) !== undefined
      })
      await checkHeld(t, scene, forger, row.seen)
    },
  },
  victim,
)
