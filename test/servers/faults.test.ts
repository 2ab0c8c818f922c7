import t from 'tap'
import { until } from '../fixtures/until.ts'
import type { VcsimFault } from './control.ts'
import { openSoap } from './soap.ts'
import { startVcsim } from './vcsim.ts'

const vcsim = await startVcsim({ vms: 2 })
const soap = await openSoap(vcsim)
await soap.login()
t.teardown(async () => {
  await soap[Symbol.asyncDispose]()
  await vcsim.stop()
})
t.afterEach(() => vcsim.clearFaults())

const time = () => soap.call('CurrentTime', { type: 'ServiceInstance', ref: 'ServiceInstance' })
const spoil = (fault: Omit<VcsimFault, 'operation'>) => vcsim.fault({ operation: 'CurrentTime', ...fault })

for (const [fault, answer] of [
  [{ kind: 'status', status: 503 }, { status: 503 }],
  [{ kind: 'html' }, { status: 200, type: 'text/html; charset=utf-8', text: '<!DOCTYPE html>' }],
  [{ kind: 'doctype' }, { status: 200, text: /<\?xml[^>]*\?>\s*<!DOCTYPE bomb.*CurrentTimeResponse/s }],
  [{ kind: 'empty' }, { status: 200, text: '<CurrentTimeResponse xmlns="urn:vim25"></CurrentTimeResponse>' }],
  ...['NoPermission', 'NotAuthenticated', 'InvalidLogin', 'ManagedObjectNotFound'].map(
    (name) =>
      [
        { kind: 'fault', fault: name },
        { status: 500, text: `<${name}Fault xmlns="urn:vim25" xsi:type="${name}">` },
      ] as const,
  ),
] as const)
  t.test(JSON.stringify(fault), async (t) => {
    await spoil(fault)
    t.match(await time(), answer)
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
  const id = await spoil({ kind: 'delay', milliseconds: 3_600_000 })
  const late = time()
  await until('it waits', async () =>
    (await vcsim.faults()).some((fault) => fault.id === id && fault.hits === 1),
  )
  await vcsim.clearFaults(id)
  t.match((await late).text, 'CurrentTimeResponse', 'the right answer, when it is cleared')
})

t.test('what breaks in the middle', async (t) => {
  const reset = await spoil({ kind: 'reset' })
  await t.rejects(time(), { code: 'ECONNRESET' })
  await vcsim.clearFaults(reset)
  const abort = await spoil({ kind: 'abort' })
  await t.rejects(time())
  await vcsim.clearFaults(abort)
  await spoil({ kind: 'truncate' })
  const { status, text } = await time()
  t.equal(status, 200)
  t.notMatch(text, '</soapenv:Envelope>')
})

t.test('huge', async (t) => {
  await spoil({ kind: 'huge' })
  const { text } = await time()
  t.ok(text.length > 50 * 2 ** 20 && text.endsWith('</soapenv:Envelope>'))
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
  const operation = 'REST POST /rest/com/vmware/cis/session'
  await vcsim.fault({ operation, kind: 'fault', fault: 'NoPermission' })
  await t.rejects(vcsim.govc('tags.ls'), /403 Forbidden/)
})
