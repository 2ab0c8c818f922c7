import t, { type Test } from 'tap'
import { MAX_ADDRESSES, MAX_INTERFACES, MAX_UNREADABLE } from '../../agent/shared/node-report.ts'
import { reportObject } from '../world/crowd.ts'
import { condition } from '../world/objects.ts'
import { checkRefused, runTheme } from './refused.ts'
import { bodies } from './rows/bodies.ts'
import type { AttackRow } from './rows/row.ts'
import { nic, openAttackStage, REPORTS, truth } from './stage.ts'

const stage = await openAttackStage(t, { vms: 3 })
const victim = await stage.victim('worker-10')
const forger = await stage.forger('worker-1')
await forger.proven()
const honest = truth(forger)
const path = `${REPORTS}/${forger.name}?fieldManager=rollcall-agent&force=true`

async function send(body: unknown) {
  return forger.kubelet.send({ method: 'PATCH', path, body, contentType: 'application/apply-patch+yaml' })
}

const refused =
  (...changes: object[]) =>
  async (t: Test, row: AttackRow) => {
    for (const change of changes) {
      const spec = { ...honest, ...change }
      checkRefused(t, row, await send({ ...reportObject({ ...forger, spec: honest }), spec }))
    }
  }

const many = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i))
const mac = (i: number) => `02:00:00:00:${hex(i >> 8)}:${hex(i & 255)}`
const hex = (byte: number) => byte.toString(16).padStart(2, '0')
const address = (i: number) => `10.77.${i >> 8}.${i & 255}`
const unread = { fact: 'machine.vendor', reason: 'NotFound', message: '' }

await runTheme(
  t,
  bodies,
  {
    '4 MB': refused({ hostname: 'x'.repeat(4_000_000) }),
    'unknown fields': refused(Object.fromEntries(many(10_000, (i) => [`field${i}`, i]))),
    depth: async (t, row) => checkRefused(t, row, await send(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)),
    aliases: async (t, row) => {
      const lines = many(9, (i) => `a${i + 1}: &a${i + 1} [${many(9, () => `*a${i}`).join(',')}]`)
      checkRefused(t, row, await send(['a0: &a0 [x]', ...lines].join('\n')))
    },
    'not Unicode': async (t, row) => {
      const text = JSON.stringify(reportObject({ ...forger, spec: { ...honest, hostname: '@' } }))
      const [before = '', after = ''] = text.split('@')
      checkRefused(
        t,
        row,
        await send(Buffer.concat([Buffer.from(before), Buffer.from([0xff, 0xc0]), Buffer.from(after)])),
      )
    },
    'upper case': refused(
      ...[
        forger.vm.uuid.toUpperCase(),
        `{${forger.vm.uuid}}`,
        forger.vm.uuid.replaceAll('-', ''),
        ` ${forger.vm.uuid}`,
      ].map((serialUUID) => ({ machine: { ...honest.machine, serialUUID } })),
    ),
    'all at the limit': async (t, row) => {
      const interfaces = [
        ...honest.interfaces,
        ...many(MAX_INTERFACES - 1, (i) => nic(mac(i), many(MAX_ADDRESSES, address), `e${i}`)),
      ]
      const unreadable = many(MAX_UNREADABLE, () => ({ ...unread, message: 'x'.repeat(256) }))
      t.match(await forger.report({ ...honest, interfaces, unreadable }), { status: 200 })
      t.match(condition(await forger.judged(), 'IdentityVerified'), { status: 'True', reason: row.seen })
    },
  },
  victim,
)

t.test('after all of that the controller still does its work', async (t) => {
  t.equal(stage.running.exit(), undefined)
  const next = await stage.forger('worker-2')
  await next.proven()
})
