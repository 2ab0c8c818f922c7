/** vCenter refuses a question about many objects as a whole for the sake of one. */
import t from 'tap'
import { fakeConnection, fault, soap } from '../testing/fake-connection.ts'
import { denied, granted, scriptedClient } from '../testing/probe-script.ts'
import { askPrivileges, type Privileges } from './privileges.ts'

const FOLDERS = Array.from({ length: 60 }, (_, i) => ({
  type: 'Folder',
  moref: `group-v${i + 10}`,
  name: `folder ${i + 10}`,
}))

/** What is said of the root and 60 folders, of which some are refused by a fault that names the root. */
async function askWhere(
  refuses: (moref: string) => boolean,
  before?: Privileges,
  refusal = denied('Folder', 'group-d1'),
) {
  let calls = 0
  const connection = fakeConnection(({ body = '' }) => {
    calls++
    const asked = [...body.matchAll(/<entity type="Folder">([^<]+)</g)].map(([, moref = '']) => moref)
    if (asked.some(refuses)) return refusal
    return {
      body: soap(`<HasPrivilegeOnEntitiesResponse>${granted(body)}</HasPrivilegeOnEntitiesResponse>`),
    }
  })
  const client = scriptedClient(connection, { key: 'session-key', lost() {} })
  const found = await askPrivileges(client, 'lab', FOLDERS, before)
  const { proofs } = found
  const messages = [...proofs.values()].flatMap((proof) =>
    proof.state === 'unproven' ? [proof.failure.message] : [],
  )
  return { calls, messages, proofs, found }
}

t.test('one is refused, and the fault names the root: the others are proven', async (t) => {
  const { calls, messages, proofs } = await askWhere((moref) => moref === 'group-v33')
  t.same(messages, [
    'the account lacks System.View and System.Read on Folder "folder 33" (group-v33): ' +
      'give it the role Read-only there, with propagation',
  ])
  t.equal(proofs.size, FOLDERS.length + 1)
  t.ok(calls < 20, `${calls} calls`)
})

t.test('vCenter fails at one: that one is not proven, the others are', async (t) => {
  const { messages, proofs } = await askWhere(
    (moref) => moref === 'group-v33',
    undefined,
    fault('SystemError'),
  )
  t.match(messages, [
    /^whether the account may read Folder "folder 33" \(group-v33\) was not checked: .*SystemError/,
  ])
  t.equal(proofs.size, FOLDERS.length + 1)
  const root = askWhere((moref) => moref === 'group-d1', undefined, fault('SystemError'))
  await t.rejects(root, { message: /SystemError/ }, 'without the root nothing is known')
})

t.test('the root itself is refused: it is said by name, and alone', async (t) => {
  const { messages, proofs } = await askWhere((moref) => moref === 'group-d1')
  t.match(messages, [/on the root folder \(group-d1\)/])
  t.equal(messages.length, 1)
  t.equal(proofs.size, FOLDERS.length + 1)
})

t.test(
  'so many are refused that finding them takes too many calls: what was not checked is not proven',
  async (t) => {
    const { calls, messages, proofs } = await askWhere((moref) => moref !== 'group-d1')
    t.equal(messages.length, FOLDERS.length)
    t.match(
      messages.at(-1),
      /^whether the account may read Folder "folder 69" \(group-v69\) was not checked: /,
    )
    t.equal(proofs.size, FOLDERS.length + 1)
    t.ok(calls <= 43, `${calls} calls`)
    t.equal(proofs.get('Folder:group-d1')?.state, 'proven', 'the root is asked for in any case')
  },
)

t.test('what takes too many calls is found out in turn, and what was known of the rest stays', async (t) => {
  const refuses = (moref: string) => /^group-v\d+[13579]$/.test(moref)
  const isChecked = ({ proofs }: Privileges): readonly string[] =>
    FOLDERS.filter(({ moref }) => {
      const proof = proofs.get(`Folder:${moref}`)
      const lacks = proof?.state === 'unproven' && proof.failure.message.startsWith('the account lacks')
      return refuses(moref) ? lacks : proof?.state === 'proven'
    }).map(({ moref }) => moref)
  let before: Privileges | undefined
  for (const round of [1, 2, 3, 4]) {
    const { found, calls } = await askWhere(refuses, before)
    const known = isChecked(found)
    t.comment(`round ${round}: ${known.length} of ${FOLDERS.length}, ${calls} calls`)
    for (const moref of before === undefined ? [] : isChecked(before)) t.ok(known.includes(moref), moref)
    before = found
  }
  t.equal(before && isChecked(before).length, FOLDERS.length)
  t.equal(before?.proofs.get('Folder:group-d1')?.state, 'proven')
})
