// Started with the CPI's arguments and --listen=off, the controller has the CPI's HTTPS port and no other.
import { readdir, readFile, readlink } from 'node:fs/promises'
import t from 'tap'
import { Agent, request } from 'undici'
import { until } from '../fixtures/until.ts'
import { freePort } from '../servers/ports.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 1 })
const port = await freePort()
const { pid } = await stage.controller({
  cpiArguments: ['--cloud-provider=vsphere', '--v=2', '--cloud-config=/etc/cloud/vsphere.conf'],
  args: ['--listen=off', `--secure-port=${port}`],
  until: 'started',
})

const agent = new Agent({ connect: { rejectUnauthorized: false } })
t.teardown(() => agent.close())

t.test('its probes are answered, and no other port is open', async (t) => {
  await until('it leads', async () => (await probe('/readyz'))?.text.startsWith('leading') === true)
  t.match(await probe('/healthz'), { status: 200, text: 'ok\n' })
  t.same(await portsOf(pid), [port])
})

/** As the kubelet's probe asks: no token, any certificate. Undefined while nobody listens. */
async function probe(path: string): Promise<{ status: number; text: string } | undefined> {
  try {
    const answer = await request(`https://127.0.0.1:${port}${path}`, { dispatcher: agent })
    return { status: answer.statusCode, text: await answer.body.text() }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED') return undefined
    throw error
  }
}

/** The TCP ports that a process listens on (proc(5): state 0A, the port in hex after the address). */
async function portsOf(pid: number): Promise<number[]> {
  const descriptors = await readdir(`/proc/${pid}/fd`)
  const links = await Promise.all(
    // A descriptor may be closed meanwhile.
    descriptors.map((each) => readlink(`/proc/${pid}/fd/${each}`).catch(() => '')),
  )
  const sockets = new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []))
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/${pid}/net/${name}`, 'utf8')),
  )
  return tables
    .flatMap((table) => table.split('\n'))
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([, address = '', , state, , , , , , inode = '']) =>
      state === '0A' && sockets.has(inode) ? [Number.parseInt(address.split(':')[1] ?? '', 16)] : [],
    )
}
