import t from 'tap'
import type { LifecycleConfig } from './config.ts'
import { file, load, refusal } from './testing/load.ts'

const DEFAULTS: LifecycleConfig = {
  deletion: 'on',
  unbound: 'report',
  confirmations: 3,
  absentFor: 240_000,
  leaderAge: 120_000,
  deletionsPerMinute: 10,
  maxAbsentShare: 0.2,
  maxAbsentMinimum: 1,
  waitForVolumes: 300_000,
  shutdownTaint: true,
  outOfServiceAfter: undefined,
  outOfServiceControlPlane: false,
}

await t.test('what the settings become', async (t) => {
  const cases: readonly [string, Partial<LifecycleConfig>][] = [
    ['', {}],
    ['lifecycle:', {}],
    ['lifecycle: {}', {}],
    ['lifecycle: {deletion: ~, confirmations: "", absentFor:, maxAbsentShare: null}', {}],
    ...['on', 'ON', 'On', '"on"', "'ON'", 'true', 'True', '"true"', 'yes', 'y'].map(
      (text): [string, Partial<LifecycleConfig>] => [`lifecycle: {deletion: ${text}}`, { deletion: 'on' }],
    ),
    ...['off', 'OFF', '"off"', 'false', 'False', "'false'", 'no', 'n'].map(
      (text): [string, Partial<LifecycleConfig>] => [`lifecycle: {deletion: ${text}}`, { deletion: 'off' }],
    ),
    ...['dry-run', 'dry_run', 'dryRun', 'dryrun', 'DRY-RUN', '"dry-run"'].map(
      (text): [string, Partial<LifecycleConfig>] => [
        `lifecycle: {deletion: ${text}}`,
        { deletion: 'dry-run' },
      ],
    ),
    ['lifecycle: {confirmations: 1}', { confirmations: 1 }],
    ['lifecycle: {confirmations: "100"}', { confirmations: 100 }],
    ['lifecycle: {absentFor: 4m}', {}],
    ['lifecycle: {absentFor: "1h30m"}', { absentFor: 5_400_000 }],
    ['lifecycle: {absent-for: 10m}', { absentFor: 600_000 }],
    ['lifecycle: {absent_for: 10m}', { absentFor: 600_000 }],
    ['Lifecycle: {ABSENT_FOR: 10m}', { absentFor: 600_000 }],
    ['lifecycle: {leaderAge: 1ms}', { leaderAge: 1 }],
    ['lifecycle: {deletionsPerMinute: 1000}', { deletionsPerMinute: 1000 }],
    ['lifecycle: {deletions-per-minute: 1}', { deletionsPerMinute: 1 }],
    ['lifecycle: {maxAbsentShare: 20%}', {}],
    ['lifecycle: {maxAbsentShare: "12.5 %"}', { maxAbsentShare: 0.125 }],
    ['lifecycle: {maxAbsentShare: 0.5}', { maxAbsentShare: 0.5 }],
    ['lifecycle: {maxAbsentShare: .5}', { maxAbsentShare: 0.5 }],
    ['lifecycle: {maxAbsentShare: 0}', { maxAbsentShare: 0 }],
    ['lifecycle: {maxAbsentShare: 0%}', { maxAbsentShare: 0 }],
    ['lifecycle: {maxAbsentMinimum: 0}', { maxAbsentMinimum: 0 }],
    ['lifecycle: {maxAbsentMinimum: 100000}', { maxAbsentMinimum: 100_000 }],
    ['lifecycle: {waitForVolumes: off}', { waitForVolumes: undefined }],
    ['lifecycle: {waitForVolumes: 6m}', { waitForVolumes: 360_000 }],
    ['lifecycle: {waitForVolumes: 1s}', { waitForVolumes: 1_000 }],
    ['lifecycle: {outOfServiceAfter: "OFF"}', {}],
    ['lifecycle: {outOfServiceAfter: 1m}', { outOfServiceAfter: 60_000 }],
    [
      'lifecycle: {outOfServiceAfter: 10m, outOfServiceControlPlane: yes}',
      { outOfServiceAfter: 600_000, outOfServiceControlPlane: true },
    ],
    ['lifecycle: {outOfServiceControlPlane: false}', {}],
  ]
  for (const [rest, expected] of cases) {
    const { config, warnings } = await load(file('', rest))
    t.strictSame(config.lifecycle, { ...DEFAULTS, ...expected }, rest)
    t.same(warnings, [], rest)
  }
})

