import t from 'tap'
import { systemClock } from '../../../agent/shared/clock.ts'
import { openConnection } from './connection.ts'

t.test('the port that was configured is connected to, 443 too', async (t) => {
  // Nobody listens there; the refusal says which port was tried.
  const address = '127.91.17.203'
  for (const port of [443, 9]) {
    const connection = openConnection({
      server: address,
      port,
      trust: { kind: 'insecure' },
      userAgent: 'test',
      clock: systemClock,
    })
    const { signal } = new AbortController()
    const answer = connection.request(
      { method: 'GET', path: '/', headers: {}, deadline: 60_000, signal },
      async () => 'answered',
    )
    await t.rejects(answer, { reason: 'Unreachable', cause: { code: 'ECONNREFUSED', address, port } })
    await connection.close()
  }
})
