/**
 * What the vSphere CSI driver itself makes of Nodes that Rollcall has initialized. Syncer, controller, plugins, scheduler and
 * the binder of volumes are the real ones; `storage.ts` stands for the kubelet, external-provisioner and external-attacher.
 * What is attached is in the driver's log alone: the simulator's disks do not reach its machines, and nothing is mounted.
 *
 * Not part of `npm test`, for the driver takes minutes to build, and its ports are fixed: `npm run csi`.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { LABEL_REGION, LABEL_ZONE } from '../../controller/types/well-known.ts'
import { until } from '../fixtures/until.ts'
import { startControllerManager, startControlPlane } from '../world/control-plane.ts'
import { registerDriver, unregisterDriver } from '../world/csi-driver.ts'
import { settled } from '../world/deletion.ts'
import type { Member } from '../world/member.ts'
import { condition } from '../world/objects.ts'
import { openStage, REGION_CATEGORY, ZONE_CATEGORY } from '../world/stage.ts'
import { askNodeInfo, attachVolume, createVolume, startDriver } from './driver.ts'
import {
  claimVolume,
  forgetLabel,
  forgetTopology,
  placed,
  publishVolume,
  selectedNode,
  topologyOf,
} from './storage.ts'

const CSI_ZONE = `topology.csi.vmware.com/${ZONE_CATEGORY}`
const CSI_REGION = `topology.csi.vmware.com/${REGION_CATEGORY}`
const CLUSTERS = ['DC0_C0', 'DC0_C1', 'DC0_C2'] as const

const stage = await openStage(t, { clusters: CLUSTERS.length, hosts: 2, vms: 24, apiVersion: '8.0.3.0' })
const { cluster, vcsim, nodes, reports } = stage
const [inA, inB] = [await datastore('DC0_C0'), await datastore('DC0_C1')]
await vcsim.tag({ category: ZONE_CATEGORY, tag: 'zone-x', object: 'DC0_C1_H1' })
const rollcall = await stage.controller()

/** A datastore of a cluster's two hosts alone; resolves with its URL. */
async function datastore(name: (typeof CLUSTERS)[number]): Promise<string> {
  const path = join(vcsim.dir, `datastore-${name}`)
  await mkdir(path)
  const hosts = [0, 1].map((n) => `/DC0/host/${name}/${name}_H${n}`)
  await vcsim.govc('datastore.create', '-type=local', `-name=ds-${name}`, `-path=${path}`, ...hosts)
  return path
}

/** A Node on that host, initialized. */
async function member(name: string, host: string): Promise<Member> {
  const vm = stage.vms.find((candidate) => candidate.host === host)
  if (vm === undefined) throw new Error(`no machine is left on ${host}`)
  stage.vms.splice(stage.vms.indexOf(vm), 1)
  const made = await stage.reported(name, { vm })
  await settled(stage, name)
  return made
}

const labels = ({ name }: Member) => nodes.last(name)?.metadata.labels ?? {}
const topology = ({ name }: Member) => condition(reports.last(name), 'TopologyResolved')
const csi = (zone: string) => ({ [CSI_ZONE]: zone, [CSI_REGION]: 'region-1' })
const ours = (zone: string) => ({ [LABEL_ZONE]: zone, [LABEL_REGION]: 'region-1' })

