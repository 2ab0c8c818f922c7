import { createHash } from 'node:crypto'
import t from 'tap'
import { createClaimKeeper, writeClaim } from './claim.ts'
import { type Unreadable, unreadable } from './facts/files.ts'
import type { Guestinfo } from './facts/guestinfo.ts'
import { GUESTINFO_CLAIM, parseClaim } from './shared/node-report.ts'
import { ok, type Result } from './shared/result.ts'

const nodeUID = '11111111-1111-1111-1111-111111111111'
const bootID = '22222222-2222-2222-2222-222222222222'
const nonce = 'ab'.repeat(16)
const claim = { nodeUID, bootID, nonce }
const CLAIM = `v2 ${nodeUID} ${bootID} ${nonce}`

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
  for (const [name, value, look, expected] of [
    ['at start', undefined, false, [SET, GET]],
    ['at a refresh, in place', CLAIM, true, [GET]],
    ['at a refresh, missing', undefined, true, [GET, SET, GET]],
    ['at a refresh, of another Node', CLAIM.replace('1', '3'), true, [GET, SET, GET]],
    ['at a refresh, with another nonce', CLAIM.replace('ab', 'cd'), true, [GET, SET, GET]],
  ] as const) {
    const { calls, guestinfo } = host({}, value)
    const digest = createHash('sha256').update(CLAIM).digest('hex')
    t.match(await writeClaim(guestinfo, claim, { look }), { written: true, reason: 'Written', digest })
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
    const result = await writeClaim(host(answers).guestinfo, claim, { look: false })
    t.match(result, expected, name)
    t.equal(result.digest !== undefined, result.written, 'a digest only of what was written')
    t.notMatch(JSON.stringify(result), nonce)
  }
})

t.test('a nonce is of this process, this boot and this Node', async (t) => {
  const { calls, guestinfo } = host()
  const other = '33333333-3333-3333-3333-333333333333'
  let drawn = 0
  const keeper = createClaimKeeper(guestinfo, () => String(++drawn).padStart(32, '0'))
  const stands = async (...of: Parameters<typeof keeper.stand>) => {
    calls.length = 0
    await keeper.stand(...of)
    const [text] = calls.filter((call) => call.startsWith('set')).map((call) => call.split(' ').slice(2))
    return text === undefined ? undefined : parseClaim(text.join(' '))
  }
  t.match(await stands(nodeUID, bootID), { nodeUID, bootID, nonce: /0001$/ })
  t.equal(await stands(nodeUID, bootID), undefined, 'again: nobody calls the host')
  keeper.forget()
  t.equal(await stands(nodeUID, bootID), undefined, 'a refresh: it still stands')
  t.match(await stands(nodeUID, other), { bootID: other, nonce: /0002$/ }, 'another boot')
  t.match(await stands(other, other), { nodeUID: other, nonce: /0003$/ }, 'registered anew')
  t.match(await stands(other, undefined), { bootID: undefined, nonce: /0004$/ })
  await guestinfo.set(GUESTINFO_CLAIM, CLAIM)
  keeper.forget()
  t.match(await stands(other, undefined), { nonce: /0004$/ }, 'overwritten: the same once more')
})

t.test(
  'for an older controller it is written without a nonce, and with the same one after that',
  async (t) => {
    const { calls, guestinfo } = host()
    const keeper = createClaimKeeper(guestinfo, () => nonce)
    await keeper.stand(nodeUID, bootID)
    t.ok(keeper.hasNonce())
    keeper.useNonce(false)
    const plain = await keeper.stand(nodeUID, bootID)
    t.match(plain, {
      written: true,
      reason: 'WithoutNonce',
      message: /apply the manifests/,
      digest: undefined,
    })
    t.match(calls, [SET, GET, `set ${GUESTINFO_CLAIM} v1 ${nodeUID} ${bootID}`, GET])
    keeper.forget()
    t.match(await keeper.stand(nodeUID, bootID), plain)
    t.equal(calls.length, 5, 'a refresh finds it in place')
    keeper.useNonce(true)
    t.match(await keeper.stand(nodeUID, bootID), { reason: 'Written', digest: /^[0-9a-f]{64}$/ })
    t.match(calls.slice(5), [SET, GET])
  },
)

t.test('a write that failed is made up for with the same nonce', async (t) => {
  const { calls, guestinfo } = host({ set: unreadable('TimedOut', 'late') })
  let drawn = 0
  const keeper = createClaimKeeper(guestinfo, () => {
    drawn += 1
    return nonce
  })
  t.match(await keeper.stand(nodeUID, bootID), { written: false })
  await keeper.retry()
  t.same(calls, [SET, 'renew', SET])
  t.equal(drawn, 1)
})
