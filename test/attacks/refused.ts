import type { Test } from 'tap'
import type { AttackRow, Refuser, Theme } from './rows/row.ts'
import type { Answer } from './sender.ts'
import type { Victim } from './stage.ts'

/** How each of those who answer for the API server says no. */
const WORDS: Partial<Record<Refuser, { readonly status: readonly number[]; readonly message: RegExp }>> = {
  authentication: { status: [401], message: /^Unauthorized$/ },
  RBAC: { status: [403], message: /cannot [\w:-]+ resource/ },
  NodeRestriction: { status: [403], message: /\bnode\b|not allowed to modify labels|unable to parse csr/ },
  CertificateApproval: { status: [403], message: /not permitted to approve requests/ },
  'Node authorizer': { status: [403], message: /^(?!.*ValidatingAdmissionPolicy).*\bnode\b/ },
  'policy own-report': { status: [403], message: /ValidatingAdmissionPolicy 'own-report\.rollcall\.dev'/ },
  'policy delete-node': {
    status: [403],
    message: /ValidatingAdmissionPolicy 'delete-node\.rollcall\.dev'/,
  },
  'policy update-node': {
    status: [403],
    message: /ValidatingAdmissionPolicy 'update-node\.rollcall\.dev'/,
  },
  'policy approve-certificate': {
    status: [403],
    message: /ValidatingAdmissionPolicy 'approve-certificate\.rollcall\.dev'/,
  },
  schema: { status: [422], message: /is invalid: / },
  // Fields that the schema does not have are a 500 to server-side apply.
  'API server': { status: [400, 404, 405, 409, 413, 422, 500], message: /./ },
}

/** Whether the answer is the refusal that the row names. */
export function checkRefused(t: Test, row: AttackRow, answer: Answer, who = row.credential): void {
  const { status, message } = answer
  const words = WORDS[row.refusedBy]
  t.ok(words?.status.includes(status), `${who}: ${status} ${message.slice(0, 300)}`)
  t.match(message, words?.message ?? /^$/, `${row.refusedBy} answers ${who}`)
  t.ok(message.includes(row.seen), `${who} is told "${row.seen}": ${message.slice(0, 300)}`)
}

/** Runs each row of a theme by its attempt, and holds the victim's objects against what they were. */
export async function runTheme<Name extends string>(
  t: Test,
  { title, rows }: Theme<Name>,
  attempts: Readonly<Record<NoInfer<Name>, (t: Test, row: AttackRow) => Promise<void>>>,
  victim?: Victim,
): Promise<void> {
  await t.test(title, async (t) => {
    const before = await victim?.seen()
    for (const name in rows) {
      const row = rows[name]
      await t.test(name, row.open === undefined ? {} : { todo: row.open }, async (t) => {
        await attempts[name](t, row)
        t.same(await victim?.seen(), before, 'the victim is as it was, to the version')
      })
    }
  })
}