// The first, for a driver that finds volumes at its start asks of CNS what the simulator does not know, and breaks it.
await t.test('a driver that takes our labels for its own, by zone and region', async (t) => {
  const driver = await startDriver(
    t,
    stage,
    `[Labels]
zone = "${ZONE_CATEGORY}"
region = "${REGION_CATEGORY}"

[TopologyCategory "${ZONE_CATEGORY}"]
label = "${LABEL_ZONE}"

[TopologyCategory "${REGION_CATEGORY}"]
label = "${LABEL_REGION}"`,
  )
  await using stack = new AsyncDisposableStack()
  stack.use(await startControlPlane(cluster, 'kube-scheduler'))

  await t.test('the class names our labels', async (t) => {
    const one = await member('in-zone-a-by-our-labels', 'DC0_C0_H1')
    const info = await askNodeInfo(await driver.node(one.name, one.root))
    t.same(info.accessibleTopology.segments, ours('zone-a'))
    await registerDriver(cluster, one, info)
    const name = 'data-by-our-labels'
    await claimVolume(cluster, {
      name,
      allowed: ours('zone-a'),
      datastoreURL: inA,
      nodeSelector: { 'kubernetes.io/hostname': one.name },
    })
    t.equal(await until('a Node is chosen', () => selectedNode(cluster, name)), one.name)
    const segments = await topologyOf(cluster, one.name)
    t.same(segments, ours('zone-a'))
    const volume = await createVolume(driver.socket, { name, segments, datastoreURL: inA })
    t.same(volume.accessibleTopology, [{ segments: ours('zone-a') }])
    await unregisterDriver(cluster, one)
    await forgetTopology(cluster, one.name)
  })

  await t.test('where it says another zone, the kubelet has no driver', async (t) => {
    const one = await member('refused-on-a-tagged-host', 'DC0_C1_H1')
    t.match(labels(one), ours('zone-x'))
    const info = await askNodeInfo(await driver.node(one.name, one.root))
    t.same(info.accessibleTopology.segments, ours('zone-b'))
    await t.rejects(registerDriver(cluster, one, info), /topology value collision/)
    t.equal(topology(one)?.reason, 'Resolved')
  })
})

