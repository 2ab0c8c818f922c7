import t from 'tap'
import type { VcsimVM } from './control.ts'
import { firstVMs, kinds, openEyes, returned, SEARCH_INDEX } from './soap-eyes.ts'

t.test('a search in a datacenter finds no machine of another', async (t) => {
  const { vcsim, soap, search } = await openEyes(t, { dcs: 2 })
  const [first, second] = await firstVMs(vcsim)
  const asked = async (operation: string, inner: string) =>
    returned((await soap.call(operation, SEARCH_INDEX, inner)).text)
  const datacenter = await asked('FindByInventoryPath', '<inventoryPath>/DC1</inventoryPath>')
  const within = `<datacenter type="Datacenter">${datacenter}</datacenter>`
  const found = ({ uuid }: VcsimVM) =>
    asked('FindByUuid', `${within}<uuid>${uuid}</uuid><vmSearch>true</vmSearch>`)
  t.match([first.datacenter, second.datacenter], ['DC0', 'DC1'])
  t.equal(await found(second), second.ref)
  t.equal(await found(first), undefined)
  t.same(await search(first.instanceUuid, true), [first.ref])
  t.same([...(await search(first.instanceUuid)), ...(await search(first.uuid, true))], [], 'another kind')
})

t.test('hidden machines are gone for everybody until they are shown', async (t) => {
  const { vcsim, search, read, viewOf, watch } = await openEyes(t)
  const [first, second, third] = await firstVMs(vcsim)
  const next = await watch(await viewOf(first, second, third), 'ListView', 'config.uuid')
  await next()
  await vcsim.hide(first.ref, second.name)
  t.same(kinds(await next()), { [first.ref]: 'leave', [second.ref]: 'leave' })
  t.same(await search(first.uuid), [])
  t.same(await search(first.instanceUuid, true), [])
  const missing = `xsi:type="ManagedObjectNotFound"><obj type="VirtualMachine">${first.ref}</obj>`
  t.match(await read('VirtualMachine', first.ref, 'name'), missing)
  t.match(await read('VirtualMachine', third.ref, 'name'), third.name)
  t.equal((await vcsim.vms()).length, 3)
  await vcsim.setGuestinfo({ vm: first.ref, key: 'guestinfo.k', value: 'v' })
  t.equal(await vcsim.getGuestinfo(first.ref, 'guestinfo.k'), 'v')

  await vcsim.show(first.ref)
  t.same(kinds(await next()), { [first.ref]: 'enter' })
  t.same(await search(first.uuid), [first.ref])
  t.same(await search(second.uuid), [])
  await vcsim.show()
  t.same(await search(second.uuid), [second.ref])
})

t.test('without privileges on anything, all machines are out of sight', async (t) => {
  const { vcsim, soap, search, read, viewOf, watch } = await openEyes(t)
  const [vm] = await firstVMs(vcsim)
  const next = await watch(await viewOf(vm), 'ListView', 'config.uuid')
  await next()
  const folder = /^Folder:(\S+)/.exec(await vcsim.govc('find', '-i', '/', '-type', 'f', '-name', 'vm'))?.[1]
  const key = /<key>([^<]+)</.exec(await read('SessionManager', 'SessionManager', 'currentSession'))?.[1]
  const granted = async (type: string, ref: string) => {
    const inner = `<entity type="${type}">${ref}</entity><sessionId>${key}</sessionId><privId>System.Read</privId>`
    const manager = { type: 'AuthorizationManager', ref: 'AuthorizationManager' }
    const { text } = await soap.call('HasPrivilegeOnEntities', manager, inner)
    return /<isGranted>(\w+)</.exec(text)?.[1] ?? /xsi:type="(\w+)"/.exec(text)?.[1]
  }
  t.equal(await granted('Folder', folder ?? ''), 'true')
  t.equal(await granted('Folder', 'group-v999'), 'ManagedObjectNotFound')

  await vcsim.revoke()
  t.same(kinds(await next()), { [vm.ref]: 'leave' })
  t.same(await search(vm.uuid), [])
  t.equal(await granted('Folder', folder ?? ''), 'false')
  for (const [type, ref = ''] of Object.entries({ VirtualMachine: vm.ref, Folder: folder }))
    t.match(await read(type, ref, 'name'), `xsi:type="NoPermission"><object type="${type}">${ref}</object>`)
  await vcsim.restore()
  await vcsim.revoke({ as: 'missingSet' })
  const text = await read('VirtualMachine', vm.ref, 'name', 'config.uuid')
  t.notMatch(text, vm.name)
  t.equal([...text.matchAll(/<missingSet>.*?NoPermission/g)].length, 2)

  await vcsim.restore()
  t.same(await search(vm.uuid), [vm.ref])
  t.match(await read('VirtualMachine', vm.ref, 'name'), vm.name)
  t.equal(await granted('Folder', folder ?? ''), 'true')
  t.equal((await vcsim.sessions()).soap, 1, 'no session is lost by it')
})

