import t, { type Test } from 'tap'
import { until } from '../fixtures/until.ts'
import { vsphereConf } from '../world/controller.ts'
import { loginsOf } from '../world/deletion.ts'
import { becomes, metric, UP } from '../world/meters.ts'
import { LABELS, type MountedController, openStage, ZONE_CATEGORY } from '../world/stage.ts'

// The password changes in the Secret and in vCenter, in either order. Every attempt to log in is on record. That sessions
// have ended is noticed with the next question: a poll that waits goes on, so a new Node comes each time.
const stage = await openStage(t, { vms: 16, password: 'first-pw' })
const { nodes, reports, vcsim } = stage
let current = 'first-pw'

t.test('in vCenter first: the session lives on, the next one takes the new password', async (t) => {
  const scene = await open(t)
  const member = await stage.initialized('vcenter-first')
  const writes = nodes.of(member.name).length
  await inVCenter('second-pw')
  await stage.initialized('between')
  await scene.rotate('second-pw')
  await stage.initialized('after')
  t.same(await scene.attempts(), ['first-pw accepted'], 'nothing needs a login yet')
  await vcsim.endSessions()
  await stage.initialized('new-session')
  await becomes(scene.controller, UP, 1)
  t.same(await scene.attempts(), ['first-pw accepted', 'second-pw accepted'])
  t.equal(nodes.of(member.name).length, writes, 'the Node was not touched')
})

t.test('in the Secret first: the session lives on, until vCenter has it too', async (t) => {
  const scene = await open(t)
  await scene.rotate('third-pw')
  await stage.initialized('secret-first')
  await inVCenter('third-pw')
  await vcsim.endSessions()
  await stage.initialized('both-changed')
  await becomes(scene.controller, UP, 1)
  t.same(await scene.attempts(), ['second-pw accepted', 'third-pw accepted'])
})

t.test('the old one is refused: tried once, and the new one once, without a restart', async (t) => {
  const scene = await open(t, LABELS)
  await stage.initialized('long-lived')
  await inVCenter('fourth-pw')
  await vcsim.resetCalls()
  await vcsim.endSessions()
  const held = await stage.reported('held-up')
  await refused(scene)
  await stage.says(held.name, 'VMFound', { reason: 'InvalidLogin' })
  // A change of something else is no reason to try the password once more, not even one that takes a new session.
  for (const [labels, changed] of [
    [LABELS, /"changed":\["lifecycle"\]/],
    [{ zone: ZONE_CATEGORY }, /"changed":\["labels"\]/],
  ] as const) {
    const settings = { labels, lifecycle: { confirmations: 4 } }
    await scene.write(vsphereConf({ ...vcsim, password: 'third-pw' }, settings))
    await scene.controller.says(changed)
    await refused(scene)
  }
  t.same((await vcsim.calls()).operations.Login, 1, 'the old one')
  const logins = 'rollcall_vcenter_calls_total{vcenter="main",operation="Login",outcome="InvalidLogin"}'
  t.equal(await metric(scene.controller, logins), 1)

  await scene.write(vsphereConf({ ...vcsim, password: 'fourth-pw' }, { labels: LABELS }))
  await becomes(scene.controller, UP, 1)
  await stage.says(held.name, 'Initialized', { status: 'True' })
  t.same((await vcsim.calls()).operations.Login, 2, 'the old one and the new one')
  const tried = (await scene.attempts()).slice(2)
  t.equal(tried.filter((attempt) => attempt === 'third-pw refused').length, 1, tried.join(', '))
  t.notOk(tried.includes('fourth-pw refused'))
  t.match(await vcsim.sessions(), { soap: 1, rest: 1 })
})

t.test('a wrong one is written: it is not tried while the session lives, then once', async (t) => {
  const scene = await open(t)
  await scene.rotate('mistyped')
  await stage.initialized('mistyped')
  t.same(await scene.attempts(), ['fourth-pw accepted'])
  await vcsim.endSessions()
  await stage.reported('waits')
  await refused(scene)
  await scene.rotate('fourth-pw')
  await becomes(scene.controller, UP, 1)
  t.same(await scene.attempts(), ['fourth-pw accepted', 'mistyped refused', 'fourth-pw accepted'])
})

t.test('whatever characters it has: sent as written, and never said', async (t) => {
  const awkward = [
    `marker'"\\#;!=`,
    'marker #no comment',
    '!marker: {[&*',
    ' marker\tblank ',
    'marker\n',
    'marker\r\n<&>]]>äß€😀',
  ]
  const scene = await open(t, { zone: ZONE_CATEGORY })
  for (const [index, password] of awkward.entries()) {
    await inVCenter(password)
    await vcsim.endSessions()
    await stage.reported(`awkward-${index}`)
    await refused(scene)
    await scene.rotate(password)
    await becomes(scene.controller, UP, 1)
    t.match(await vcsim.sessions(), { soap: 1 }, JSON.stringify(password))
  }
  const accepted = (await vcsim.logins()).filter((login) => login.accepted).map(({ password }) => password)
  t.same([...new Set(accepted)].slice(-awkward.length), awkward)
  t.notMatch(scene.controller.output(), /marker|-pw/)
  t.notMatch(JSON.stringify([stage.events.versions, reports.versions, nodes.versions]), /marker|-pw/)
})

async function inVCenter(password: string): Promise<void> {
  await vcsim.setPassword(password)
  current = password
}

/** A controller with the password of the moment. Without zones, so that nobody logs in by REST. */
async function open(t: Test, labels: { zone?: string; region?: string } = {}): Promise<Scene> {
  const conf = (password: string) => vsphereConf({ ...vcsim, password }, { labels })
  const before = (await vcsim.logins()).length
  const { controller, write } = await stage.mounted(t, conf(current))
  let rotations = 0
  return {
    controller,
    write,
    async rotate(password) {
      rotations += 1
      await write(conf(password))
      await until('it is loaded', () => controller.output().split('configuration loaded').length > rotations)
    },
    attempts: () => loginsOf(stage, before),
  }
}

interface Scene extends Pick<MountedController, 'controller' | 'write'> {
  /** Writes the Secret with this password, and waits until it is loaded. */
  rotate(password: string): Promise<void>
  /** Logins since the scene began. */
  attempts(): Promise<string[]>
}

async function refused({ controller }: Scene): Promise<void> {
  await until('vCenter has refused the password', async () =>
    (await controller.readyz()).startsWith('vCenter main: InvalidLogin'),
  )
}
