import t from 'tap'
import type { Config, VCenterConfig } from './config.ts'
import { Secret } from './secret.ts'
import { CERTIFICATE } from './testing/certificate.ts'
import { file, load } from './testing/load.ts'
import { changesOf, sameConnection } from './watch.ts'

const vc2 = '  vc2:\n    server: vc2.example.com\n    user: u\n    password: p\n'
const swapped = `vcenter:\n${vc2}${file().replace('vcenter:\n', '')}`

await t.test('what differs is named, and not what it holds', async (t) => {
  const cases: readonly [string, string, string, readonly string[]][] = [
    ['nothing', file(), `# x\n${file('    port: 443')}`, []],
    ['password', file(), file().replace('pw', 'other'), ['vcenter.vc1.password']],
    ['user', file(), file().replace('ops', 'other'), ['vcenter.vc1.user']],
    ['port', file(), file('    port: 8443'), ['vcenter.vc1.port']],
    ['datacenters', file(), file('    datacenters: [a]'), ['vcenter.vc1.datacenters']],
    ['trust', file(), file('    insecureFlag: true'), ['vcenter.vc1.trust']],
    [
      'one more thumbprint',
      file(`    thumbprint: ${'ab'.repeat(20)}`),
      file(`    thumbprint: ${'ab'.repeat(20)},${'cd'.repeat(20)}`),
      ['vcenter.vc1.trust'],
    ],
    ['a vCenter comes', file(), `${file()}${vc2}`, ['vcenter.vc2']],
    ['a vCenter goes', `${file()}${vc2}`, file(), ['vcenter.vc2']],
    ['another name', file(), file().replace('vc1:', 'main:'), ['vcenter.vc1', 'vcenter.main']],
    ['another order', `${file()}${vc2}`, swapped, ['vcenter']],
    [
      'sections',
      file(),
      file('', 'labels: {zone: z}\nlifecycle: {deletion: off}\ntopology: {onChange: ignore}'),
      ['labels', 'lifecycle', 'topology'],
    ],
    [
      'who is exempt',
      file('', 'identity: {exempt: a/b=c}'),
      file('', 'identity: {exempt: a/b=d}'),
      ['identity'],
    ],
  ]
  for (const [what, before, after, changes] of cases) {
    t.same(changesOf((await load(before)).config, (await load(after)).config), changes, what)
  }
})

await t.test('what is kept by vCenter name is named after its setting', async (t) => {
  const { config } = await load(file())
  const credentials = { vc1: { kind: 'secret', namespace: 'n', name: 's' } } as const
  t.same(changesOf(config, { ...config, ipFamilies: { vc1: ['ipv6'] } }), ['vcenter.vc1.ipFamily'])
  t.same(changesOf(config, { ...config, credentials }), ['vcenter.vc1.secretName'])
})

await t.test('whether one session will do for both', async (t) => {
  const base: VCenterConfig = {
    name: 'a',
    server: 's',
    port: 443,
    user: 'u',
    password: new Secret('p'),
    trust: { kind: 'ca', pem: CERTIFICATE },
    datacenters: [],
  }
  const cases: readonly [Partial<VCenterConfig>, boolean][] = [
    [{ trust: { kind: 'ca', pem: CERTIFICATE } }, true],
    [{ password: new Secret('q'), datacenters: ['a'] }, true],
    [{ server: 't' }, false],
    [{ port: 444 }, false],
    [{ user: 'v' }, false],
    [{ sessionManager: 'https://m/s' }, false],
    [{ trust: { kind: 'ca', pem: `${CERTIFICATE}\n` } }, false],
    [{ trust: { kind: 'insecure' } }, false],
  ]
  for (const [change, same] of cases) t.equal(sameConnection(base, { ...base, ...change }), same)
})

await t.test('every part of a configuration is compared', async (t) => {
  // A part that is never compared would never be reloaded: this names those that are.
  const compared: Record<keyof Config, true> = {
    vCenters: true,
    labels: true,
    labelRules: true,
    identity: true,
    lifecycle: true,
    topology: true,
    initialization: true,
    nodes: true,
    certificates: true,
    ipFamilies: true,
    credentials: true,
  }
  t.same(Object.keys((await load(file())).config).sort(), Object.keys(compared).sort())
})
