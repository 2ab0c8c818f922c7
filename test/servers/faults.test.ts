import t from 'tap'
import { until } from '../fixtures/until.ts'
import type { VcsimFault } from './control.ts'
import { openSoap } from './soap.ts'
import { startVcsim } from './vcsim.ts'

const serviceInstance = { type: 'ServiceInstance', ref: 'ServiceInstance' }
const searchIndex = { type: 'SearchIndex', ref: 'SearchIndex' }

const vcsim = await startVcsim({ vms: 2 })
const soap = await openSoap(vcsim)
await soap.login()
t.teardown(async () => {
  await soap[Symbol.asyncDispose]()
  await vcsim.stop()
})
t.afterEach(() => vcsim.clearFaults())

const time = () => soap.call('CurrentTime', serviceInstance)
const spoil = (fault: Omit<VcsimFault, 'operation'>) => vcsim.fault({ operation: 'CurrentTime', ...fault })

t.test('status', async (t) => {
  await spoil({ kind: 'status', status: 503 })
  t.equal((await time()).status, 503)
})

for (const name of ['NoPermission', 'NotAuthenticated', 'InvalidLogin', 'ManagedObjectNotFound']) {
  t.test(`fault ${name}`, async (t) => {
    await spoil({ kind: 'fault', fault: name })
    const { status, text } = await time()
    t.equal(status, 500)
    t.match(text, `<${name}Fault xmlns="urn:vim25" xsi:type="${name}">`)
  })
}

t.test('empty', async (t) => {
  await vcsim.fault({ operation: 'FindAllByUuid', kind: 'empty' })
  const [vm] = await vcsim.vms()
  const { status, text } = await soap.call(
    'FindAllByUuid',
    searchIndex,
    `<uuid>${vm?.uuid}</uuid><vmSearch>true</vmSearch>`,
  )
  t.equal(status, 200)
  t.match(text, '<FindAllByUuidResponse xmlns="urn:vim25"></FindAllByUuidResponse>')
})

t.test('hang, until cleared', async (t) => {
  const id = await spoil({ kind: 'hang' })
  let answered = false
  const hanging = t.rejects(time()).then(() => {
    answered = true
  })
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.notOk(answered)
  await vcsim.clearFaults(id)
  await hanging
})

t.test('delay', async (t) => {
  const short = await spoil({ kind: 'delay', milliseconds: 300 })
  const start = performance.now()
  t.match((await time()).text, 'CurrentTimeResponse')
  t.ok(performance.now() - start >= 299)
  await vcsim.clearFaults(short)

  const id = await spoil({ kind: 'delay', milliseconds: 3_600_000 })
  const late = time()
  await until('it waits', async () =>
    (await vcsim.faults()).some((fault) => fault.id === id && fault.hits === 1),
  )
  await vcsim.clearFaults(id)
  t.match((await late).text, 'CurrentTimeResponse', 'or when it is cleared')
})

t.test('reset', async (t) => {
  await spoil({ kind: 'reset' })
  await t.rejects(time(), { code: 'ECONNRESET' })
})

t.test('truncate', async (t) => {
  await spoil({ kind: 'truncate' })
  const { status, text } = await time()
  t.equal(status, 200)
  t.notMatch(text, '</soapenv:Envelope>')
})

t.test('abort', async (t) => {
  await spoil({ kind: 'abort' })
  await t.rejects(time())
})

t.test('html', async (t) => {
  await spoil({ kind: 'html' })
  t.match(await time(), { status: 200, type: 'text/html; charset=utf-8', text: '<!DOCTYPE html>' })
})

t.test('doctype', async (t) => {
  await spoil({ kind: 'doctype' })
  t.match(await time(), { status: 200, text: /<\?xml[^>]*\?>\s*<!DOCTYPE bomb.*CurrentTimeResponse/s })
})

t.test('huge', async (t) => {
  await spoil({ kind: 'huge' })
  const { text } = await time()
  t.ok(text.length > 50 * 2 ** 20)
  t.ok(text.endsWith('</soapenv:Envelope>'))
})

t.test('only the object, only so often, only after a while', async (t) => {
  await spoil({ kind: 'status', status: 503, after: 1, times: 2 })
  const seen = []
  for (let i = 0; i < 5; i++) seen.push((await time()).status)
  t.same(seen, [200, 503, 503, 200, 200])
  t.match(await vcsim.faults(), [{ operation: 'CurrentTime', hits: 2 }])
  await vcsim.clearFaults()

  await vcsim.fault({ operation: '*', object: 'vm-5', kind: 'status', status: 503 })
  const ask = async (ref: string) =>
    (await soap.call('RetrieveProperties', { type: 'VirtualMachine', ref })).status
  t.equal(await ask('vm-5'), 503)
  t.not(await ask('vm-52'), 503)
})

t.test('faults of the REST side', async (t) => {
  await vcsim.fault({
    operation: 'REST POST /rest/com/vmware/cis/session',
    kind: 'fault',
    fault: 'NoPermission',
  })
  await t.rejects(vcsim.govc('tags.ls'), /403 Forbidden/)
})
