import type { Task } from '../../lib/tasks.ts'
import type { VCenterCredentials } from '../config.ts'
import { type FolderWatchOptions, watchFolder } from './folder-watch.ts'
import type { SourceState } from './secret-data.ts'
import { type SecretWatchOptions, watchSecret } from './secret-watch.ts'

/** What reading takes. */
export type SourceReads = Omit<SecretWatchOptions, 'namespace' | 'name' | 'onState'> &
  Omit<FolderWatchOptions, 'path' | 'onState'>

/** How a Secret or a folder is followed, whichever a vCenter's credentials are in. */
export function sourceWatcher(
  reads: SourceReads,
): (source: VCenterCredentials, onState: (state: SourceState) => void) => Task {
  return (source, onState) =>
    source.kind === 'secret'
      ? watchSecret({ ...reads, ...source, onState })
      : watchFolder({ ...reads, ...source, onState })
}
