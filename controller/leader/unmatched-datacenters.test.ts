import t from 'tap'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import type { DatacenterPath } from '../config/datacenter-pattern.ts'
import { createLogLines } from '../kubernetes/testing/log-lines.ts'
import { createUnmatchedDatacenters } from './unmatched-datacenters.ts'

t.test(
  'names, globs and references that mean no datacenter are told once, and again when others do',
  async (t) => {
    const clock = createHandClock()
    const { logger, lines } = createLogLines()
    const datacenters = [
      'DC1',
      'prod-*',
      '/europe/DC*',
      'Datacenter:datacenter-3',
      'typo',
      'test-*',
      '/asia/*',
      'Datacenter:datacenter-9',
    ]
    let seen: readonly DatacenterPath[] | undefined
    const scope = createUnmatchedDatacenters({
      vCenters: [
        { name: 'main', datacenters },
        { name: 'all', datacenters: [] },
      ],
      inventories: [
        { vCenter: 'main', datacenters: () => seen },
        { vCenter: 'all', datacenters: () => [] },
      ],
      clock,
      random: () => 0.5,
      logger,
    })
    const ending = new AbortController()
    const running = scope.run(ending.signal)
    await clock.turn(2_000)
    t.same(lines, [], 'nothing is known before vCenter has answered')
    t.same(scope.remarks(), [])
    seen = [
      { moref: 'datacenter-1', path: ['DC1'] },
      { moref: 'datacenter-2', path: ['prod-1'] },
      { moref: 'datacenter-3', path: ['europe', 'DC2'] },
    ]
    await clock.turn(2_000)
    await clock.turn(2_000)
    t.match(lines, [
      { level: 40, vCenter: 'main', datacenters: ['typo', 'test-*', '/asia/*', 'Datacenter:datacenter-9'] },
    ])
    t.equal(lines.length, 1)
    t.match(scope.remarks(), [/^vCenter main: 4 of 8 datacenters .* the log names them$/])
    seen = [...seen, { moref: 'datacenter-9', path: ['test-1'] }]
    await clock.turn(2_000)
    t.match(lines.at(-1)?.datacenters, ['typo', '/asia/*'])
    ending.abort()
    await running
  },
)
