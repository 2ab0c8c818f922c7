import { ok, type Result } from '../../agent/shared/result.ts'
import type { LifecycleConfig } from './config.ts'
import type { Findings } from './findings.ts'
import type { Section } from './sections.ts'
import {
  parseChoice,
  parseDuration,
  parseDurationOrOff,
  parseFlag,
  parseInteger,
  parseShare,
  take,
} from './values.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

/** docs/configuration.md says what each of them protects against. */
export const LIFECYCLE_DEFAULTS: LifecycleConfig = {
  deletion: 'on',
  unbound: 'report',
  confirmations: 3,
  absentFor: 5 * MINUTE,
  leaderAge: 2 * MINUTE,
  deletionsPerMinute: 10,
  maxAbsentShare: 0.2,
  maxAbsentMinimum: 1,
  waitForVolumes: 5 * MINUTE,
  outOfServiceAfter: undefined,
  outOfServiceControlPlane: false,
}

/** Errors go to the findings, and the default is used instead; dangerous values draw a warning. */
export function checkLifecycle(section: Section, findings: Findings): LifecycleConfig {
  const standard = LIFECYCLE_DEFAULTS
  const read = <K extends keyof LifecycleConfig>(
    key: K,
    parse: (text: string) => Result<LifecycleConfig[K]>,
  ): LifecycleConfig[K] => {
    // `off` is undefined, which must not select the default.
    const boxed = (text: string): Result<{ readonly value: LifecycleConfig[K] }> => {
      const checked = parse(text)
      return checked.ok ? ok({ value: checked.value }) : checked
    }
    const taken = take(section.get(key), boxed, findings)
    return taken === undefined ? standard[key] : taken.value
  }
  const settings: LifecycleConfig = {
    deletion: read('deletion', parseDeletion),
    unbound: read('unbound', (text) => parseChoice(text, ['report', 'delete'])),
    confirmations: read('confirmations', (text) => parseInteger(text, 1, 100)),
    absentFor: read('absentFor', (text) => parseDuration(text, '1s')),
    leaderAge: read('leaderAge', (text) => parseDuration(text, '0s')),
    deletionsPerMinute: read('deletionsPerMinute', (text) => parseInteger(text, 1, 1_000)),
    maxAbsentShare: read('maxAbsentShare', parseShare),
    maxAbsentMinimum: read('maxAbsentMinimum', (text) => parseInteger(text, 0, 100_000)),
    waitForVolumes: read('waitForVolumes', (text) => parseDurationOrOff(text, '1s')),
    outOfServiceAfter: read('outOfServiceAfter', (text) => parseDurationOrOff(text, '1s')),
    outOfServiceControlPlane: read('outOfServiceControlPlane', parseFlag),
  }
  for (const [key, message] of dangers(settings)) {
    const setting = section.get(key)
    if (setting !== undefined) findings.warn(setting.path, setting.at, message)
  }
  return settings
}

/** In YAML `on` and `off` are `true` and `false`; quoted they mean the same here. */
function parseDeletion(text: string): Result<LifecycleConfig['deletion']> {
  const flag = parseFlag(text)
  if (flag.ok) return ok(flag.value ? 'on' : 'off')
  return parseChoice(text, ['on', 'dry-run', 'off'])
}

/** At most one warning for each setting, the most serious. */
function* dangers(settings: LifecycleConfig): Generator<[keyof LifecycleConfig, string]> {
  const { absentFor, outOfServiceAfter } = settings
  if (absentFor < 30 * SECOND) yield ['absentFor', SOONER_THAN_VCENTER]
  else if (absentFor < 5 * MINUTE) yield ['absentFor', SOONER_THAN_AGENTS]
  if (settings.leaderAge === 0) yield ['leaderAge', YOUNG_LEADER]
  if (settings.maxAbsentShare === 1) yield ['maxAbsentShare', NO_BRAKE]
  if (outOfServiceAfter !== undefined && outOfServiceAfter < MINUTE)
    yield ['outOfServiceAfter', SOONER_THAN_RESTART]
  if (settings.outOfServiceControlPlane && outOfServiceAfter === undefined)
    yield ['outOfServiceControlPlane', IDLE_CONTROL_PLANE]
}

const SOONER_THAN_VCENTER =
  'is under 30s: a vCenter that restarts or loads its inventory shows VMs as gone for longer than that; set 5m or more outside tests'
const SOONER_THAN_AGENTS =
  'is under 5m, the time between two reports of an agent with nothing new to say: that of a machine that lives may not have spoken yet; set 5m or more'
const YOUNG_LEADER =
  'of 0 lets a replica delete Nodes as soon as it leads, while the one before it may still be writing: set 30s or more'
const NO_BRAKE =
  'of 100% lets every Node of a vCenter be deleted where all its VMs are missing at once, as after the restore of an old backup: set 50% or less'
const SOONER_THAN_RESTART =
  'is under 1m: a VM that is only being restarted has its Pods killed and its volumes detached; set 1m or more'
const IDLE_CONTROL_PLANE =
  'has no effect while outOfServiceAfter is off: set outOfServiceAfter, or remove this one'