t.test('without privileges on one folder, the rest is in sight', async (t) => {
  const { vcsim, search, read } = await openEyes(t)
  const [first, second] = await firstVMs(vcsim)
  await vcsim.govc('folder.create', '/DC0/vm/workers')
  await vcsim.move({ vm: first.name, folder: '/DC0/vm/workers' })
  await vcsim.revoke({ object: 'workers' })
  t.same(await search(first.uuid), [])
  t.same(await search(second.uuid), [second.ref])
  t.match(await read('VirtualMachine', first.ref, 'name'), 'NoPermission')
  await vcsim.revoke({ object: 'workers', as: 'faultOnRoot' })
  const onRoot = 'xsi:type="NoPermission"><object type="Folder">group-d1<'
  t.match(await read('VirtualMachine', first.ref, 'name'), onRoot)
  await vcsim.move({ vm: first.name, folder: '/DC0/vm' })
  t.same(await search(first.uuid), [first.ref], 'what leaves the folder comes in sight')
  await vcsim.restore('workers')
  await t.rejects(vcsim.restore('workers'), /were not revoked/)
})

t.test('a machine that is registered again has a new reference, and is else the same', async (t) => {
  const { vcsim, search, read } = await openEyes(t)
  const [vm] = await firstVMs(vcsim)
  await vcsim.setGuestinfo({ vm: vm.ref, key: 'guestinfo.k', value: 'v' })
  await vcsim.unregister(vm.ref)
  t.same(await search(vm.uuid), [])
  const again = await vcsim.register(vm.ref)
  t.not(again.ref, vm.ref)
  t.same(again, { ...vm, ref: again.ref })
  t.same(await search(vm.uuid), [again.ref])
  t.match(await read('VirtualMachine', vm.ref, 'name'), 'ManagedObjectNotFound')
  t.match(await read('VirtualMachine', again.ref, 'name'), vm.name)
  t.equal(await vcsim.getGuestinfo(again.ref, 'guestinfo.k'), 'v')
  await vcsim.govc('vm.power', '-off', vm.name)
  await vcsim.govc('vm.destroy', vm.name)
  t.same(await search(vm.uuid), [])
  await t.rejects(vcsim.register(vm.ref), /no hidden virtual machine/)
})

t.test('a machine made anew under the name of another is another', async (t) => {
  const { vcsim, search } = await openEyes(t)
  const [vm] = await firstVMs(vcsim)
  for (const before of ['shown', 'hidden']) {
    const [old] = (await vcsim.vms()).filter((each) => each.name === vm.name)
    if (!old) throw new Error('no machine')
    if (before === 'hidden') await vcsim.hide(old.ref)
    const made = await vcsim.recreate(old.ref)
    t.match(made, { name: vm.name, host: vm.host, datacenter: vm.datacenter, powerState: 'poweredOn' })
    for (const key of ['ref', 'uuid', 'instanceUuid'] as const) t.not(made[key], old[key], key)
    t.not(made.vnics[0]?.mac, old.vnics[0]?.mac)
    t.same(await search(old.uuid), [])
    t.same(await search(made.uuid), [made.ref])
  }
  const more = await vcsim.create({ name: 'one-more', like: vm.name })
  t.same(await search(more.uuid), [more.ref])
  t.equal((await vcsim.vms()).length, 4)
})

