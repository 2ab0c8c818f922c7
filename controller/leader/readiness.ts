import type { HealthStatus } from '../telemetry/server.ts'
import type { Candidate } from './candidate.ts'
import type { Engine } from './engine.ts'

/**
 * Whether a replica is ready. One that leads is, unless its engine has problems; a standby always is. Remarks follow, which
 * change nothing: a leader that is never ready would stop the rollout of the configuration that mends it.
 *
 * @param engine the one that works now; undefined while this replica does not lead
 */
export function readiness(
  candidate: Pick<Candidate, 'status' | 'remarks'>,
  engine: Pick<Engine, 'problems' | 'remarks'> | undefined,
): HealthStatus {
  const { leading, holder } = candidate.status()
  const standby =
    holder === undefined
      ? 'standby; the leader is unknown: the API server has not returned the Lease, or denies access to it; see the log'
      : `standby; ${holder || 'nobody'} leads`
  const problems = leading ? (engine?.problems() ?? []) : []
  const ok = problems.length === 0
  const state = ok ? [leading ? 'leading' : standby] : problems
  const remarks = [...(leading ? (engine?.remarks() ?? []) : []), ...candidate.remarks()]
  return { ok, text: [...state, ...remarks].join('\n') }
}

/** Whether a replica is to be restarted: where it can no longer take part in the election. */
export function liveness(candidate: Pick<Candidate, 'status'>): HealthStatus {
  const { problem } = candidate.status()
  return problem === undefined ? { ok: true, text: 'ok' } : { ok: false, text: problem }
}