await t.test('what is dangerous draws one warning', async (t) => {
  const cases: readonly [string, Partial<LifecycleConfig>, string][] = [
    [
      'absentFor: 1s',
      { absentFor: 1_000 },
      'lifecycle.absentFor: is under 30s: a vCenter that restarts or loads',
    ],
    ['absentFor: 29999ms', { absentFor: 29_999 }, 'lifecycle.absentFor: is under 30s'],
    [
      'absentFor: 30s',
      { absentFor: 30_000 },
      'lifecycle.absentFor: is under 4m, the time between two reports',
    ],
    ['absentFor: 3m59s', { absentFor: 239_000 }, 'lifecycle.absentFor: is under 4m'],
    ['leaderAge: 0', { leaderAge: 0 }, 'lifecycle.leaderAge: of 0 lets a replica delete'],
    ['leaderAge: 0s', { leaderAge: 0 }, 'lifecycle.leaderAge: of 0 lets'],
    ['maxAbsentShare: 100%', { maxAbsentShare: 1 }, 'lifecycle.maxAbsentShare: of 100% lets every Node'],
    ['maxAbsentShare: 1.0', { maxAbsentShare: 1 }, 'lifecycle.maxAbsentShare: of 100% lets'],
    [
      'outOfServiceAfter: 59s',
      { outOfServiceAfter: 59_000 },
      'lifecycle.outOfServiceAfter: is under 1m: a VM',
    ],
    [
      'outOfServiceControlPlane: true',
      { outOfServiceControlPlane: true },
      'lifecycle.outOfServiceControlPlane: has no effect while outOfServiceAfter is off',
    ],
  ]
  for (const [setting, expected, words] of cases) {
    const { config, warnings } = await load(file('', `lifecycle:\n  ${setting}`))
    t.strictSame(config.lifecycle, { ...DEFAULTS, ...expected }, setting)
    t.equal(warnings.length, 1, setting)
    t.match(warnings[0], /^\/etc\/cloud\/vsphere\.conf:8:/)
    t.match(warnings[0], words)
  }
})

