import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createGuestinfo } from './facts/guestinfo.ts'
import { readGuestFacts, readLocalFacts } from './gather.ts'
import { buildReport } from './report.ts'
import { systemClock } from './shared/clock.ts'
import { parseSpec } from './shared/node-report.ts'
import { makeRoot, plant, plantTool, VM_TREE } from './testing/root.ts'

const { signal } = new AbortController()

async function report(root: string, tool: string) {
  const findTools = () => ({ plain: tool, privileged: undefined })
  const guestinfo = createGuestinfo({ findTools, clock: systemClock, signal })
  const guest = await readGuestFacts(root, guestinfo, signal)
  const local = readLocalFacts(root, () => ({}))
  const claim = { written: false, reason: 'Failed', message: `${tool} \u009b\u202e` }
  const nodeUID = '420e3f74-ea84-f9a2-7736-6106bb5dbf6b'
  return buildReport({ nodeUID, agentVersion: '0', refresh: 180_000, ...local, ...guest, claim })
}

t.test('characters that the schema refuses never get into a report', async (t) => {
  const root = makeRoot(t, VM_TREE)
  for (const bad of ['\u001b', '\u009b', '\u2028', '\u202e', '\u2066']) {
    const tool = plantTool(
      root,
      `case $1 in *metadata) cat ${root}/usr/bin/metadata;; *) echo No value found; exit 1;; esac`,
    )
    plant(root, {
      'sys/class/dmi/id/sys_vendor': `VM${bad}ware\n`,
      'sys/class/dmi/id/product_name': `7${bad}\n`,
      'proc/sys/kernel/hostname': `n${bad}1\n`,
      [`sys/class/net/e${bad}/device`]: null,
      [`sys/class/net/e${bad}/address`]: '00:50:56:8e:3f:75\n',
      'usr/bin/metadata': JSON.stringify({
        'instance-id': `i${bad}`,
        'local-hostname': `n${bad}`,
        network: { ethernets: { a: { addresses: [`10.0.0.5${bad}/24`] } } },
      }),
    })
    const spec = await report(root, tool)
    t.match(parseSpec(spec), { ok: true })
    t.match(JSON.stringify(spec), /^[\x20-\x7e]*$/)
    t.match(spec, { cloudInit: {}, interfaces: [{ name: 'eth0' }] }, 'the rest goes on')
  }
})

t.test('an address whose interface is not known is said', async (t) => {
  const root = makeRoot(t, VM_TREE)
  const table = {
    eth0: [{ address: '10.0.0.5', cidr: '10.0.0.5/24' }],
    vip: [{ address: '10.1.0.5', cidr: '10.1.0.5/32' }],
  }
  plant(root, { 'run/rollcall/network-interfaces.json': JSON.stringify(table) })
  const spec = await report(root, '/nowhere')
  t.match(spec.interfaces, [{ name: 'eth0', addresses: [{ address: '10.0.0.5' }] }])
  t.match(spec.unreadable, [
    { fact: 'addresses[10.1.0.5]', reason: 'UnknownInterface', message: /^10\.1\.0\.5 .* vip / },
  ])
})

t.test('a routing table that cannot be read is said', async (t) => {
  const root = makeRoot(t, VM_TREE)
  rmSync(join(root, 'proc/net/route'))
  mkdirSync(join(root, 'proc/net/route'))
  const spec = await report(root, '/nowhere')
  t.match(spec.unreadable, [{ fact: 'routes', reason: 'Unreadable' }])
})
