/**
 * The agent's package in a virtual machine with systemd, VMware's firmware strings and a vmxnet3 NIC, under QEMU. Real are the
 * machine's kernel, systemd, dpkg, the package, the kubelet and its credential; outside of it the API server and our
 * controller. Stand-ins are the container runtime, for no Pod is run, vCenter, and `vmware-rpctool`, which reaches that
 * vCenter by the network, where a real one asks the hypervisor.
 *
 * Not part of `npm test`, for it takes minutes, root and packages of Debian's: `npm run test:vm`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { showProgress } from '../../build/entry.ts'
import { productUUID } from '../world/machine.ts'
import { condition, isInitialized, level } from '../world/objects.ts'
import { openOwnStage } from '../world/stage.ts'
import { apt, inventory, opensInUnit, show, UNIT } from './guest.ts'
import { cachedImage } from './image.ts'
import { GUEST, startMachine } from './machine.ts'
import { writePayload } from './payload.ts'
import { missing } from './requirements.ts'

const NODE = 'worker-0'
const OLDER = '0.1.0'
const NEWER = '0.1.1'
/** Milliseconds: emulated, and beside other tests, all takes many times as long. */
const PATIENT = 15 * 60_000

const lacking = missing(process.env, process.getuid?.())
if (lacking !== undefined) {
  process.stderr.write(`no virtual machine can be run here: ${lacking}\n`)
  process.exit(1)
}

const image = await cachedImage(process.env)
const start = performance.now()
const stage = await shown('the control plane starts', () => openOwnStage(t, { vms: 2 }))
const { cluster, vcsim, nodes, reports, dir } = stage
await stage.controller()
const [vm] = stage.vms
if (vm === undefined) throw new Error('the simulator has no virtual machine')
const payload = await shown('the packages are built', () =>
  writePayload({ cluster, vcsim, vm, node: NODE, versions: [OLDER, NEWER], dir }),
)
const machine = await shown('the virtual machine boots', () => startMachine({ image, payload, vm, dir }))
t.teardown(() => machine[Symbol.asyncDispose]())

async function shown<T>(what: string, work: () => Promise<T>): Promise<T> {
  const done = showProgress(what)
  try {
    const result = await work()
    done('done')
    return result
  } catch (error) {
    done('failed')
    throw error
  }
}

/** A step that needs those before it. */
async function step(what: string, work: (t: Test) => Promise<void>): Promise<void> {
  const skip = !t.passing() && 'a step before it has failed'
  await t.test(what, { skip }, async (t) => {
    try {
      await shown(what, () => work(t))
    } catch (error) {
      await tellWhy()
      throw error
    }
    if (!t.passing()) await tellWhy()
  })
}

async function tellWhy(): Promise<void> {
  const units = `--unit=${UNIT} --unit=kubelet.service --unit=runtime.service`
  const said = await Promise.race([
    machine.run(`journalctl --no-pager --lines=100 ${units}`).catch(String),
    sleep(30_000, 'the machine does not answer', { ref: false }),
  ])
  process.stderr.write(`${machine.console()}\n${said}\n`)
}

const report = () => reports.last(NODE)
const node = () => nodes.last(NODE)
const uid = () => node()?.metadata.uid
const invocation = async () => (await show(machine, UNIT, 'InvocationID')).InvocationID

/** Resolves once the Node that is there now, and this start of the machine, are proven. */
async function proven(bootID: string): Promise<void> {
  const isOfNow = () => report()?.spec.nodeUID === uid() && report()?.spec.bootID === bootID
  await reports.until('the report is of this Node and this start of the machine', isOfNow, PATIENT)
  await reports.until('it is proven', () => report()?.status?.identityLevel === 'proven', PATIENT)
  await nodes.until('the Node is', () => isInitialized(node()) && level(node()) === 'proven', PATIENT)
}

let before: string[] = []
let { bootID } = machine

await step('the .deb is installed where no kubelet has joined a cluster', async (t) => {
  before = await inventory(machine)
  await apt(machine, `install /payload/${OLDER}.deb`)
  t.match(await show(machine, UNIT, 'ActiveState', 'UnitFileState'), {
    ActiveState: 'inactive',
    UnitFileState: 'enabled',
  })
})

await step('systemd has nothing to say against the unit', async (t) => {
  t.equal(await machine.run(`systemd-analyze verify ${UNIT} 2>&1`), '')
  const table = await machine.run(`systemd-analyze security --no-pager ${UNIT} || true`)
  const exposure = Number(/exposure level for \S+: ([\d.]+)/.exec(table)?.[1])
  t.comment(`exposure ${exposure}`)
  t.ok(exposure <= 3, 'at most 3.0')
})

await step('it knows what a kubelet may be given, before there is one', async (t) => {
  const printed = await machine.run(
    'systemctl start network-online.target && rollcall-agent --print --kubelet-args',
  )
  t.equal(printed, `--provider-id=vsphere://${vm.uuid} --node-ip=${GUEST}`)
})

