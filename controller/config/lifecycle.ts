import type { LifecycleSettings, TopologySettings } from '../facts/settings.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND

export const LIFECYCLE_DEFAULTS: LifecycleSettings = {
  deletion: 'on',
  confirmations: 3,
  absentFor: 5 * MINUTE,
  leaderAge: 2 * MINUTE,
  deletionsPerMinute: 10,
  maxAbsentShare: 0.2,
  maxAbsentMinimum: 1,
  waitForVolumes: undefined,
  outOfServiceAfter: undefined,
  outOfServiceControlPlane: false,
}

export const TOPOLOGY_DEFAULTS: TopologySettings = { onChange: 'report' }
