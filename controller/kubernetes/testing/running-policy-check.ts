import { type Clock, systemClock } from '../../../agent/shared/clock.ts'
import type { PolicyState } from '../../types/cluster-state.ts'
import type { KubeClient, KubeRequest } from '../client.ts'
import { createPolicyCheck } from '../policy-check.ts'
import { observed } from './cluster-client.ts'
import { createLogLines } from './log-lines.ts'

/** A policy check under way, with all that it asked and said. By default it waits shorter than in earnest, so that it asks often. */
export function startPolicyCheck(
  client: KubeClient,
  sample: (without: ReadonlySet<string>) => string | undefined,
  clock: Clock = hasty,
) {
  const log = createLogLines()
  const states: PolicyState[] = []
  const requests: KubeRequest[] = []
  const check = createPolicyCheck({
    client: observed(client, (request) => requests.push(request)),
    clock,
    random: () => 0,
    logger: log.logger,
    sample,
    onChange: () => states.push(check.state()),
  })
  const stop = new AbortController()
  const ended = check.run(stop.signal)
  return {
    ...log,
    states,
    requests,
    state: check.state,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await ended
    },
  }
}

const hasty: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms < 30_000 ? 400 : 100, signal),
}
