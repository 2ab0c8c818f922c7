import t from 'tap'
import { hasFailed, type Status } from '../shared/diagnosis.ts'
import { ok } from '../shared/result.ts'
import { type Facts, judge } from './doctor.ts'

const UUID = '420e3f74-ea84-f9a2-7736-6106bb5dbf6b'
const good: Facts = {
  system: { name: 'Debian GNU/Linux 13, kernel 6.12', hypervisor: 'VMware', toolsRun: true },
  uid: 0,
  machine: {
    vendor: ok('VMware, Inc.'),
    product: ok('VMware20,1'),
    serialUUID: ok(UUID),
    productUUID: ok('743f0e42-84ea-a2f9-7736-6106bb5dbf6b'),
  },
  unreadable: [],
  tools: { plain: '/usr/bin/vmware-rpctool', privileged: undefined },
  toolsVersion: '12.5.0',
  toolsConf: { polls: true, excluded: [] },
  guestinfo: ok(undefined),
  claim: { ours: true, message: 'it stands' },
  credential: ok({ server: 'https://192.0.2.1:6443' }),
  identity: ok({ nodeName: 'worker-1', nodeUID: UUID }),
  skew: 300,
  report: ok(undefined),
  kubelet: { program: 'kubelet', external: true },
  inPod: false,
}
const wrong = (facts: Facts) => judge(facts).filter(({ status }) => status !== 'ok')

t.test('where all is well, every line is ok', async (t) => {
  t.same(wrong(good), [])
  t.notOk(hasFailed(judge(good)))
  t.same(wrong({ ...good, machine: { ...good.machine, productUUID: ok(UUID) } }), [], 'an old SMBIOS')
})

const unreadable = (message: string, reason = 'Failed' as const) => ({ ok: false, reason, message }) as const
const failed = { ok: false, cause: 'c', message: 'refused', next: 'do this' } as const

const rows: readonly (readonly [Partial<Facts>, string, Status, RegExp])[] = [
  [
    {
      uid: 1000,
      machine: {
        ...good.machine,
        serialUUID: {
          ok: false,
          reason: 'PermissionDenied',
          message: 'permission denied reading it: run the agent as root',
        },
      },
    },
    'BIOS UUID',
    'fail',
    /as root \(it runs as user 1000\)/,
  ],
  [
    { machine: { ...good.machine, productUUID: ok('00000000-0000-4000-8000-000000000001') } },
    'BIOS UUID',
    'warn',
    /another UUID.*remove serialNumber/,
  ],
  [{ system: { name: '', hypervisor: '', toolsRun: false } }, 'VMware Tools', 'warn', /start open-vm-tools/],
  [{ toolsConf: { polls: false, excluded: [] } }, 'tools.conf', 'warn', /poll-interval is 0.*no address/],
  [{ toolsConf: { polls: true, excluded: ['eth0', 'eth1'] } }, 'tools.conf', 'warn', /matches eth0, eth1:/],
  [
    { unreadable: [{ fact: 'routes', reason: 'Unreadable', message: 'no routes' }] },
    'routes',
    'warn',
    /no routes/,
  ],
  [{ claim: { ours: false, message: 'x is not set' } }, 'claim', 'warn', /x is not set; .*--once/],
  [{ skew: 120_000 }, 'clock', 'fail', /120 s ahead of/],
  [{ skew: undefined }, 'clock', 'skip', /did not say/],
  [{ report: failed }, 'report', 'fail', /refused; do this/],
  [
    { kubelet: { program: 'kubelet', external: false } },
    'kubelet',
    'fail',
    /without --cloud-provider=external/,
  ],
  [{ kubelet: { program: 'k3s', external: false } }, 'kubelet', 'warn', /configuration file/],
  [{ kubelet: undefined }, 'kubelet', 'skip', /no kubelet found/],
  [{ kubelet: undefined, inPod: true }, 'kubelet', 'skip', /a container does not see/],
]
for (const [change, check, status, message] of rows)
  t.test(`${check}: ${message.source}`, async (t) => {
    const lines = wrong({ ...good, ...change })
    t.match(lines, [{ check, status, message }])
    t.equal(lines.length, 1)
  })

t.test('what depends on a line that fails is skipped because of it', async (t) => {
  const blind = { ...good, guestinfo: unreadable('no tool'), claim: undefined }
  t.match(wrong(blind), [
    { check: 'guest RPC', status: 'warn', message: /no tool; .*never "proven"/ },
    { check: 'claim', status: 'skip', message: /because of "guest RPC"/ },
  ])
  const stranger = {
    ...good,
    credential: { ok: false, message: 'no kubeconfig' } as const,
    identity: undefined,
    report: undefined,
    claim: undefined,
  }
  t.match(wrong(stranger), [
    { check: 'claim', message: /because of "API server"/ },
    { check: 'credential', status: 'fail', message: 'no kubeconfig' },
    { check: 'API server', message: /because of "credential"/ },
    { check: 'clock', message: /because of "credential"/ },
    { check: 'report', message: /because of "credential"/ },
  ])
})
