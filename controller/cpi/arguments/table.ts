/** Every flag of vsphere-cloud-controller-manager v1.36.0, and how it is treated. A test compares it with the CPI's own list. */
import { PROGRAM_FLAGS } from './flags-of-program.ts'
import { SERVING_FLAGS } from './flags-of-serving.ts'
import { WORK_FLAGS } from './flags-of-work.ts'

export const FLAGS = { ...WORK_FLAGS, ...SERVING_FLAGS, ...PROGRAM_FLAGS } as const
