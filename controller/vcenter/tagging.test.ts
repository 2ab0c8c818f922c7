import { pino } from 'pino'
import t from 'tap'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import { createDebounce } from './collect/debounce.ts'
import type { TagReader } from './collect/tags.ts'
import { readMachine } from './facts/machine.ts'
import { Table } from './facts/table.ts'
import { createTopology } from './facts/topology.ts'
import { keepTagsRead } from './tagging.ts'
import { TIMINGS } from './timings.ts'
import { keyOf, VCenterError } from './wire/errors.ts'

t.test('while tags cannot be read, VMs that come are not held up', async (t) => {
  const clock = createHandClock()
  const end = new AbortController()
  const topology = createTopology({ tagging: true })
  const table = new Table({
    identity: () => ({ name: 'vc', instanceUUID: 'i' }),
    place: (machine) => topology.place(machine),
    onChange() {},
  })
  const trigger = createDebounce(TIMINGS.tags, clock)
  let down = true
  const reads: number[] = []
  const tagReader: TagReader = {
    async read(objects, take) {
      reads.push(clock.monotonic())
      if (down) throw new VCenterError('Unavailable', 'status 503')
      take(
        new Map(
          objects.map((each) => [keyOf(each), { tags: [{ category: 'zone', name: 'z' }], problems: [] }]),
        ),
      )
    },
  }
  const running = keepTagsRead(
    {
      tagReader,
      trigger,
      table,
      topology,
      timings: TIMINGS,
      clock,
      random: () => 0.5,
      logger: pino({ level: 'silent' }),
    },
    end.signal,
  )
  const follow = (vm: string) => {
    const values = new Map(
      [['config.uuid', vm]].map(([name = '', text = '']) => [
        name,
        { name: 'val', type: undefined, kind: undefined, text, children: [] },
      ]),
    )
    table.follow(vm)
    table.answer(new Map([[vm, [readMachine(vm, values, undefined)]]]))
    trigger.trigger()
  }
  const ancestry = (vm: string) => {
    const answer = table.lookup(vm)
    return answer.state === 'answered' ? answer.vms[0]?.ancestry : undefined
  }

  follow('vm-0')
  await clock.turn(TIMINGS.tags.max)
  t.match(ancestry('vm-0')?.unreadable, [/503/])
  await clock.turn(60_000)
  for (let i = 1; i <= 20; i++) {
    follow(`vm-${i}`)
    await clock.turn(TIMINGS.tags.spacing)
    t.match(ancestry(`vm-${i}`)?.unreadable, [/503/], `vm-${i}`)
  }
  t.ok(reads.length <= 8, `${reads.length} attempts in two minutes`)
  down = false
  await clock.turn(300_000)
  for (let i = 0; i <= 20; i++)
    t.match(ancestry(`vm-${i}`), { unreadable: [], folder: [{ tags: [{ name: 'z' }] }] })
  end.abort()
  await running
  t.equal(clock.sleepers, 0)
})