await t.test('a driver that makes labels of its own, by topology-categories', async (t) => {
  const categories = `[Labels]\ntopology-categories = "${ZONE_CATEGORY}, ${REGION_CATEGORY}"`
  const driver = await startDriver(t, stage, categories)
  const { socket, controller } = driver
  await using stack = new AsyncDisposableStack()
  stack.use(await startControlPlane(cluster, 'kube-scheduler'))
  stack.use(await startControllerManager(cluster, ['persistentvolume-binder-controller']))
  const a = await member('in-zone-a', 'DC0_C0_H0')
  const b = await member('in-zone-b', 'DC0_C1_H0')
  const found = ({ name, vm }: Member) =>
    controller.says(
      new RegExp(`Successfully registered node: \\\\"${name}\\\\" with nodeUUID \\\\"${vm.uuid}`),
    )

  await t.test(
    'it finds each VM by the UUID of its provider ID, in the zone and region that we wrote',
    async (t) => {
      for (const [one, zone] of [
        [a, 'zone-a'],
        [b, 'zone-b'],
      ] as const) {
        t.match(labels(one), ours(zone))
        const info = await askNodeInfo(await driver.node(one.name, one.root))
        t.equal(nodes.last(one.name)?.spec.providerID, `vsphere://${info.nodeId}`)
        t.same(info.accessibleTopology.segments, csi(zone))
        await registerDriver(cluster, one, info)
        await found(one)
      }
    },
  )

  await t.test(
    'the volume is where the scheduler puts its pod by our labels, and is attached to that VM',
    async (t) => {
      for (const [one, zone, datastoreURL] of [
        [a, 'zone-a', inA],
        [b, 'zone-b', inB],
      ] as const) {
        const name = `data-in-${zone}`
        await claimVolume(cluster, { name, allowed: csi(zone), datastoreURL, nodeSelector: ours(zone) })
        const chosen = await until('a Node is chosen', () => selectedNode(cluster, name))
        t.equal(chosen, one.name)
        const segments = await topologyOf(cluster, chosen)
        const volume = await createVolume(socket, { name, segments, datastoreURL })
        t.same(volume.accessibleTopology, [{ segments: csi(zone) }])
        await publishVolume(cluster, name, volume)
        await until('the pod has its Node', async () => (await placed(cluster, name)) === one.name)
        await attachVolume(socket, volume.volumeId, one.vm.uuid)
        await controller.says(
          new RegExp(
            `attached successfully. volumeID: \\\\"${volume.volumeId}.*VirtualMachine:${one.vm.ref} `,
          ),
        )
        await t.rejects(
          createVolume(socket, { name: `${name}-elsewhere`, segments, datastoreURL: one === a ? inB : inA }),
          /specified in the storage class is not accessible to all nodes/,
        )
      }
    },
  )

  await t.test('where a plugin gave its Node another ID, it goes by the provider ID', async () => {
    const one = await member('of-an-older-plugin', 'DC0_C0_H0')
    await registerDriver(cluster, one, { nodeId: one.name, accessibleTopology: { segments: csi('zone-a') } })
    await controller.says(/registering node using providerID on the node object/)
    await found(one)
    await unregisterDriver(cluster, one)
  })

  await t.test(
    'on a host with a tag of its own it says the zone of the cluster, and we tell that',
    async (t) => {
      const one = await member('on-a-tagged-host', 'DC0_C1_H1')
      t.match(labels(one), ours('zone-x'), 'ours is the nearest')
      t.equal(topology(one)?.reason, 'Resolved')
      const plugin = await driver.node(one.name, one.root)
      const info = await askNodeInfo(plugin)
      t.same(info.accessibleTopology.segments, csi('zone-b'), 'theirs is the highest')
      await registerDriver(cluster, one, info)
      await reports.until('it is told', () => topology(one)?.reason === 'CSITopologyDiffers')
      t.match(topology(one)?.message, `${CSI_ZONE} is zone-b, and ${LABEL_ZONE} is zone-x`)

      const name = 'data-in-zone-x'
      await claimVolume(cluster, {
        name,
        allowed: csi('zone-x'),
        datastoreURL: inB,
        nodeSelector: ours('zone-x'),
      })
      await until('there is no Node for it', async () => (await placed(cluster, name)) === 'Unschedulable')

      await t.test('what the message says to do ends it, all of it', async (t) => {
        await vcsim.tag(
          { category: ZONE_CATEGORY, tag: 'zone-b', object: 'DC0_C1', detach: true },
          { category: ZONE_CATEGORY, tag: 'zone-b', object: 'DC0_C1_H0' },
        )
        await plugin.stop()
        const kept = await driver.node(one.name, one.root)
        t.same(
          (await askNodeInfo(kept)).accessibleTopology.segments,
          csi('zone-b'),
          'it keeps what it once said',
        )
        await kept.stop()
        await forgetTopology(cluster, one.name)
        const again = await askNodeInfo(await driver.node(one.name, one.root))
        t.same(again.accessibleTopology.segments, csi('zone-x'))
        await t.rejects(
          registerDriver(cluster, one, again),
          /topology value collision/,
          'the label is in the way',
        )
        await forgetLabel(cluster, one.name, CSI_ZONE)
        await registerDriver(cluster, one, again)
        await reports.until('it is over', () => topology(one)?.reason === 'Resolved')
      })
    },
  )

  await t.test('without a tag there is a Node, and no volume in the whole cluster', async (t) => {
    const one = await member('without-a-tag', 'DC0_C2_H0')
    t.match(labels(one), { [LABEL_ZONE]: undefined, [LABEL_REGION]: 'region-1' })
    t.equal(topology(one)?.reason, 'TagMissing')
    const plugin = await driver.node(one.name, one.root)
    await t.rejects(askNodeInfo(plugin), /does not have labels for the following categories: \[k8s-zone\]/)
    const wanted = { name: 'data-in-vain', segments: csi('zone-a'), datastoreURL: inA }
    await t.rejects(createVolume(socket, wanted), /node \\?"without-a-tag\\?" not yet ready/)

    await vcsim.tag({ category: ZONE_CATEGORY, tag: 'zone-c', object: 'DC0_C2' })
    // Tags are read at the start and every five minutes.
    await rollcall.stop()
    await stage.controller()
    await nodes.until('the label follows', () => labels(one)[LABEL_ZONE] === 'zone-c')
    const info = await until('the driver has seen it', () => askNodeInfo(plugin).catch(() => undefined))
    t.same(info.accessibleTopology.segments, csi('zone-c'))
    await until('volumes are made', () => createVolume(socket, wanted).catch(() => undefined))
  })
})
