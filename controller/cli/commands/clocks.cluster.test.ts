// Clocks that differ by minutes: said, and not computed with.
import { Writable } from 'node:stream'
import t, { type Test } from 'tap'
import { systemClock } from '../../../agent/shared/clock.ts'
import { registerNode } from '../../../manifests/testing/writers.ts'
import { borrowCluster } from '../../../test/servers/pool/borrow.ts'
import { createLeaseStore, microTime } from '../../kubernetes/lease.ts'
import { adminClient } from '../../kubernetes/testing/cluster-client.ts'
import type { Surroundings } from './command.ts'
import { EXPLAIN } from './explain.ts'
import { STATUS } from './status.ts'

const MINUTES = 60_000
const cluster = await borrowCluster()
t.teardown(() => cluster.stop())
const client = adminClient(cluster)
t.teardown(() => client.close())
const signal = new AbortController().signal
const kubelet = await cluster.as({ user: 'system:node:a', groups: ['system:nodes'] })
await registerNode(kubelet.request, 'a')
const options = ['--kubeconfig', cluster.adminKubeconfig]

/** What a command says on a machine whose clock is this much ahead. */
async function said(which: 'status' | 'explain', ahead: number): Promise<string> {
  let text = ''
  const stdout = new Writable({
    write(chunk, _, done) {
      text += String(chunk)
      done()
    },
  })
  const surroundings: Surroundings = {
    environment: {},
    clock: { ...systemClock, now: () => Date.now() + ahead },
    random: Math.random,
    version: '0',
    hostname: 'h',
    suffix: 's',
    memory: { resident: () => 0, release: () => 0 },
    stdin: () => process.stdin,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else of it is used where it is no terminal
    stdout: stdout as NodeJS.WriteStream,
    warn: (message) => {
      text += `${message}\n`
    },
  }
  const values = new Map([['kubeconfig', options[1] ?? ''] as const])
  if (which === 'status') {
    const flags = STATUS.parse(values)
    if (!flags.ok) throw new Error(flags.message)
    await STATUS.start(flags.value, surroundings, signal)
  } else {
    const flags = EXPLAIN.parse(new Map([...values, ['operand', 'a'] as const]))
    if (!flags.ok) throw new Error(flags.message)
    await EXPLAIN.start(flags.value, surroundings, signal)
  }
  return text
}

/** A leader whose clock is this much ahead; it renews until the test ends, or not at all. */
async function leader(t: Test, name: string, ahead: number, renews: boolean): Promise<void> {
  const store = createLeaseStore(client, 'kube-system', 'rollcall-controller')
  const record = () => {
    const renewTime = microTime(Date.now() + ahead)
    return { holder: name, durationSeconds: 15, acquireTime: renewTime, renewTime, transitions: 0 }
  }
  const renew = async () => {
    const found = await store.get(signal)
    await (found === undefined ? store.create(record(), signal) : store.update(found, record(), signal))
  }
  await renew()
  const timer = setInterval(() => void (renews && renew()), 1_000)
  t.teardown(() => clearInterval(timer))
}

t.test('the clock of the machine', async (t) => {
  await leader(t, 'pod-1', 0, true)
  t.notMatch(await said('status', 0), /clock/)
  for (const ahead of [-10 * MINUTES, 10 * MINUTES])
    for (const which of ['status', 'explain'] as const) {
      const text = await said(which, ahead)
      const how = ahead > 0 ? 'ahead of' : 'behind'
      t.match(
        text,
        new RegExp(`^! the clock of this machine is (9m59s|10m|10m1s) ${how} that of the API server`, 'm'),
      )
      t.match(text, /^pod-1 leads, and holds the Lease kube-system\/rollcall-controller$/m)
      if (which === 'explain') t.match(text, /registered \d+s ago/)
    }
})

t.test('the clock of the leader', async (t) => {
  for (const [ahead, how] of [
    [-10 * MINUTES, 'behind'],
    [10 * MINUTES, 'ahead of'],
  ] as const)
    await t.test(how, async (t) => {
      await leader(t, 'pod-1', ahead, true)
      t.match(
        await said('status', 0),
        new RegExp(`^pod-1 leads, .*; its clock is \\d+m(\\d+s)? ${how} that of the API`, 'm'),
      )
    })
})

t.test('a leader that is gone, whatever its clock', async (t) => {
  for (const ahead of [-10 * MINUTES, 10 * MINUTES])
    await t.test(String(ahead), async (t) => {
      await leader(t, 'pod-1', ahead, false)
      const how =
        ahead > 0 ? ' by its own clock, and is not renewing it' : ', and no replica has held it for \\d+m'
      t.match(await said('status', 0), new RegExp(`^! pod-1 held the Lease .*${how}: check that`, 'm'))
    })
})
