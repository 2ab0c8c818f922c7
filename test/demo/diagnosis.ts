import type { Program } from '../fixtures/program.ts'
import type { Site } from './site.ts'

const LAST_LINES = 20

interface EventObject {
  readonly type?: string
  readonly reason?: string
  readonly message?: string
  readonly involvedObject?: { readonly name?: string }
}

/** What someone needs to find out why it went wrong: Events, and the ends of the logs. */
export async function diagnose(
  { cluster, controller }: Pick<Site, 'cluster' | 'controller'>,
  agents: ReadonlyMap<string, Program>,
): Promise<string[]> {
  const { body } = await cluster.request<{ items?: EventObject[] }>('GET', '/api/v1/events')
  const events = (body.items ?? []).map(
    ({ type, reason, message, involvedObject }) => `${type} ${involvedObject?.name} ${reason}: ${message}`,
  )
  const agentsLast = [...agents].flatMap(([name, { stderr }]) =>
    stderr.slice(-1).map((line) => `${name}: ${line}`),
  )
  return [
    ...section('Events', events),
    ...section("the end of the controller's log", controller.stderr.slice(-LAST_LINES)),
    ...section('the last word of each agent', agentsLast),
  ]
}

function section(title: string, lines: readonly string[]): string[] {
  return ['', `${title}:`, ...(lines.length > 0 ? lines : ['none']).map((line) => `  ${line}`)]
}
