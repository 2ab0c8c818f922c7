import t, { type Test } from 'tap'
import { membersOf, object, openEyes, propertySpec, returned, SHARED_COLLECTOR } from './soap-eyes.ts'

/** Five machines, of which a page holds two, and ways to read their names. */
async function setUp(t: Test) {
  const { vcsim, soap, viewAll } = await openEyes(t, { vms: 5 })
  await vcsim.limitPages(2)
  const vms = await vcsim.vms()
  const objects = vms.map(({ ref }) => `<objectSet>${object(ref)}</objectSet>`).join('')
  const names = `<specSet>${propertySpec('VirtualMachine', ['name'], objects)}</specSet>`
  const begin = async (collector = SHARED_COLLECTOR) => {
    const options = '<options><maxObjects>1000</maxObjects></options>'
    return page((await soap.call('RetrievePropertiesEx', collector, names + options)).text)
  }
  const go = async (token: string, collector = SHARED_COLLECTOR) =>
    page((await soap.call('ContinueRetrievePropertiesEx', collector, `<token>${token}</token>`)).text)
  const create = async () => {
    const { text } = await soap.call('CreatePropertyCollector', SHARED_COLLECTOR)
    return { type: 'PropertyCollector', ref: returned(text) ?? '' }
  }
  return { vcsim, soap, viewAll, names, begin, go, create }
}

function page(text: string) {
  return {
    objects: [...text.matchAll(/<obj type="VirtualMachine">([^<]+)</g)].map((match) => match[1] ?? ''),
    token: /<token>([^<]+)</.exec(text)?.[1],
    fault: /<detail>.*?xsi:type="(\w+)"/s.exec(text)?.[1],
  }
}

t.test('pages are as small as vCenter likes, whatever is asked for', async (t) => {
  const { begin, go, vcsim } = await setUp(t)
  const first = await begin()
  t.equal(first.objects.length, 2)
  const second = await go(first.token ?? '')
  const third = await go(second.token ?? '')
  t.equal(third.token, undefined)
  t.equal(new Set([...first.objects, ...second.objects, ...third.objects]).size, 5)
  await vcsim.limitPages(0)
  t.equal((await begin()).objects.length, 5)
})

t.test('any other read by the same collector voids a token', async (t) => {
  const { begin, go, create, soap, names } = await setUp(t)
  const first = await begin()
  const other = await begin()
  t.not(first.token, undefined)
  t.equal((await go(first.token ?? '')).fault, 'InvalidArgument')
  t.equal((await go(other.token ?? '')).objects.length, 2, 'that of the last result is good')
  t.equal((await go(other.token ?? '')).fault, 'InvalidArgument', 'once')
  const again = await begin()
  await soap.call('RetrieveProperties', SHARED_COLLECTOR, names)
  t.equal((await go(again.token ?? '')).fault, 'InvalidArgument')
  const mine = await create()
  const read = await begin(mine)
  await begin()
  t.equal((await go(read.token ?? '', mine)).objects.length, 2, 'another collector does no harm')
  t.equal((await go(read.token ?? '')).fault, 'InvalidArgument', 'a token serves its own collector only')
})

t.test('a view that is lost reads as empty, and its session has ended', async (t) => {
  const { vcsim, soap, viewAll, go } = await setUp(t)
  const read = async (view?: string) => {
    const spec = propertySpec('VirtualMachine', ['name'], membersOf(view, 'ContainerView'))
    const inner = `<specSet>${spec}</specSet><options/>`
    return page((await soap.call('RetrievePropertiesEx', SHARED_COLLECTOR, inner)).text)
  }
  const time = async () =>
    page((await soap.call('CurrentTime', { type: 'ServiceInstance', ref: 'ServiceInstance' })).text).fault
  for (const pages of [0, 1]) {
    await vcsim.loseView('ListView', pages)
    const view = await viewAll()
    t.equal((await read(view)).objects.length, 2, 'one of another kind is not')
    await vcsim.loseView('ContainerView', pages)
    let last = await read(view)
    if (pages === 1) {
      t.equal(last.objects.length, 2)
      last = await go(last.token ?? '')
    }
    t.same(last, { objects: [], token: undefined, fault: undefined })
    t.equal(await time(), 'NotAuthenticated')
    t.same(await vcsim.sessions(), { soap: 0, rest: 0 })
    await soap.login()
    t.equal((await read(await viewAll())).objects.length, 2, 'once')
  }
})
