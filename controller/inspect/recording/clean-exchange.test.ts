import { gunzipSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { ancestorSpecs } from '../../vcenter/cache/ancestors.ts'
import { cleanExchange, type RawExchange } from './clean-exchange.ts'
import { createPseudonyms } from './pseudonyms.ts'

const SOAP = { method: 'POST', path: '/sdk', status: 200, contentType: 'text/xml' } as const
const names = createPseudonyms(Math.random)
const options = {
  names,
  paths: new Set(['name', 'config.uuid', 'config.extraConfig["guestinfo.metadata"]']),
  vms: new Set(['vm-7']),
}
const envelope = (content: string) =>
  '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">' +
  `<soapenv:Body>${content}</soapenv:Body></soapenv:Envelope>`

function answered(content: string, changes: Partial<RawExchange> = {}) {
  const body = envelope('<RetrievePropertiesEx xmlns="urn:vim25"/>')
  const exchange = cleanExchange({ ...SOAP, body, answer: Buffer.from(content), ...changes }, options)
  return { ...exchange, text: exchange.answer.join('\n') }
}

t.test('nothing of a login is kept', async (t) => {
  for (const operation of ['Login', 'CloneSession']) {
    const body = envelope(
      `<${operation} xmlns="urn:vim25"><password>hunter2</password><cloneTicket>hunter2</cloneTicket></${operation}>`,
    )
    const { call, request } = answered(envelope('<x/>'), { body })
    t.same({ call, request }, { call: 'SOAP Login', request: [] })
  }
})

t.test('what is no answer of vCenter is left out as a whole', async (t) => {
  for (const text of [
    '<html><body>secret</body></html>',
    '<!DOCTYPE x [<!ENTITY a "secret">]><Envelope>&a;</Envelope>',
    '<Envelope><secret>',
    'secret',
    '<secret/>',
  ])
    t.same(answered(text).answer, [], text)
  t.same(answered('secret', { method: 'GET', path: '/rest/com/vmware/cis/session' }).answer, [])
  t.equal(answered('', { contentType: 'secret/type' }).contentType, 'another')
})

t.test('names, attributes and namespaces that are not vSphere’s are replaced', async (t) => {
  const { text } = answered(
    envelope(
      '<a xmlns:secret="urn:secret" secret:of="secret" type="Secret" xsi:type="xsd:string" serverGuid="secret">secret<!-- secret --></a>',
    ),
  )
  t.notMatch(text.replaceAll('xmlns:secret', '').replaceAll(' secret:of', ''), /secret/i)
  t.match(text, "xsi:type='xsd:string'")
})

t.test('a value stays only where such a value is expected', async (t) => {
  const property = (path: string, value: string) =>
    answered(envelope(`<objects><propSet><name>${path}</name><val>${value}</val></propSet></objects>`)).text
  t.match(property('runtime.powerState', 'poweredOn'), '<val>poweredOn</val>')
  t.notMatch(property('runtime.powerState', 'secret'), 'secret')
  t.notMatch(property('name', 'poweredOn'), 'poweredOn')
  t.notMatch(property('secret.path', 'x'), 'secret')
  t.match(property('config', 'x'), '<name>config</name>')
})

t.test('of a request for what is above VMs all but the references stays', (t) => {
  const hosts = ['host-1', 'host-22'].map((value) => ({ type: 'HostSystem', value }))
  const body = envelope(
    `<RetrievePropertiesEx xmlns="urn:vim25"><specSet>${ancestorSpecs(hosts).join('')}</specSet></RetrievePropertiesEx>`,
  )
  const request = answered(envelope('<x/>'), { body }).request.join('')
  const words = (xml: string) =>
    [...xml.matchAll(/>([^<\s][^<]*)</g)].map(([, word = '']) => word.replace(/^host-\d+$/, 'host'))
  t.ok(words(request).includes('up1'))
  t.same(words(request), words(body))
  t.end()
})

t.test('labels, summaries and messages share no words with names', async (t) => {
  const { text } = answered(
    envelope(
      '<objects><propSet><name>name</name><val>Running</val></propSet><deviceInfo><label>Running</label><summary>Running</summary></deviceInfo><localizedMessage>Running</localizedMessage></objects>',
    ),
  )
  const [name, ...others] = [...text.matchAll(/<(?:val|label|summary|localizedMessage)>(\w+)</g)].map(
    ([, word]) => word,
  )
  t.equal(others.length, 3)
  t.equal(new Set(others).size, 1)
  t.notOk(others.includes(name))
  const rest = answered('{"name":"Running","messages":[{"default_message":"Running"}]}', {
    method: 'GET',
    path: '/rest/com/vmware/cis/session',
    contentType: 'application/json',
  })
  t.equal(/"name": "(\w+)"/.exec(rest.text)?.[1], name)
  t.equal(/"default_message": "(\w+)"/.exec(rest.text)?.[1], others[0])
})

t.test('cloud-init’s metadata stays readable, in its encoding', async (t) => {
  const inner = 'version: 2\nethernets: {secret0: {addresses: [10.1.2.3/24]}}\n'
  const metadata = `local-hostname: secret-7\nnetwork: ${gzipSync(inner).toString('base64')}\nnetwork.encoding: gzip+base64\n`
  const encoded = Buffer.from(metadata).toString('base64')
  const path = 'config.extraConfig["guestinfo.metadata"]'
  const { text } = answered(
    envelope(
      `<objects><propSet><name>${path.replaceAll('"', '&quot;')}</name><val><key>guestinfo.metadata</key><value>${encoded}</value></val></propSet></objects>`,
    ),
  )
  const found = Buffer.from(/<value>(.*)<\/value>/.exec(text)?.[1] ?? '', 'base64').toString()
  t.match(found, /^local-hostname: [a-z]{6}-\d\nnetwork: \S+\nnetwork\.encoding: gzip\+base64\n$/)
  const network = gunzipSync(Buffer.from(/network: (\S+)/.exec(found)?.[1] ?? '', 'base64')).toString()
  t.match(network, /^version: 2\nethernets: \{[a-z]{6}\d: \{addresses: \[10\.\d+\.\d+\.\d+\/24\]\}\}\n$/)
  t.notMatch(found + network, /secret|10\.1\.2\.3/)
})

t.test('of a long answer the VMs that are followed stay, and some others', async (t) => {
  const objects = Array.from(
    { length: 50 },
    (_, index) => `<objects><obj type="VirtualMachine">vm-${100 + index}</obj></objects>`,
  )
  const { answer, leftOut } = answered(
    envelope(
      `<R><returnval>${objects.join('')}<objects><obj type="VirtualMachine">vm-7</obj></objects></returnval></R>`,
    ),
  )
  t.equal(leftOut, 30)
  t.equal(answer.filter((line) => line.includes('<objects>')).length, 21)
  t.equal(answer.filter((line) => line.includes('</objects>')).length, 21)
  t.match(answer.join('\n'), names.moref('vm-7', 'VirtualMachine'))
})

t.test('a REST call keeps its form', async (t) => {
  const urn = 'urn:vmomi:InventoryServiceTag:5c9a0000-0000-4000-8000-000000000001:GLOBAL'
  const { call, text } = answered(
    JSON.stringify({ value: { name: 'secret', id: urn, secret: [1234, true, null] } }),
    {
      method: 'GET',
      path: `/rest/com/vmware/cis/tagging/tag/id:${encodeURIComponent(urn)}?secret=1`,
      body: undefined,
      contentType: 'application/json',
    },
  )
  t.match(
    call,
    /^GET \/rest\/com\/vmware\/cis\/tagging\/tag\/id:urn%3Avmomi%3AInventoryServiceTag%3A[0-9a-f-]{36}%3AGLOBAL\?[a-z]{6}=\d$/,
  )
  t.notMatch(call + text, /secret|5c9a0000|1234/)
  t.match(JSON.parse(text), {
    value: { name: /^[a-z]{6}$/, id: /^urn:vmomi:InventoryServiceTag:[0-9a-f-]{36}:GLOBAL$/ },
  })
})
