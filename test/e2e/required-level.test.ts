import t from 'tap'
import { condition, isInitialized, level } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 4 })
const { nodes, reports } = stage

const verified = (name: string) => condition(reports.last(name), 'IdentityVerified')
const initialized = (name: string) =>
  nodes.until(`${name} is initialized`, () => isInitialized(nodes.last(name)))

const lax = await stage.controller()
const early = await stage.reported('early', { rpctool: { deny: ['info-set'] } })
await initialized(early.name)
await reports.until('its level is known', () => verified(early.name)?.reason === 'Reported')
await lax.stop()
await stage.controller({ identity: 'strict', require: 'proven', exempt: 'example.com/no-guestinfo' })

t.test('a Node waits until its VM names it, and is told what is missing', async (t) => {
  const member = await stage.reported('waits', { rpctool: { deny: ['info-set'] } })
  t.match(await stage.says(member.name, 'IdentityVerified', { reason: 'LevelTooLow' }), {
    status: 'False',
    message: /is reported.*requires proven.*identity\.require/,
  })
  t.match(reports.last(member.name)?.status, { identityLevel: 'reported' })
  await stage.told(member.name, 'LevelTooLow')
  t.equal(nodes.of(member.name).length, 1, 'its Node was not touched')
  await member.claim()
  await initialized(member.name)
  t.equal(level(nodes.last(member.name)), 'proven')
})

t.test('an exempt Node need not', async (t) => {
  const member = await stage.reported('exempt', {
    rpctool: { deny: ['info-set'] },
    labels: { 'example.com/no-guestinfo': '' },
  })
  await initialized(member.name)
  t.equal(level(nodes.last(member.name)), 'reported', 'it is shown as what it is')
})

t.test('one that was initialized before runs on, and is told', async (t) => {
  await reports.until('it is told', () => verified(early.name)?.reason === 'LevelTooLow')
  const node = nodes.last(early.name)
  t.ok(isInitialized(node))
  t.equal(level(node), 'reported')
  t.match(condition(reports.last(early.name), 'Initialized'), { status: 'True' })
})
