import t from 'tap'
import type { VcsimVM } from './control.ts'
import { openSoap } from './soap.ts'
import { firstVMs, kinds, openEyes, SHARED_COLLECTOR } from './soap-eyes.ts'
import { startVcsim } from './vcsim.ts'

t.test('the inventory is spread, distinct and the same every time', async (t) => {
  const options = { dcs: 2, clusters: 2, hosts: 2, vms: 18 }
  await using vcsim = await startVcsim(options)
  const vms = await vcsim.vms()
  for (const key of ['ref', 'name', 'uuid', 'instanceUuid'] as const)
    t.equal(new Set(vms.map((vm) => vm[key])).size, 18, `every ${key} is its own`)
  t.equal(new Set(vms.flatMap((vm) => vm.vnics.map((nic) => nic.mac))).size, 18, 'every MAC is its own')
  t.equal(new Set(vms.map((vm) => vm.host)).size, 8, 'every host has some')
  t.ok(vms.every((vm) => vm.powerState === 'poweredOn'))
  t.ok(vms.every((vm) => vm.host.startsWith(vm.cluster) && vm.cluster.startsWith(vm.datacenter)))

  await using again = await startVcsim(options)
  t.same(await again.vms(), vms)
  await using other = await startVcsim({ ...options, seed: 'other' })
  const [first] = await other.vms()
  t.equal(first?.ref, vms[0]?.ref)
  t.not(first?.uuid, vms[0]?.uuid)
  t.not(first?.vnics[0]?.mac, vms[0]?.vnics[0]?.mac)
})

t.test('the UUIDs of all machines are pushed: all in pages, and then those that change', async (t) => {
  const { vcsim, viewAll, watch } = await openEyes(t, { vms: 120 })
  const update = await watch(await viewAll(), 'ContainerView', 'config.uuid')
  const next = async (seconds?: number) => {
    const text = await update(seconds)
    const told = text.matchAll(
      /<kind>(\w+)<\/kind><obj[^>]*>([^<]+)<.*?(?:<val[^>]*>([^<]*)<.*?)?<\/objectSet>/gs,
    )
    return {
      truncated: text.includes('<truncated>true<'),
      updates: Array.from(told, ([, kind, vm, uuid]) => [kind, vm, uuid] as const),
    }
  }
  const pages = [await next(), await next()]
  const sizes = pages.map(({ truncated, updates }) => [truncated, updates.length])
  t.strictSame(sizes.flat(), [true, 100, false, 20])
  const vms = await vcsim.vms()
  const [one, other] = await firstVMs(vcsim)
  t.same(
    new Set(pages.flatMap(({ updates }) => updates.map((update) => update.join()))),
    new Set(vms.map(({ ref, uuid }) => `enter,${ref},${uuid}`)),
  )
  t.same((await next(1)).updates, [])

  await vcsim.govc('vm.change', '-vm', one.name, '-uuid', other.uuid)
  t.same((await next()).updates, [['modify', one.ref, other.uuid]], 'one that was reconfigured')
  await vcsim.setState({ vm: one.ref, uuid: one.uuid })
  t.same((await next()).updates, [['modify', one.ref, one.uuid]])
  await vcsim.setState({ vm: one.ref, powerState: 'suspended' })
  t.same((await next(1)).updates, [], 'nothing else is told')
  const created = await vcsim.create({ name: 'new', like: other.name })
  t.same((await next()).updates, [['enter', created.ref, created.uuid]], 'no other enters again')
  await vcsim.hide(created.ref)
  t.same((await next()).updates, [['leave', created.ref, undefined]])
})

t.test('changes are pushed to a client that waits', async (t) => {
  const { vcsim, viewOf, watch } = await openEyes(t)
  const [vm] = await firstVMs(vcsim)
  const paths = ['config.extraConfig', 'guest.net', 'guest.hostName', 'runtime', 'config.uuid']
  const updates = await watch(await viewOf(vm), 'ListView', ...paths)
  await updates()
  const claim = { vm: vm.ref, key: 'guestinfo.rollcall.claim', value: 'a claim' }
  await vcsim.setGuestinfo(claim)
  t.match(await updates(), /<name>config\.extraConfig<\/name>.*guestinfo\.rollcall\.claim.*a claim/s)
  t.equal(await vcsim.getGuestinfo(vm.name, claim.key), 'a claim')
  await vcsim.setGuestinfo({ ...claim, value: '' })
  t.notMatch(await updates(), /a claim/)
  t.equal(await vcsim.getGuestinfo(vm.name, claim.key), undefined)

  const nics = [{ addresses: ['10.0.0.5/24', 'fd00::5/64'] }]
  await vcsim.setGuest({ vm: vm.ref, hostName: 'node-1', nics })
  const guest = await updates()
  for (const part of [
    'node-1',
    vm.vnics[0]?.mac ?? 'no vNIC',
    '<ipAddress>10.0.0.5</ipAddress><prefixLength>24<',
    '<ipAddress>fd00::5</ipAddress><prefixLength>64<',
    '<deviceConfigId>4000<',
  ])
    t.match(guest, part)
  await vcsim.setState({ vm: vm.ref, connectionState: 'inaccessible', powerState: 'poweredOff', uuid: '' })
  const state = await updates()
  for (const part of ['inaccessible', 'poweredOff', 'config.uuid']) t.match(state, part)
})

