import { isIPv4, isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'
import t from 'tap'
import { swapUUID } from '../../../agent/shared/uuid.ts'
import { createPseudonyms } from './pseudonyms.ts'

const { text, moref, counts } = createPseudonyms(Math.random)

t.test('a value is replaced by the same other one, in whatever text it is', async (t) => {
  const name = text('esx01.prod.bank.test')
  t.not(name, 'esx01.prod.bank.test')
  t.match(name, /^[a-z]{3}\d\d\.[a-z]{4}\.[a-z]{4}\.[a-z]{4}$/)
  t.equal(text('esx01.prod.bank.test'), name)
  t.equal(text('(ESX01)'), `(${name.slice(0, 5).toUpperCase()})`)
  t.match(
    text('no route to esx01, port 443'),
    new RegExp(`^[a-z]{2} [a-z]{5} [a-z]{2} ${name.slice(0, 5)}, [a-z]{4} \\d{3}$`),
  )
})

t.test('different values stay different', async (t) => {
  const words = Array.from({ length: 500 }, (_, index) => `worker-${index}`)
  t.equal(new Set(words.map((word) => text(word))).size, 500)
})

t.test('a UUID stays one, in each spelling and byte order', async (t) => {
  const uuid = '4209c7a1-5c3b-4a57-9c57-4d9f0a1b2c3d'
  const other = text(uuid)
  t.match(other, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-9[0-9a-f]{3}-[0-9a-f]{12}$/)
  t.not(other, uuid)
  t.equal(text(uuid.toUpperCase()), other.toUpperCase())
  t.equal(text(swapUUID(uuid)), swapUUID(other))
  t.equal(text(uuid.replaceAll('-', '')), other.replaceAll('-', ''))
  const serial = (of: string) => {
    const pairs = of.replaceAll('-', '').match(/../g) ?? []
    return `VMware-${pairs.slice(0, 8).join(' ')}-${pairs.slice(8).join(' ')}`
  }
  t.equal(text(serial(uuid)).slice(7), serial(other).slice(7))
  t.match(text(`urn:vmomi:InventoryServiceTag:${uuid}:GLOBAL`), `:${other}:`)
})

t.test('a MAC stays one', async (t) => {
  t.match(text('00:50:56:AB:12:ef'), /^00:50:56:[0-9A-F]{2}:[0-9a-f]{2}:[0-9a-f]{2}$/)
  t.equal(text('00-50-56-ab-12-ef').replaceAll('-', ':'), text('00:50:56:ab:12:ef'))
  t.match(text('3c:fd:fe:00:00:01'), /^(?!3c:fd:fe)[0-9a-f][048c](:[0-9a-f]{2}){5}$/)
})

t.test('an address stays in its range, and neighbors stay neighbors', async (t) => {
  for (const address of ['10.1.2.3', '172.20.1.1', '192.168.7.9', '169.254.1.2', '100.64.3.4', '224.0.0.5']) {
    const other = text(address)
    t.ok(isIPv4(other), other)
    t.not(other, address)
    t.equal(ipaddr.parse(other).range(), ipaddr.parse(address).range())
  }
  for (const own of ['127.0.0.1', '0.0.0.0', '255.255.255.0', '::1', '::']) t.equal(text(own), own)
  t.match(text('8.8.8.8'), /^198\.1[89]\./)
  const subnet = (address: string) => text(address).replace(/\.\d+$/, '')
  t.equal(subnet('10.1.2.3'), subnet('10.1.2.77'))
  t.not(subnet('10.1.2.3'), subnet('10.1.3.3'))
  t.equal(subnet('84.19.7.133'), subnet('84.19.7.134'))
})

t.test('an IPv6 address stays one, of its range and form', async (t) => {
  for (const address of [
    'fe80::1c2d',
    'fd00:77::5',
    '2a02:58:1c::5',
    '2a02:58:1c:7:0:0:a:5',
    'ff02::1',
    '::ffff:10.1.2.3',
  ]) {
    const other = text(address)
    t.ok(isIPv6(other), other)
    t.equal(other.split(':').length, address.split(':').length, other)
  }
  t.match(text('2a02:58:1c::5'), /^2001:db8:/)
  t.match(text('fd00:77::5'), /^fd/)
  t.equal(text('2A02:58:1C::5'), text('2a02:58:1c::5').toUpperCase())
  // Made of a MAC.
  const mac = text('00:50:56:ab:12:ef').split(':')
  t.equal(
    text('fe80::250:56ff:feab:12ef'),
    `fe80::250:56ff:fe${mac[3]}:${(mac[4] ?? '') + mac[5]}`.replace(/:0+(?=.)/g, ':'),
  )
})

t.test('a reference keeps its kind, and what is the only one of its kind stays', async (t) => {
  t.match(moref('vm-1234', 'VirtualMachine'), /^vm-\d{4}$/)
  t.match(moref('domain-c8', 'ClusterComputeResource'), /^domain-c\d$/)
  t.equal(moref('SearchIndex', 'SearchIndex'), 'SearchIndex')
  t.match(text('no permission on vm-1234'), moref('vm-1234', 'VirtualMachine'))
  t.match(
    moref('session[5242d297-4d9f-4a57-9c57-aaaaaaaaaaaa]52bb', 'ListView'),
    /^session\[[0-9a-f-]{36}\][0-9a-z]{4}$/,
  )
})

t.test('what vCenter writes itself tells nothing of names with the same words', async (t) => {
  const { text, sentence } = createPseudonyms(Math.random)
  const known = sentence('Network adapter 471147114: no route to 10.1.2.3')
  const [network, adapter, number] = known.toLowerCase().split(/[ :]+/)
  const name = text('network-adapter-471147114')
  t.match(name, /^[a-z]{7}-[a-z]{7}-\d{9}$/)
  for (const word of [network, adapter, number]) t.notOk(name.includes(String(word)))
  t.equal(sentence('NETWORK'), network?.toUpperCase(), 'of one another it tells which are the same')
  t.ok(known.endsWith(text('10.1.2.3')), 'what identifies a machine is the same everywhere')
})

t.test('what is no ASCII is replaced as well', async (t) => {
  t.notMatch(text('Zürich 銀行 🏦'), /ü|銀|行|🏦/)
  t.equal(text('a%2fb').length, 5)
})

t.test('how much was replaced is counted', async (t) => {
  t.ok((counts().addresses ?? 0) > 5)
})