await t.test('what is wrong is refused, in words that name the place and the next step', async (t) => {
  const OFF_OR = 'expected "off" or a duration'
  const cases: readonly [string, string][] = [
    [
      'deletion: onn',
      'lifecycle.deletion: expected on, dry-run, off, got text of 3 characters: did you mean "on"?',
    ],
    [
      'deletion: dry-rum',
      'lifecycle.deletion: expected on, dry-run, off, got text of 7 characters: did you mean "dry-run"?',
    ],
    ['deletion: maybe', 'lifecycle.deletion: expected on, dry-run, off, got text of 5 characters'],
    ['deletion: [on]', 'lifecycle.deletion: expected text, got a list of 1 item'],
    [
      'confirmations: 0',
      'lifecycle.confirmations: expected a whole number from 1 to 100, got text of 1 character',
    ],
    ['confirmations: 101', 'lifecycle.confirmations: expected a whole number from 1 to 100'],
    ['confirmations: 2.5', 'lifecycle.confirmations: expected a whole number'],
    ['confirmations: 1e1', 'lifecycle.confirmations: expected a whole number'],
    ['confirmations: 0x3', 'lifecycle.confirmations: expected a whole number'],
    ['confirmations: -3', 'lifecycle.confirmations: expected a whole number'],
    ['confirmations: three', 'lifecycle.confirmations: expected a whole number'],
    [
      'absentFor: 300',
      'lifecycle.absentFor: expected a duration such as 90s, 5m or 1h30m, got text of 3 characters: did you mean "300s"?',
    ],
    ['absentFor: 0', 'lifecycle.absentFor: expected a duration of at least 1s, got a shorter one'],
    ['absentFor: 999ms', 'lifecycle.absentFor: expected a duration of at least 1s'],
    ['absentFor: off', 'lifecycle.absentFor: expected a duration such as'],
    ['absentFor: 1000h', 'lifecycle.absentFor: expected a duration of at most 168h'],
    ['absentFor: {seconds: 5}', 'lifecycle.absentFor: expected text, got a map of 1 key'],
    ['leaderAge: 120', 'did you mean "120s"?'],
    ['leaderAge: -1s', 'lifecycle.leaderAge: expected a duration such as'],
    ['deletionsPerMinute: 0', 'lifecycle.deletionsPerMinute: expected a whole number from 1 to 1000'],
    ['deletionsPerMinute: 1001', 'lifecycle.deletionsPerMinute: expected a whole number from 1 to 1000'],
    [
      'maxAbsentShare: 20',
      'lifecycle.maxAbsentShare: expected a share from 0% to 100%, such as 20% or 0.2, got text of 2 characters: did you mean "20%"?',
    ],
    ['maxAbsentShare: 1', 'got text of 1 character: did you mean "1%"?'],
    ['maxAbsentShare: 101%', 'lifecycle.maxAbsentShare: expected a share from 0% to 100%'],
    ['maxAbsentShare: 1.01', 'lifecycle.maxAbsentShare: expected a share'],
    ['maxAbsentShare: -1%', 'lifecycle.maxAbsentShare: expected a share'],
    ['maxAbsentShare: 2/10', 'lifecycle.maxAbsentShare: expected a share'],
    ['maxAbsentShare: half', 'lifecycle.maxAbsentShare: expected a share'],
    ['maxAbsentMinimum: -1', 'lifecycle.maxAbsentMinimum: expected a whole number from 0 to 100000'],
    ['maxAbsentMinimum: 100001', 'lifecycle.maxAbsentMinimum: expected a whole number from 0 to 100000'],
    ['waitForVolumes: on', `lifecycle.waitForVolumes: ${OFF_OR} such as`],
    ['waitForVolumes: 0s', `lifecycle.waitForVolumes: ${OFF_OR} of at least 1s`],
    [
      'outOfServiceAfter: 5',
      `lifecycle.outOfServiceAfter: ${OFF_OR} such as 90s, 5m or 1h30m, got text of 1 character: did you mean "5s"?`,
    ],
    ['outOfServiceAfter: 10ms', `lifecycle.outOfServiceAfter: ${OFF_OR} of at least 1s`],
    ['outOfServiceControlPlane: maybe', 'lifecycle.outOfServiceControlPlane: expected true or false'],
    ['absendFor: 5m', 'lifecycle.absendFor: unknown key: did you mean "absentFor"?'],
    ['onChange: report', 'lifecycle.onChange: unknown key: it belongs under "topology"'],
    ['absentFor: 5m\n  absent-for: 6m', 'lifecycle.absentFor: is given twice, first on line 8: keep one'],
  ]
  for (const [setting, words] of cases) {
    const lines = await refusal(file('', `lifecycle:\n  ${setting}`))
    t.equal(lines.length, 1, `${setting}: ${lines.join(' | ')}`)
    t.match(lines[0], /^vsphere\.conf:[89]:\d+: lifecycle\./, setting)
    t.ok(lines[0]?.includes(words), `${words} in ${lines[0]}`)
  }
  const lines = await refusal(
    file('', 'deletion: off\nlifecycle: {confirmations: x, absentFor: y, waitForVolumes: z}\ntopology: [a]'),
  )
  t.same(
    lines.map((line) => line.split(': ').slice(0, 2).join(': ')),
    [
      'vsphere.conf:7:1: deletion',
      'vsphere.conf:8:28: lifecycle.confirmations',
      'vsphere.conf:8:42: lifecycle.absentFor',
      'vsphere.conf:8:61: lifecycle.waitForVolumes',
      'vsphere.conf:9:11: topology',
    ],
    'all at once',
  )
  t.match(lines[0], 'it belongs under "lifecycle"')
})

await t.test('what becomes of labels when a VM moves', async (t) => {
  const cases: readonly [string, string][] = [
    ['', 'report'],
    ['topology:', 'report'],
    ['topology: {onChange: report}', 'report'],
    ['topology: {onChange: Relabel}', 'relabel'],
    ['topology: {on-change: "ignore"}', 'ignore'],
  ]
  for (const [rest, onChange] of cases) {
    const { config, warnings } = await load(file('', rest))
    t.strictSame(config.topology, { required: false, onChange }, rest)
    t.same(warnings, [])
  }
  t.same(await refusal(file('', 'topology: {onChange: relable}')), [
    'vsphere.conf:7:22: topology.onChange: expected report, relabel, ignore, got text of 7 characters: did you mean "relabel"?',
  ])
  t.match(await refusal(file('', 'topology: {onChange: true}')), [/topology\.onChange: expected report/])

  const labeled = await load(file('', 'labels: {zone: k8s-zone}\ntopology: {required: true}'))
  t.strictSame(labeled.config.topology, { required: true, onChange: 'report' })
  t.same(labeled.warnings, [])
  const idle = await load(file('', 'topology: {required: true}'))
  t.same(idle.warnings, [
    '/etc/cloud/vsphere.conf:7:22: topology.required: has no effect because the section labels names no category: write zone or region there',
  ])
  t.match(await refusal(file('', 'topology: {required: always}')), [/topology\.required: expected/])
})
