import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { kubeletArgs } from './kubelet-args.ts'
import { makeRoot, plant } from './testing/root.ts'

const UUID = '420e3f74-ea84-f9a2-7736-6106bb5dbf6b'
const SERIAL = {
  'sys/class/dmi/id/product_serial': 'VMware-42 0e 3f 74 ea 84 f9 a2-77 36 61 06 bb 5d bf 6b\n',
}
const ROUTES = 'proc/net/route'
const route = (name: string, metric: number) =>
  `${name}\t00000000\t0100000A\t0003\t0\t0\t${metric}\t00000000\t0\t0\t0\n`

/** What is printed of a machine with these NICs, and default routes in this order. */
function printed(
  t: Test,
  nics: Readonly<Record<string, readonly string[]>>,
  routes = Object.keys(nics),
  files: Readonly<Record<string, string>> = SERIAL,
) {
  const names = Object.keys(nics)
  const root = makeRoot(t, {
    ...files,
    [ROUTES]: routes.map((name, index) => route(name, 100 + index)).join(''),
    'run/rollcall/network-interfaces.json': JSON.stringify(
      Object.fromEntries(
        names.map((name) => [name, nics[name]?.map((cidr) => ({ address: cidr.replace(/\/.*/, ''), cidr }))]),
      ),
    ),
  })
  names.forEach((name, index) => {
    plant(root, {
      [`sys/class/net/${name}/device`]: null,
      [`sys/class/net/${name}/address`]: `00:50:56:8e:3f:0${index}\n`,
    })
  })
  return { root, args: kubeletArgs(root, () => ({})) }
}

t.test('the provider ID, and the address by which it reaches others', async (t) => {
  for (const [nics, routes, ip] of [
    [{ eth0: ['10.0.0.5/24'] }, ['eth0'], '10.0.0.5'],
    [{ eth0: ['fd00::5/64', '169.254.0.5/16', '10.0.0.5/24', '10.0.0.9/24'] }, ['eth0'], '10.0.0.5'],
    [{ eth0: ['10.0.0.100/32', '10.0.0.5/24'] }, ['eth0'], '10.0.0.5'],
    [{ eth0: ['10.0.0.5/32', 'fd00::5/64'] }, ['eth0'], '10.0.0.5'],
    [{ eth0: ['fe80::5/64', 'fd00::5/64'] }, ['eth0'], 'fd00::5'],
    [{ eth0: ['10.0.0.5/24'], eth1: ['10.1.0.5/24'] }, ['eth1'], '10.1.0.5'],
    // The kernel lists the route that it prefers first.
    [{ eth0: ['10.0.0.5/24'], eth1: ['10.1.0.5/24'] }, ['eth1', 'eth0'], '10.1.0.5'],
  ] as const)
    t.same(printed(t, nics, [...routes]).args, {
      ok: true,
      value: `--provider-id=vsphere://${UUID} --node-ip=${ip}`,
    })
})

t.test('all or nothing', async (t) => {
  t.match(printed(t, { eth0: ['10.0.0.5/24'] }, ['eth0'], {}).args, { ok: false, message: /product_serial/ })
  for (const routes of [[], ['wg0']])
    t.match(printed(t, { eth0: ['10.0.0.5/24'] }, routes).args, {
      ok: false,
      message: /^no NIC with a default route has an address: .*network-online/,
    })
  const { root } = printed(t, { eth0: ['10.0.0.5/24'] })
  rmSync(join(root, 'run/rollcall/network-interfaces.json'))
  t.match(
    kubeletArgs(root, () => ({})),
    { ok: false, message: /network-interfaces\.json/ },
  )
})