await step(
  'the agent starts with the kubelet, reads the firmware, and reports by its credential',
  async (t) => {
    await machine.run('cp -r /payload/files/. / && systemctl daemon-reload && systemctl enable --now kubelet')
    await nodes.until('the Node is initialized', () => isInitialized(node()), PATIENT)
    t.match(report()?.spec, {
      nodeUID: uid(),
      bootID,
      machine: {
        vendor: 'VMware, Inc.',
        product: 'VMware20,1',
        serialUUID: vm.uuid,
        productUUID: productUUID(vm.uuid),
      },
      hostname: NODE,
      interfaces: [
        { mac: vm.vnics[0]?.mac, defaultRoute: true, addresses: [{ address: GUEST, prefixLength: 24 }] },
      ],
    })
    t.comment(JSON.stringify(report()?.spec))
    t.equal(node()?.spec.providerID, `vsphere://${vm.uuid}`)
    t.equal(level(node()), 'reported')
  },
)

await step('with the hypervisor’s side of guest RPC, and the kubelet restarted, it is proven', async (t) => {
  const earlier = await invocation()
  await machine.run('cp /payload/tools/* /usr/bin/ && systemctl restart kubelet')
  await proven(bootID)
  t.not(await invocation(), earlier, 'the agent has restarted with the kubelet')
  t.equal(condition(report(), 'IdentityVerified')?.reason, 'Proven')
})

await step(
  'the unit has vsock loaded before it starts, and does not get it where it comes later',
  async (t) => {
    t.ok(await opensInUnit(machine, '/dev/vsock'))
    t.notOk(await opensInUnit(machine, '/dev/vda'), 'other devices are closed to it')
    await machine.run(`
    set -e
    systemctl stop ${UNIT}
    rmmod vsock
    echo 'install vsock /bin/false' >/etc/modprobe.d/late.conf
    systemctl start ${UNIT}
    test ! -e /dev/vsock
    rm /etc/modprobe.d/late.conf
    modprobe vsock
    test -e /dev/vsock`)
    t.notOk(await opensInUnit(machine, '/dev/vsock'), 'as docs/reasons.md says')
  },
)

await step('the Node is deleted, and registered anew when its kubelet restarts', async (t) => {
  const earlier = uid()
  t.match(await cluster.request('DELETE', `/api/v1/nodes/${NODE}`), { status: 200 })
  await nodes.until('the Node is gone', () => uid() !== earlier, PATIENT)
  await machine.run('systemctl restart kubelet')
  await nodes.until('it is there again', () => node() !== undefined, PATIENT)
  t.not(uid(), earlier)
  await proven(bootID)
  t.ok(await opensInUnit(machine, '/dev/vsock'), 'the agent has restarted with it, and has vsock now')
})

await step('the machine reboots', async () => {
  bootID = await machine.reboot()
  await proven(bootID)
})

await step('within its limit of memory', async (t) => {
  const { MemoryPeak, MemoryMax } = await show(machine, UNIT, 'MemoryPeak', 'MemoryMax')
  t.comment(`peak ${Math.round(Number(MemoryPeak) / 2 ** 20)} MiB of ${Number(MemoryMax) / 2 ** 20}`)
  t.ok(Number(MemoryPeak) < Number(MemoryMax))
})

await step('the .deb is upgraded, and no Node changes', async (t) => {
  await machine.run('echo ROLLCALL_AGENT_OPTIONS=--log-level=debug >/etc/rollcall/agent.env')
  const earlier = await invocation()
  const from = nodes.of(NODE).length
  const told = reports.of(NODE).length
  await machine.run(`dpkg --install /payload/${NEWER}.deb`)
  t.match(await machine.run('dpkg-query --show rollcall-agent'), NEWER)
  t.not(await invocation(), earlier)
  const ends = ['InactiveEnterTimestampMonotonic', 'ActiveEnterTimestampMonotonic'] as const
  const state = await show(machine, UNIT, 'ActiveState', 'UnitFileState', ...ends)
  t.match(state, { ActiveState: 'active', UnitFileState: 'enabled' })
  t.comment(
    `${(Number(state[ends[1]]) - Number(state[ends[0]])) / 1e6} s from the end of the one agent to the start of the other`,
  )
  t.match(await machine.run('cat /etc/rollcall/agent.env'), '--log-level=debug', 'the operator’s file stays')
  await reports.until('the new agent reports', () => reports.of(NODE).length > told, PATIENT)
  await proven(bootID)
  t.ok(
    nodes
      .of(NODE)
      .slice(from)
      .every(({ object }) => isInitialized(object) && level(object) === 'proven'),
  )
})

await step('the .deb is removed, and installed again', async (t) => {
  await apt(machine, 'remove rollcall-agent')
  t.match(await show(machine, UNIT, 'ActiveState'), { ActiveState: 'inactive' })
  await machine.run(`dpkg --install /payload/${NEWER}.deb`)
  t.match(await show(machine, UNIT, 'ActiveState'), { ActiveState: 'active' })
})

await step('the .deb is purged, and nothing is left of it', async (t) => {
  await apt(machine, 'purge rollcall-agent')
  await machine.run(`
    systemctl --quiet disable --now kubelet
    rm /etc/systemd/system/kubelet.service /etc/systemd/system/runtime.service
    rm /usr/bin/vmware-rpctool /usr/bin/rpctool.json
    systemctl daemon-reload`)
  const after = await inventory(machine)
  const left = after.filter((line) => !before.includes(line))
  t.same(left, [])
  const gone = before.filter((line) => !after.includes(line))
  t.same(gone, [], 'nor is more gone than came')
})

t.comment(`${Math.round((performance.now() - start) / 1000)} s in all`)
