import type { TopologyConfig } from '../config.ts'
import { row, type SectionTable } from './row.ts'
import { choice, flag } from './value-types.ts'

export const TOPOLOGY: SectionTable<TopologyConfig> = {
  others: {},
  rows: {
    required: row(flag, {
      default: 'false',
      meaning:
        'Whether a new Node stays uninitialized until its VM has a tag of each category under `labels`, and says so in `TopologyResolved`. An initialized Node never gets its taint back.',
      protects: 'a cluster that cannot grow while a tag is missing or vCenter returns no tags',
    }),
    onChange: row(choice(['report', 'relabel', 'ignore']), {
      default: 'report',
      meaning:
        'When the VM of a running Node moves to another zone, region or instance type: `report` says so in `TopologyResolved`, `relabel` changes the labels as well, `ignore` does neither.',
      protects:
        'labels that change under Pods that were scheduled by them, whose volumes stay where they were',
    }),
  },
}
