import type { Program } from '../world/program.ts'
import { listEvents } from './events.ts'
import type { DemoSite } from './site.ts'

const LAST_LINES = 20

/** What someone needs to find out why it went wrong: Events, and the ends of the logs. */
export async function diagnose(
  { cluster, controller }: Pick<DemoSite, 'cluster' | 'controller'>,
  agents: ReadonlyMap<string, Program>,
): Promise<string[]> {
  const events = (await listEvents(cluster)).map(
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
