import t from 'tap'
import { file, load, refusal } from '../testing/load.ts'

const certificates = async (rest: string) => (await load(file('', rest))).config.certificates

t.test('nothing is approved unless somebody says so', async (t) => {
  t.match(await certificates(''), {
    approve: false,
    require: 'proven',
    networks: [],
    exclude: [],
    domains: [],
  })
})

t.test('it is refused where no network is known', async (t) => {
  for (const rest of ['', 'nodes:\n  externalNetworkSubnetCidr: 192.0.2.0/24\n'])
    t.match(await refusal(file('', `${rest}certificates:\n  approve: true`)), [
      /^vsphere\.conf:\d+:12: certificates\.approve: needs the networks that addresses of Nodes are in: write internalNetworkSubnetCidr under "nodes", or networks here$/,
    ])
})

t.test('the networks of Nodes count unless it has its own', async (t) => {
  const nodes =
    'nodes:\n  internalNetworkSubnetCidr: 10.0.0.0/24\n  externalNetworkSubnetCidr: 192.0.2.0/24\n'
  t.match(await certificates(`${nodes}certificates:\n  approve: true`), {
    approve: true,
    networks: ['10.0.0.0/24', '192.0.2.0/24'],
  })
  const own = 'certificates:\n  approve: true\n  networks: [10.1.0.0/24, fd00::/64]\n  exclude: 10.1.0.1/32'
  t.match(await certificates(`${nodes}${own}`), {
    networks: ['10.1.0.0/24', 'fd00::/64'],
    exclude: ['10.1.0.1/32'],
  })
})

t.test('INI says the same', async (t) => {
  const ini =
    '[VirtualCenter "vc.example.com"]\nuser = u\npassword = p\n[Certificates]\napprove = true\nnetworks = 10.0.0.0/8\n'
  t.match((await load(ini)).config.certificates, { approve: true, networks: ['10.0.0.0/8'] })
})

t.test('domains are names with dots', async (t) => {
  t.match(await certificates('certificates:\n  domains: Example.com, a.b'), {
    domains: ['example.com', 'a.b'],
  })
  for (const wrong of ['.example.com', 'example.com.', '*.example.com', 'a b', '-a'])
    t.match(await refusal(file('', `certificates:\n  domains: "${wrong}"`)), [
      /expected domains such as example\.com/,
    ])
})

t.test('no level is enough that a kubelet says of itself', async (t) => {
  t.match(await refusal(file('', 'certificates:\n  require: asserted')), [/expected proven, reported/])
  t.match(await refusal(file('', 'certificates:\n  require: ""')), [/is empty/])
  const weak = 'certificates:\n  approve: true\n  networks: 10.0.0.0/8\n  require: reported'
  t.match((await load(file('', weak))).warnings, [
    /reported approves certificates for whoever has the credential/,
  ])
})
