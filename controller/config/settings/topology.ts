import type { TopologyConfig } from '../config.ts'
import { row, type SectionTable } from './row.ts'
import { choice } from './value-types.ts'

export const TOPOLOGY: SectionTable<TopologyConfig> = {
  others: {},
  rows: {
    onChange: row(choice(['report', 'relabel', 'ignore']), {
      default: 'report',
      meaning:
        'When the VM of a running Node moves to another zone, region or instance type: `report` says so in `TopologyResolved`, `relabel` changes the labels as well, `ignore` does neither.',
      protects: 'labels that change under Pods which were placed by them: their volumes stay where they were',
    }),
  },
}
