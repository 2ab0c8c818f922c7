import { GLOBAL_OTHERS } from './ignored-keys.ts'
import { row, type SectionTable } from './row.ts'
import { text } from './value-types.ts'
import { VCENTER, type VCenterSettings } from './vcenter.ts'

export interface GlobalSettings extends VCenterSettings {
  readonly secretsDirectory: string
}

export const GLOBAL: SectionTable<GlobalSettings> = {
  rows: {
    ...VCENTER.rows,
    secretsDirectory: row(text, {
      meaning:
        'A folder with the files `SERVER.username` and `SERVER.password`, used instead of a Secret; a relative path starts at the folder of `vsphere.conf`.',
    }),
  },
  others: GLOBAL_OTHERS,
}
