/** What becomes of a configuration file that is changed. */
import { edit, type Mutation } from './mutation.ts'

export const CONFIGURATION_MUTATIONS: readonly Mutation[] = [
  {
    name: 'configuration: who works is told of a change',
    edits: [edit('controller/config/watch.ts', 'before.abort()', '')],
  },
  {
    name: 'configuration: only what two looks have found counts',
    edits: [edit('controller/config/watch.ts', 'settles: true', 'settles: false')],
  },
  {
    name: 'configuration: what has a mistake is refused',
    edits: [
      edit(
        'controller/config/build-config.ts',
        'return findings.wrong ? undefined : config',
        'return config',
      ),
      edit(
        'controller/config/load.ts',
        'loaded === undefined || findings.problems.length > 0',
        'loaded === undefined',
      ),
    ],
  },
  {
    name: 'configuration: the last credential stays in force',
    edits: [
      edit(
        'controller/config/credentials/credential-watch.ts',
        'return last === undefined ? {',
        'return last !== null ? {',
      ),
    ],
  },
]
