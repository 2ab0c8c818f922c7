// vCenter locks an account after five refused logins in three minutes, by its default policy, no matter which process tried.
import { writeFile } from 'node:fs/promises'
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { type Controller, vsphereConf } from '../world/controller.ts'
import { condition, eventsOf, isInitialized } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 2 })
const { events, nodes, reports, vcsim } = stage
await vcsim.setLockout({ failures: 5, withinSeconds: 180, unlockSeconds: 300 })

const configFile = `${stage.dir}/vsphere.conf`
const configure = (password: string) =>
  writeFile(configFile, vsphereConf({ ...vcsim, password }), { mode: 0o600 })
const start = (identity: string) => stage.controller({ configFile, identity, until: 'answering' })
const refused = async () => (await vcsim.logins()).filter(({ accepted }) => !accepted).length
await configure('wrong-horse-9c1d')
const member = await stage.reported('waits')
let replicas = [await start('a'), await start('b')]

t.test('two replicas with a wrong password, each started anew again and again', async (t) => {
  for (let turn = 0; turn < 7; turn++) {
    const leader = await heldUp(replicas)
    await leader.stop()
    replicas = [...replicas.filter((replica) => replica !== leader), await start(`again-${turn}`)]
  }
  const last = await heldUp(replicas)
  const count = await refused()
  t.ok(count >= 2 && count < 5, `${count} refused logins`)
  t.notOk(await vcsim.isLocked())

  await t.test('what is said names the time of the next attempt', async (t) => {
    const words =
      /will be retried at \d\d:\d\d UTC so that the account is not locked out; check user and password/
    t.match(await last.readyz(), /^vCenter main: InvalidLogin, will be retried at \d\d:\d\d UTC$/m)
    await reports.until('the condition says it', () =>
      words.test(condition(reports.last(member.name), 'VMFound')?.message ?? ''),
    )
    t.match(condition(reports.last(member.name), 'VMFound'), { status: 'Unknown', reason: 'InvalidLogin' })
    await events.until('an Event says it', () =>
      eventsOf(events, member.name).some(({ message }) => words.test(message)),
    )
    t.match(last.output(), words)
  })

  await t.test('what is remembered outside of the processes names neither user nor password', async (t) => {
    t.match(await remembered(), /"at":"\d{4}-/)
    t.notMatch(await remembered(), /horse|administrator/)
  })
})

t.test('the password is corrected under a replica that may not try: it is tried at once', async (t) => {
  await configure(vcsim.password)
  await nodes.until('the Node is initialized', () => isInitialized(nodes.last(member.name)))
  t.notOk(await vcsim.isLocked())
  t.equal(await remembered(), '{}', 'an accepted login ends the count')
  t.notMatch(replicas.map((replica) => replica.output()).join(), /horse/)
})

t.test('a person looks for the right form of the user name, with the wrong password', async (t) => {
  const before = await refused()
  const loaded = () =>
    replicas
      .map((replica) => replica.output())
      .join('')
      .split('configuration loaded').length
  for (const username of [
    'VSPHERE.LOCAL\\administrator',
    ' administrator@vsphere.local',
    'administrator',
    'VSPHERE.LOCAL/administrator',
    'administrator@vsphere.local ',
    'administrator@VSPHERE',
  ]) {
    const count = loaded()
    await writeFile(configFile, vsphereConf({ ...vcsim, username, password: 'wrong-horse-9c1d' }))
    await until('both replicas have loaded it', () => loaded() >= count + replicas.length)
    await heldUp(replicas)
  }
  const count = (await refused()) - before
  t.ok(count >= 1 && count < 5, `${count} refused logins`)
  t.notOk(await vcsim.isLocked())
  const last = await heldUp(replicas)
  t.match(await last.readyz(), /^vCenter main: InvalidLogin, will be retried at \d\d:\d\d UTC$/m)
  t.match(last.output(), /with those in other forms of this name/)
  await configure(vcsim.password)
  await until('vCenter takes the password', async () => (await vcsim.logins()).at(-1)?.accepted)
  t.equal((await refused()) - before, count, 'at once')
  t.notOk(await vcsim.isLocked())
})

async function remembered(): Promise<string> {
  interface Annotated {
    readonly metadata: { readonly annotations?: Readonly<Record<string, string>> }
  }
  const path = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/rollcall-controller'
  const { body } = await stage.cluster.request<Annotated>('GET', path)
  return body.metadata.annotations?.['rollcall.dev/login-attempts'] ?? ''
}

/** The one that leads and says that vCenter refuses it, or that it may not try. */
function heldUp(controllers: readonly Controller[]): Promise<Controller> {
  return until('one leads and is held up', async () => {
    for (const controller of controllers) {
      if (/^vCenter main: InvalidLogin/.test(await controller.readyz())) return controller
    }
    return undefined
  })
}
