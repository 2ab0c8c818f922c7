import t from 'tap'
import { openSoap, type PlainSoapClient } from './soap.ts'
import { startVcsim } from './vcsim.ts'

const collector = { type: 'PropertyCollector', ref: 'propertyCollector' }
const searchIndex = { type: 'SearchIndex', ref: 'SearchIndex' }

const byUuid = (uuid: string) =>
  `<uuid>${uuid}</uuid><vmSearch>true</vmSearch><instanceUuid>false</instanceUuid>`

/** Watches paths of one machine; resolves with the text of the next update. */
async function watch(soap: PlainSoapClient, vm: string, paths: string[]): Promise<() => Promise<string>> {
  await soap.call(
    'CreateFilter',
    collector,
    `<spec><propSet><type>VirtualMachine</type>${paths.map((path) => `<pathSet>${path}</pathSet>`).join('')}</propSet>` +
      `<objectSet><obj type="VirtualMachine">${vm}</obj></objectSet></spec><partialUpdates>false</partialUpdates>`,
  )
  let version = ''
  const next = async () => {
    const options = '<options><maxWaitSeconds>10</maxWaitSeconds></options>'
    const { text } = await soap.call('WaitForUpdatesEx', collector, `<version>${version}</version>${options}`)
    version = /<version>([^<]*)</.exec(text)?.[1] ?? version
    return text
  }
  await next()
  return next
}

t.test('the inventory is spread, distinct and the same every time', async (t) => {
  await using vcsim = await startVcsim({ dcs: 2, clusters: 2, hosts: 2, vms: 18 })
  const vms = await vcsim.vms()
  t.equal(vms.length, 18)
  for (const key of ['ref', 'name', 'uuid', 'instanceUuid'] as const) {
    t.equal(new Set(vms.map((vm) => vm[key])).size, 18, `every ${key} is its own`)
  }
  t.equal(new Set(vms.flatMap((vm) => vm.vnics.map((nic) => nic.mac))).size, 18, 'every MAC is its own')
  t.equal(new Set(vms.map((vm) => vm.host)).size, 8, 'every host has some')
  t.same([...new Set(vms.map((vm) => vm.datacenter))].sort(), ['DC0', 'DC1'])
  t.ok(vms.every((vm) => vm.powerState === 'poweredOn'))
  t.ok(vms.every((vm) => vm.host.startsWith(vm.cluster) && vm.cluster.startsWith(vm.datacenter)))

  await using again = await startVcsim({ dcs: 2, clusters: 2, hosts: 2, vms: 18 })
  t.same(await again.vms(), vms)
  await using other = await startVcsim({ dcs: 2, clusters: 2, hosts: 2, vms: 18, seed: 'other' })
  const [first] = await other.vms()
  t.equal(first?.ref, vms[0]?.ref)
  t.not(first?.uuid, vms[0]?.uuid)
  t.not(first?.vnics[0]?.mac, vms[0]?.vnics[0]?.mac)
})

