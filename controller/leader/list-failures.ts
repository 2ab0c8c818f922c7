import { messageOf } from '../../agent/shared/result.ts'
import { hasStatus } from '../kubernetes/api-error.ts'
import type { Informer, InformerOptions, Listed } from '../kubernetes/informer.ts'
import { type Trouble, troubleOf } from '../types/trouble.ts'

type Synced = Pick<Informer<Listed>, 'synced'>
type OnFailing = NonNullable<InformerOptions<Listed>['onFailing']>

/** Why a leader does not know the Nodes, or the reports, as they are now. */
export function createListFailures() {
  /** The last error of each kind that cannot be listed, or followed, now. */
  const errors = new Map<string, unknown>()
  return {
    of:
      (kind: string): OnFailing =>
      (error) => {
        if (error === undefined) errors.delete(kind)
        else errors.set(kind, error)
      },
    /** Until the first list is complete. */
    notListed(kind: string, { synced }: Synced): readonly Trouble[] {
      if (synced) return []
      const told = troubleOf(`${kind} are not listed yet`)
      const error = errors.get(kind)
      return [error === undefined ? told : { ...told, message: `${told.text}: ${why(error)}` }]
    },
    /** After that, while the watch is broken: what is known is as it was. */
    notFollowed(kind: string, { synced }: Synced): readonly Trouble[] {
      const error = errors.get(kind)
      if (!synced || error === undefined) return []
      const told = troubleOf(`${kind} are not followed, so what changes there is not seen`)
      return [{ ...told, message: `${told.text}: ${why(error)}` }]
    },
  }
}

function why(error: unknown): string {
  const said = messageOf(error)
  if (hasStatus(error, 403)) return `${said}; apply rbac.yaml`
  return hasStatus(error, 404) ? `${said}; the CRD is not there: apply crd.yaml` : said
}
