import t from 'tap'
import { createClaimKeeper, writeClaim } from './claim.ts'
import type { Guestinfo } from './facts/guestinfo.ts'
import { type Unreadable, unreadable } from './facts/unreadable.ts'
import { GUESTINFO_CLAIM } from './shared/node-report.ts'
import { ok, type Result } from './shared/result.ts'

const nodeUID = '11111111-1111-1111-1111-111111111111'
const bootID = '22222222-2222-2222-2222-222222222222'
const CLAIM = `v1 ${nodeUID} ${bootID}`

/** A host that keeps variables, unless told otherwise, and remembers what it was asked. */
function host(
  answers: { get?: Result<string | undefined, Unreadable>; set?: Result<undefined, Unreadable> } = {},
  value?: string,
) {
  const calls: string[] = []
  const guestinfo: Guestinfo = {
    async get(key) {
      calls.push(`get ${key}`)
      return answers.get ?? ok(value)
    },
    async set(key, text) {
      calls.push(`set ${key} ${text}`)
      if (answers.set === undefined) value = text
      return answers.set ?? ok(undefined)
    },
    renew: () => void calls.push('renew'),
  }
  return { calls, guestinfo }
}

const GET = `get ${GUESTINFO_CLAIM}`
const SET = `set ${GUESTINFO_CLAIM} ${CLAIM}`

t.test('when it is written', async (t) => {
  for (const [name, value, always, expected] of [
    ['at start', CLAIM, true, [SET, GET]],
    ['at a refresh, in place', CLAIM, false, [GET]],
    ['at a refresh, missing', undefined, false, [GET, SET, GET]],
    ['at a refresh, of another Node', CLAIM.replace('1', '3'), false, [GET, SET, GET]],
  ] as const) {
    const { calls, guestinfo } = host({}, value)
    t.match(await writeClaim(guestinfo, { nodeUID, bootID, always }), { written: true, reason: 'Written' })
    t.same(calls, expected, name)
  }
})

t.test('when it cannot be', async (t) => {
  const denied = unreadable('PermissionDenied', 'the host refuses')
  for (const [name, answers, expected] of [
    [
      'the write is refused',
      { set: denied },
      { written: false, reason: 'PermissionDenied', message: 'the host refuses' },
    ],
    ['the value is dropped', { set: ok(undefined) }, { written: false, reason: 'NotKept' }],
    ['reading alone is refused', { get: denied }, { written: true, reason: 'Written' }],
  ] as const) {
    t.match(await writeClaim(host(answers).guestinfo, { nodeUID, bootID, always: true }), expected, name)
  }
})

t.test('a write that failed at start is made up for, though the claim stands already', async (t) => {
  const { calls, guestinfo } = host({ set: unreadable('TimedOut', 'late') }, CLAIM)
  const keeper = createClaimKeeper(guestinfo)
  t.match(await keeper.stand(nodeUID, bootID), { written: false })
  await keeper.retry()
  t.same(calls, [SET, 'renew', SET])
})