t.test('the UUIDs of all machines are pushed: all in pages, and then those that change', async (t) => {
  await using vcsim = await startVcsim({ vms: 120 })
  await using soap = await openSoap(vcsim)
  await soap.login()
  const container =
    '<container type="Folder">group-d1</container><type>VirtualMachine</type><recursive>true</recursive>'
  const made = await soap.call('CreateContainerView', { type: 'ViewManager', ref: 'ViewManager' }, container)
  const view = /<returnval[^>]*>([^<]+)</.exec(made.text)?.[1]
  await soap.call(
    'CreateFilter',
    collector,
    '<spec><propSet><type>VirtualMachine</type><pathSet>config.uuid</pathSet></propSet>' +
      `<objectSet><obj type="ContainerView">${view}</obj><skip>true</skip><selectSet ` +
      'xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:type="TraversalSpec"><name>all</name>' +
      '<type>ContainerView</type><path>view</path><skip>false</skip></selectSet></objectSet></spec>' +
      '<partialUpdates>false</partialUpdates>',
  )
  let version = ''
  const next = async (seconds = 10) => {
    const options = `<options><maxWaitSeconds>${seconds}</maxWaitSeconds></options>`
    const { text } = await soap.call('WaitForUpdatesEx', collector, `<version>${version}</version>${options}`)
    version = /<version>([^<]*)</.exec(text)?.[1] ?? version
    const told = text.matchAll(
      /<kind>(\w+)<\/kind><obj[^>]*>([^<]+)<.*?(?:<val[^>]*>([^<]*)<.*?)?<\/objectSet>/gs,
    )
    return {
      truncated: text.includes('<truncated>true<'),
      updates: Array.from(told, ([, kind, vm, uuid]) => [kind, vm, uuid] as const),
    }
  }
  const pages = [await next(), await next()]
  t.same(
    pages.map(({ truncated, updates }) => [truncated, updates.length]),
    [
      [true, 100],
      [false, 20],
    ],
  )
  const vms = await vcsim.vms()
  const [one, other] = vms
  if (one === undefined || other === undefined) throw new Error('no machines')
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
  await using vcsim = await startVcsim({ vms: 2 })
  await using soap = await openSoap(vcsim)
  await soap.login()
  const paths = ['config.extraConfig', 'guest.net', 'guest.hostName', 'runtime', 'config.uuid']
  const [vm] = await vcsim.vms()
  if (!vm) throw new Error('no machine')
  const updates = await watch(soap, vm.ref, paths)

  await vcsim.setGuestinfo({ vm: vm.ref, key: 'guestinfo.rollcall.claim', value: 'a claim' })
  t.match(await updates(), /<name>config\.extraConfig<\/name>.*guestinfo\.rollcall\.claim.*a claim/s)
  t.equal(await vcsim.getGuestinfo(vm.name, 'guestinfo.rollcall.claim'), 'a claim')
  await vcsim.setGuestinfo({ vm: vm.ref, key: 'guestinfo.rollcall.claim', value: '' })
  t.notMatch(await updates(), /a claim/)
  t.equal(await vcsim.getGuestinfo(vm.name, 'guestinfo.rollcall.claim'), undefined)

  await vcsim.setGuest({
    vm: vm.ref,
    hostName: 'node-1',
    nics: [{ addresses: ['10.0.0.5/24', 'fd00::5/64'] }],
  })
  const guest = await updates()
  t.match(guest, /node-1/)
  t.match(guest, new RegExp(vm.vnics[0]?.mac ?? 'no vNIC'))
  t.match(guest, /<ipAddress>10\.0\.0\.5<\/ipAddress><prefixLength>24</)
  t.match(guest, /<ipAddress>fd00::5<\/ipAddress><prefixLength>64</)
  t.match(guest, /<deviceConfigId>4000</)

  await vcsim.setState({ vm: vm.ref, connectionState: 'inaccessible', powerState: 'poweredOff', uuid: '' })
  const state = await updates()
  t.match(state, /inaccessible/)
  t.match(state, /poweredOff/)
  t.match(state, /config\.uuid/)
})

t.test('calls are counted by operation', async (t) => {
  await using vcsim = await startVcsim({ vms: 1 })
  await using soap = await openSoap(vcsim)
  await soap.login()
  const [vm] = await vcsim.vms()
  for (let i = 0; i < 3; i++) {
    const { text } = await soap.call('FindAllByUuid', searchIndex, byUuid(vm?.uuid ?? ''))
    t.match(text, new RegExp(`>${vm?.ref}<`))
  }
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

t.test('tags are there for a REST client', async (t) => {
  await using vcsim = await startVcsim({ clusters: 2, vms: 1 })
  await vcsim.tag(
    { category: 'k8s-region', tag: 'r1', object: 'DC0' },
    { category: 'k8s-zone', tag: 'z1', object: 'DC0_C0' },
    { category: 'k8s-zone', tag: 'z2', object: 'DC0_C1' },
  )
  t.equal((await vcsim.calls()).total, 0)
  t.equal((await vcsim.govc('tags.attached.ls', '-r', '/DC0/host/DC0_C1')).trim(), 'z2')
  t.match((await vcsim.calls()).operations, { 'REST POST /rest/com/vmware/cis/session': 1 })
  await vcsim.tag({ category: 'k8s-zone', tag: 'z2', object: 'DC0_C1', detach: true })
  t.equal((await vcsim.govc('tags.attached.ls', '-r', '/DC0/host/DC0_C1')).trim(), '')
  t.same(await vcsim.sessions(), { soap: 0, rest: 0 })
})

t.test('the machines bear what govc does to them', async (t) => {
  await using vcsim = await startVcsim({ hosts: 2, vms: 2 })
  await vcsim.govc('vm.power', '-off', 'DC0_C0_RP0_VM0')
  await vcsim.govc('vm.migrate', '-host', 'DC0_C0_H0', 'DC0_C0_RP0_VM1')
  const [off, moved] = await vcsim.vms()
  t.equal(off?.powerState, 'poweredOff')
  t.equal(moved?.host, 'DC0_C0_H0')
  await vcsim.govc('vm.destroy', 'DC0_C0_RP0_VM0')
  t.equal((await vcsim.vms()).length, 1)
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