t.test('of a list, a client is told what has changed', async (t) => {
  const { vcsim, soap, viewOf, watch } = await openEyes(t)
  const [one, two, three] = await firstVMs(vcsim)
  const view = (await viewOf(one)) ?? ''
  const next = await watch(view, 'ListView', 'runtime.powerState')
  const modify = async (change: string) =>
    await soap.call('ModifyListView', { type: 'ListView', ref: view }, change)
  const reference = (kind: 'add' | 'remove', { ref }: VcsimVM) =>
    `<${kind} type="VirtualMachine">${ref}</${kind}>`
  t.same(kinds(await next()), { [one.ref]: 'enter' })
  await modify(reference('add', two))
  t.same(kinds(await next()), { [two.ref]: 'enter' })
  await modify(reference('remove', one))
  t.same(kinds(await next()), { [one.ref]: 'leave' })
  await modify(reference('add', one) + reference('add', three))
  t.same(kinds(await next()), { [one.ref]: 'enter', [three.ref]: 'enter' })
  await modify(reference('remove', three) + reference('add', three))
  t.same(kinds(await next(1)), {}, 'nothing but the order')

  // The client does not get an answer, and asks on from the one before.
  await modify(reference('remove', three))
  t.same(kinds(await next()), { [three.ref]: 'leave' })
  await modify(reference('add', three))
  const lost = await soap.call('WaitForUpdatesEx', SHARED_COLLECTOR, '<version>-</version><options/>')
  t.same(kinds(lost.text), { [three.ref]: 'enter' })
  t.same(kinds(await next()), { [three.ref]: 'enter' })
  await modify(reference('remove', two))
  t.same(kinds(await next()), { [two.ref]: 'leave' })
  await modify(reference('remove', three))
  const again = await soap.call('WaitForUpdatesEx', SHARED_COLLECTOR, '<version>-</version><options/>')
  t.same(kinds(again.text), { [two.ref]: 'leave', [three.ref]: 'leave' })
  await modify(reference('add', two))
  t.same(kinds(await next()), { [two.ref]: 'enter', [three.ref]: 'leave' })
})

t.test('calls are counted by operation', async (t) => {
  const { vcsim, soap, search } = await openEyes(t)
  const [vm] = await firstVMs(vcsim)
  for (let i = 0; i < 3; i++) t.same(await search(vm.uuid), [vm.ref])
  t.same(await vcsim.calls(), { total: 4, operations: { Login: 1, FindAllByUuid: 3 } })
  t.same(await vcsim.sessions(), { soap: 1, rest: 0 })
  await soap.call('Logout', { type: 'SessionManager', ref: 'SessionManager' })
  t.same(await vcsim.sessions(), { soap: 0, rest: 0 })
  await vcsim.resetCalls()
  t.same(await vcsim.calls(), { total: 0, operations: {} })
})

t.test('only its user may log in, and only as long as the session lives', async (t) => {
  await using vcsim = await startVcsim({ vms: 1 })
  await using stranger = await openSoap({ ...vcsim, password: 'wrong' })
  await t.rejects(stranger.login(), /InvalidLogin/)
  await using soap = await openSoap(vcsim)
  const time = () => soap.call('CurrentTime', { type: 'ServiceInstance', ref: 'ServiceInstance' })
  t.match(await time(), { status: 500, text: /NotAuthenticated/ })
  await soap.login()
  t.match(await time(), { status: 200 })
  await vcsim.endSessions()
  t.match(await time(), { status: 500, text: /NotAuthenticated/ })
  await soap.login()
  t.match(await time(), { status: 200 })
})

t.test('what the control port does not understand is refused in words', async (t) => {
  await using vcsim = await startVcsim({ vms: 1 })
  await t.rejects(vcsim.setState({ vm: 'nobody', powerState: 'poweredOff' }), /no virtual machine "nobody"/)
  await t.rejects(vcsim.tag({ category: 'c', tag: 't', object: 'nowhere' }), /no inventory object "nowhere"/)
  await t.rejects(vcsim.fault({ operation: '*', kind: 'status' }), /needs a status/)
  await t.rejects(
    vcsim.setGuest({ vm: 'DC0_C0_RP0_VM0', hostName: 'n', nics: [{ addresses: ['10.0.0.5'] }] }),
    /no '\/'/,
  )
})
