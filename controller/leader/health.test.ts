import t from 'tap'
import { readiness } from './health.ts'

t.test(
  'a standby says who leads, and a replica that has lost the Lease not that it leads itself',
  async (t) => {
    const said = (status: { leading: boolean; holder: string; lost: boolean }) =>
      readiness({ status: () => ({ ...status, problem: undefined }), remarks: () => [] }, undefined)
    t.same(said({ leading: false, holder: 'b', lost: false }), { ok: true, text: 'standby; b leads' })
    t.same(said({ leading: false, holder: '', lost: false }), { ok: true, text: 'standby; nobody leads' })
    t.match(said({ leading: false, holder: 'a', lost: true }), {
      ok: true,
      text: /^standby; it has lost the Lease/,
    })
  },
)
