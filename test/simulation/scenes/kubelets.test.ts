// What a kubelet, a person or an older provider has given a Node before: labels under their beta names, and a provider ID.
import { BETA_LABELS, LABEL_ZONE } from '../../../controller/types/well-known.ts'
import { CATEGORIES } from '../model/tagging.ts'
import { scenario } from '../scenario.ts'

const BETA_ZONE = BETA_LABELS[LABEL_ZONE] ?? ''

scenario(
  'a running Node has another zone by its beta name alone',
  { nodes: ['worker', 'canary'], labels: CATEGORIES },
  async (scene, t) => {
    const node = scene.node('worker')
    if (node === undefined) throw new Error('it has a Node')
    const { [LABEL_ZONE]: zone = '', ...others } = node.metadata.labels
    const labels = { ...others, [BETA_ZONE]: 'elsewhere' }
    scene.world.api.putNode('worker', { ...node, metadata: { ...node.metadata, labels } })
    const message = new RegExp(
      `${BETA_ZONE} is elsewhere, and vCenter says ${zone}, so label ${LABEL_ZONE} is not`,
    )
    await scene.said('worker', { status: 'False', reason: 'TopologyChanged', message }, 'TopologyResolved')
    t.match(scene.node('worker')?.metadata.labels, { [LABEL_ZONE]: undefined, [BETA_ZONE]: 'elsewhere' })
  },
)

scenario('a kubelet gives a provider ID that names no VM', { nodes: ['canary'] }, async (scene, t) => {
  const machine = scene.joins('new', { providerID: 'vsphere://' })
  await scene.said('new', { reason: 'ProviderIDMalformed' }, 'IdentityVerified')
  await scene.pass(60_000)
  t.notOk(scene.isInitialized('new'))
  const message = /only then: kubectl delete node new/
  await scene.said('new', { status: 'False', reason: 'ProviderIDMalformed', message }, 'Initialized')

  machine.providerID = undefined
  scene.world.api.putNode('new', undefined)
  scene.world.machines.kubelets.start(machine)
  scene.world.machines.report(machine)
  await scene.settled('new')
})
