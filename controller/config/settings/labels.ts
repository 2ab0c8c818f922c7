import type { Config } from '../config.ts'
import { LABELS_OTHERS } from './ignored-keys.ts'
import { row, type SectionTable } from './row.ts'
import { name } from './value-types.ts'

export const LABELS: SectionTable<Config['labels']> = {
  others: LABELS_OTHERS,
  rows: {
    zone: row(name, {
      meaning:
        'Tag category; the nearest tag on the path from the VM up becomes `topology.kubernetes.io/zone`.',
      otherwise: 'no label',
    }),
    region: row(name, {
      meaning: 'The same for `topology.kubernetes.io/region`. Each label works without the other.',
      otherwise: 'no label',
    }),
  },
}