t.test('machines move between hosts, clusters, folders and datacenters', async (t) => {
  const { vcsim, read, viewOf, watch } = await openEyes(t, { dcs: 2, clusters: 2, hosts: 2, vms: 4 })
  const [vm] = await firstVMs(vcsim)
  const next = await watch(await viewOf(vm), 'ListView', 'runtime.host')
  await next()
  await vcsim.move({ vm: vm.ref, host: 'DC0_C1_H0' })
  t.match(await next(), /<name>runtime\.host<\/name>/)
  t.match((await vcsim.vms())[0], { host: 'DC0_C1_H0', cluster: 'DC0_C1', datacenter: 'DC0' })
  const host = (await vcsim.govc('find', '-i', '/', '-type', 'h', '-name', 'DC0_C1_H0')).trim()
  t.match(await vcsim.govc('find', '/', '-type', 'm', '-runtime.host', host), vm.name)

  await vcsim.govc('folder.create', '/nested')
  await vcsim.govc('datacenter.create', '-folder', '/nested', 'DC9')
  await vcsim.move({ vm: vm.ref, folder: '/nested/DC9/vm' })
  t.match((await vcsim.vms())[0], { name: vm.name, datacenter: 'DC9' })
  t.match(await vcsim.govc('ls', '/nested/DC9/vm'), vm.name)
  t.notMatch(await vcsim.govc('ls', '/DC0/vm'), new RegExp(`${vm.name}$`, 'm'))
  t.match(await read('VirtualMachine', vm.ref, 'parent'), '<name>parent</name>')
  await t.rejects(vcsim.move({ vm: vm.ref }), /needs a host or a folder/)
  await t.rejects(vcsim.move({ vm: vm.ref, folder: '/nested' }), /no folder for virtual machines/)
})

t.test('machines of a host that does not answer are disconnected', async (t) => {
  const { vcsim, read, viewOf, watch } = await openEyes(t)
  const [first, second] = await firstVMs(vcsim)
  const next = await watch(await viewOf(first, second), 'ListView', 'runtime.connectionState')
  await next()
  await vcsim.setHost({ host: first.host, connectionState: 'notResponding' })
  t.same(kinds(await next()), { [first.ref]: 'modify' })
  const state = (vm: VcsimVM) => read('VirtualMachine', vm.ref, 'runtime.connectionState')
  t.match(await state(first), '>disconnected<')
  t.match(await state(second), '>connected<')
  await vcsim.setHost({ host: first.host, connectionState: 'connected' })
  t.match(await state(first), '>connected<')
})

t.test('what may start a machine again can be read', async (t) => {
  const { vcsim, read } = await openEyes(t)
  const [vm] = await firstVMs(vcsim)
  await vcsim.setState({ vm: vm.ref, faultToleranceState: 'running', dasProtected: true })
  const text = await read('VirtualMachine', vm.ref, 'runtime.faultToleranceState', 'runtime.dasVmProtection')
  t.match(text, '>running<')
  t.match(text, '<dasProtected>true</dasProtected>')
  const task = await vcsim.startTask({ vm: vm.ref, descriptionId: 'VirtualMachine.migrate' })
  t.match(await read('VirtualMachine', vm.ref, 'recentTask'), task)
  const info = () => read('Task', task, 'info.state', 'info.descriptionId')
  t.match(await info(), '>VirtualMachine.migrate<')
  t.match(await info(), '>running<')
  await vcsim.endTask(task)
  t.match(await info(), '>success<')
  await vcsim.endTask(task, 'gone')
  t.match(await info(), 'ManagedObjectNotFound')
  t.match(await read('VirtualMachine', vm.ref, 'recentTask'), task)
})

t.test('a machine is destroyed while every call is spoilt', async (t) => {
  const { vcsim, read } = await openEyes(t)
  const [vm, other] = await firstVMs(vcsim)
  await vcsim.fault({ operation: '*', kind: 'status', status: 503 })
  await vcsim.destroy(vm.ref)
  await vcsim.clearFaults()
  t.same((await vcsim.vms()).map(({ ref }) => ref).includes(vm.ref), false)
  t.match(await read('VirtualMachine', vm.ref, 'name'), 'ManagedObjectNotFound')
  t.match(await read('VirtualMachine', other.ref, 'name'), other.name)
  await t.rejects(vcsim.destroy(vm.ref), /vm-/)
})
