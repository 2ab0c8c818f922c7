import t from 'tap'
import type { Clock } from '../../../agent/shared/clock.ts'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { fakeSoap } from '../testing/fake-connection.ts'
import { TIMINGS } from '../timings.ts'
import { isRebuild, SoapFault, TooLongError, VCenterError } from '../wire/errors.ts'
import type { SoapCall, SoapClient } from '../wire/soap.ts'
import { createAllVMs } from './locate.ts'
import { createPollWait } from './pace.ts'
import type { Update } from './read-updates.ts'
import { createUpdates, type PushedChanges } from './updates.ts'

const object = (type: string) => ({ type, value: type })
const content = {
  instanceUUID: 'i',
  rootFolder: object('Folder'),
  viewManager: object('ViewManager'),
  propertyCollector: object('PropertyCollector'),
  searchIndex: object('SearchIndex'),
  sessionManager: object('SessionManager'),
  authorizationManager: object('AuthorizationManager'),
}

const NO_MEMBERS = { all: () => [], exclude: () => Promise.reject(new Error('there is none')) }

/** Updates of a vCenter that answers in this way, and what it refuses to watch. */
function updatesOf(soap: SoapClient, clock: Clock, paths: readonly string[] = []) {
  const refusals: VCenterError[] = []
  const timings = TIMINGS
  const allVMs = createAllVMs({ soap, content, timings })
  const onUnwatched = (refusal: VCenterError) => void refusals.push(refusal)
  // A session that has ended, where anybody looks.
  const alive = () => Promise.reject(new SoapFault('NotAuthenticated', ''))
  const pollWait = createPollWait(timings)
  const doubts: number[] = []
  const onLost = () => void doubts.push(clock.monotonic())
  const watched = { content, paths, allVMs, onUnwatched, onLost, alive, pollWait }
  return { ...createUpdates({ soap, ...watched, timings, clock }), refusals, doubts }
}

const CHANGE =
  '<filterSet><objectSet><kind>leave</kind><obj type="VirtualMachine">vm-1</obj></objectSet></filterSet>'

/** How many polls a server costs in ten seconds that answers each at once, or after so many milliseconds. */
async function pollsInTenSeconds(
  answer: (poll: number) => string,
  after: (poll: number) => number = () => 0,
) {
  const clock = createHandClock()
  const end = new AbortController()
  let polls = 0
  const answers = fakeSoap(({ operation }) => {
    if (operation !== 'WaitForUpdatesEx') return '<returnval type="X">x</returnval>'
    return answer(polls++)
  })
  const soap: SoapClient = {
    ...answers,
    async call(call) {
      const wait = call.operation === 'WaitForUpdatesEx' ? after(polls) : 0
      if (wait > 0) await clock.sleep(wait, call.signal)
      return answers.call(call)
    },
  }
  const paths = ['config.uuid']
  const updates = await updatesOf(soap, clock, paths).open(end.signal)
  let taken = 0
  const running = updates.run(
    ({ updates }) => {
      taken += updates.length
    },
    NO_MEMBERS,
    end.signal,
  )
  await clock.turn(10_000)
  end.abort()
  await running.catch((error: unknown) => t.equal(error, end.signal.reason))
  return { polls, taken }
}

const set = (inside: string) => `<returnval><version>1</version>${inside}</returnval>`

t.test('a server that answers at once is asked at a pace', async (t) => {
  const { polls: nothing } = await pollsInTenSeconds(() => '')
  t.ok(nothing >= 10 && nothing <= 12, `${nothing} polls without an answer`)
  const { polls: empty } = await pollsInTenSeconds(() => set(''))
  t.ok(empty >= 10 && empty <= 12, `${empty} empty polls`)
  const { polls: truncated } = await pollsInTenSeconds(() => set('<truncated>true</truncated>'))
  t.ok(truncated >= 10 && truncated <= 12, `${truncated} polls that are empty and truncated`)
  const { polls: changes, taken } = await pollsInTenSeconds(() => set(CHANGE))
  t.ok(changes >= 59 && changes <= 62, `${changes} polls with changes: a burst, and then four a second`)
  t.equal(taken, changes)
  const { polls: turns } = await pollsInTenSeconds((poll) => set(poll % 2 === 0 ? CHANGE : ''))
  t.ok(turns >= 59 && turns <= 62, `${turns} polls with changes and without in turn`)
})

t.test('as long as answers are few, vCenter is asked again at once', async (t) => {
  const { polls: few } = await pollsInTenSeconds(
    () => set(CHANGE),
    () => 300,
  )
  t.equal(few, 33)
  const { polls: silent } = await pollsInTenSeconds(
    () => '',
    () => 2_000,
  )
  t.equal(silent, 5, 'after polls that ended without news too')
})

t.test('a burst may come again after a rest', async (t) => {
  const rest = 6_000
  const { polls } = await pollsInTenSeconds(
    () => set(CHANGE),
    (poll) => (poll === 30 ? rest : 0),
  )
  // Twenty at once and ten at the pace, the rest, and twenty at once and those at the pace until the end.
  t.ok(polls >= 53 && polls <= 58, `${polls} polls`)
})

t.test('the rest of a truncated answer is fetched at once', async (t) => {
  const { polls } = await pollsInTenSeconds((poll) =>
    set(poll < 20 ? `<truncated>true</truncated>${CHANGE}` : CHANGE),
  )
  t.ok(polls >= 79 && polls <= 82, `${polls} polls`)
})

t.test('what is too long is asked for again in smaller pieces, from the beginning', async (t) => {
  const versions: string[] = []
  const soap = fakeSoap(({ operation, parameters = '' }) => {
    if (operation !== 'WaitForUpdatesEx') return '<returnval type="X">x</returnval>'
    versions.push(
      `${/<version>(.*)<\/version>/.exec(parameters)?.[1]}/${/<maxObjectUpdates>(\d+)/.exec(parameters)?.[1]}`,
    )
    if (versions.length === 2) throw new TooLongError('too long', 63)
    return set(CHANGE)
  })
  const clock = createHandClock()
  const end = new AbortController()
  const { signal } = end
  const updates = await updatesOf(soap, clock).open(signal)
  const running = updates.run(() => {}, NO_MEMBERS, signal)
  await clock.turn(700)
  end.abort()
  await running.catch((error: unknown) => t.equal(error, signal.reason))
  t.same(versions.slice(0, 4), ['/500', '1/500', '/31', '1/31'])
  t.same(
    soap.calls.map((call) => call.operation).filter((operation) => operation !== 'WaitForUpdatesEx'),
    [
      'CreateListView',
      'CreatePropertyCollector',
      'CreateFilter',
      'CreateContainerView',
      'CreateFilter',
      'DestroyPropertyCollector',
      'CreatePropertyCollector',
      'CreateFilter',
      'CreateFilter',
    ],
  )
})

t.test('truncated answers without end are fetched at a pace', async (t) => {
  const { polls } = await pollsInTenSeconds(() => set(`<truncated>true</truncated>${CHANGE}`))
  t.ok(polls >= 138 && polls <= 162, `${polls} polls`)
})

t.test('ten thousand VMs enter in pages of a hundred without a pause', async (t) => {
  const pages = 100
  const entering =
    '<filterSet><objectSet><kind>enter</kind><obj type="VirtualMachine">vm</obj></objectSet></filterSet>'
  const clock = createHandClock()
  const end = new AbortController()
  let polls = 0
  let enteredAt = Number.NaN
  const soap = fakeSoap(({ operation }) => {
    if (operation !== 'WaitForUpdatesEx') return '<returnval type="X">x</returnval>'
    polls++
    if (polls === pages) enteredAt = clock.monotonic()
    if (polls > pages) return ''
    return set(`${entering}${polls < pages ? '<truncated>true</truncated>' : ''}`)
  })
  const paths = ['config.uuid']
  const updates = await updatesOf(soap, clock, paths).open(end.signal)
  const start = clock.monotonic()
  const running = updates.run(() => {}, NO_MEMBERS, end.signal)
  await clock.turn(5_000)
  end.abort()
  await running.catch((error: unknown) => t.equal(error, end.signal.reason))
  t.equal(enteredAt - start, 0)
})

const CLAIM = 'config.extraConfig["guestinfo.x"]'

/** What one answer to a poll is understood to say, and all calls. */
async function told(filterSet: string) {
  const clock = createHandClock()
  const end = new AbortController()
  const taken: Update[] = []
  let version = ''
  const soap = fakeSoap(({ operation, parameters = '' }) => {
    if (operation !== 'WaitForUpdatesEx') return '<returnval type="X">x</returnval>'
    version = /<version>(.*)<\/version>/.exec(parameters)?.[1] ?? ''
    const inside = `<filterSet><filter type="PropertyFilter">f</filter>${filterSet}</filterSet>`
    return version === '' ? `<returnval><version>0_1</version>${inside}</returnval>` : ''
  })
  const paths = ['config.uuid', 'guest.net', CLAIM]
  const updates = await updatesOf(soap, clock, paths).open(end.signal)
  const running = updates
    .run(({ updates }) => taken.push(...updates), NO_MEMBERS, end.signal)
    .catch((error: unknown) => error)
  await clock.turn(100)
  end.abort()
  return { taken, version, error: await running, calls: soap.calls }
}

t.test('changes in all the forms in which vCenter tells of them', async (t) => {
  const change = (name: string, rest: string) =>
    `<changeSet><name>${name.replaceAll('"', '&quot;')}</name>${rest}</changeSet>`
  const missing = (fault: string) =>
    '<missingSet><path>config.uuid</path><fault><fault xmlns:i="http://www.w3.org/2001/XMLSchema-instance" ' +
    `i:type="${fault}"/><localizedMessage/></fault></missingSet>`
  type Row = [string, 'enter' | 'modify', string, Record<string, string | undefined> | 'unclear']
  const rows: readonly Row[] = [
    ['assign', 'modify', change('config.uuid', '<op>assign</op><val>u</val>'), { 'config.uuid': 'u' }],
    ['assign without val', 'modify', change('config.uuid', '<op>assign</op>'), { 'config.uuid': undefined }],
    [
      'indirectRemove',
      'modify',
      change('config.uuid', '<op>indirectRemove</op>'),
      { 'config.uuid': undefined },
    ],
    [
      'val of what is removed',
      'modify',
      change(CLAIM, '<op>remove</op><val>c</val>'),
      { [CLAIM]: undefined },
    ],
    ['add to a keyed list', 'modify', change(CLAIM, '<op>add</op><val>c</val>'), { [CLAIM]: 'c' }],
    [
      'value of an entry',
      'modify',
      change(`${CLAIM}.value`, '<op>assign</op><val>c</val>'),
      { [CLAIM]: 'c' },
    ],
    [
      'one by one',
      'modify',
      change('config.uuid', '<op>assign</op><val>u</val>') + change(CLAIM, '<op>remove</op>'),
      { 'config.uuid': 'u', [CLAIM]: undefined },
    ],
    [
      'enter',
      'enter',
      change('config.uuid', '<op>assign</op><val>u</val>') +
        change('guest.net', '<op>indirectRemove</op>') +
        change(CLAIM, '<op>assign</op>'),
      { 'config.uuid': 'u' },
    ],
    [
      'enter with a value of what is not there',
      'enter',
      change('config.uuid', '<op>indirectRemove</op><val>u</val>'),
      {},
    ],
    [
      'the whole list of an entry, as where paths with keys are not known',
      'modify',
      change(
        'config.extraConfig',
        '<op>assign</op><val><OptionValue><key>a</key><value>b</value></OptionValue>' +
          '<OptionValue><key>guestinfo.x</key><value>c</value></OptionValue></val>',
      ),
      { [CLAIM]: '' },
    ],
    [
      'the whole list, which has no such entry',
      'modify',
      change('config.extraConfig', '<op>assign</op><val/>'),
      { [CLAIM]: undefined },
    ],
    ['a part of a list', 'modify', change('guest.net', '<op>add</op><val/>'), 'unclear'],
    ['an entry of a list', 'modify', change('guest.net[4000]', '<op>assign</op><val/>'), 'unclear'],
    ['what holds it', 'modify', change('config', '<op>assign</op>'), 'unclear'],
    [
      'an entry that is not ours',
      'enter',
      change('config.extraConfig["guestinfo.y"]', '<op>add</op><val>c</val>'),
      'unclear',
    ],
    ['an op of another day', 'modify', change('config.uuid', '<op>merge</op><val>u</val>'), 'unclear'],
    ['what may not be read', 'modify', missing('NoPermission'), 'unclear'],
    ['what may not be read as it enters', 'enter', missing('SystemError'), 'unclear'],
  ]
  for (const [name, kind, inside, expected] of rows) {
    const { taken, version } = await told(
      `<objectSet><kind>${kind}</kind><obj type="VirtualMachine">vm-1</obj>${inside}</objectSet>`,
    )
    const [update] = taken
    t.equal(taken.length, 1, name)
    t.equal(update?.kind, expected === 'unclear' ? 'unclear' : kind, name)
    if (update !== undefined && 'values' in update && expected !== 'unclear') {
      const values = [...update.values].map(([path, value]) => [path, value?.text])
      t.same(Object.fromEntries(values), expected, name)
      t.equal(values.length, Object.keys(expected).length, name)
    }
    t.equal(version, '0_1', 'a version is sent back as it came')
  }
  const { error } = await told(
    `<objectSet><kind>enter</kind><obj type="VirtualMachine">vm-1</obj>${missing('NotAuthenticated')}</objectSet>`,
  )
  t.match(error, { reason: 'SessionLost' })
})

t.test('a view that is gone is to be made anew, and says nothing of its members', async (t) => {
  const start =
    '<missingSet><obj type="ListView">session[1]l</obj><fault><localizedMessage/></fault></missingSet>'
  const { error, taken, calls } = await told(start)
  t.ok(isRebuild(error))
  t.same(taken, [])
  const filter = calls.find(({ operation }) => operation === 'CreateFilter')
  t.notMatch(filter?.parameters, 'reportMissingObjectsInResults', 'one that is gone already is a fault')
})

t.test('a reference is read by its own attribute, wherever it stands', async (t) => {
  const XSI = 'xmlns:i="http://www.w3.org/2001/XMLSchema-instance"'
  for (const attributes of [
    'type="HostSystem" i:type="ManagedObjectReference"',
    'i:type="ManagedObjectReference" type="HostSystem"',
  ]) {
    const { taken } = await told(
      `<objectSet ${XSI}><kind>enter</kind><obj type="VirtualMachine">vm-1</obj><changeSet>` +
        `<name>config.uuid</name><op>assign</op><val ${attributes}>host-7</val></changeSet></objectSet>`,
    )
    const [update] = taken
    const value = update !== undefined && 'values' in update ? update.values.get('config.uuid') : undefined
    t.match(value, { kind: 'HostSystem', type: 'ManagedObjectReference', text: 'host-7' })
  }
})

t.test('a second page tells of what the first left out, under a version of its own', async (t) => {
  const clock = createHandClock()
  const end = new AbortController()
  const asked: string[] = []
  const entered: string[] = []
  const page = (version: string, vm: string, rest: string) =>
    `<returnval><version>${version}</version><filterSet><objectSet><kind>enter</kind>` +
    `<obj type="VirtualMachine">${vm}</obj></objectSet></filterSet>${rest}</returnval>`
  const soap = fakeSoap(({ operation, parameters = '' }) => {
    if (operation !== 'WaitForUpdatesEx') return '<returnval type="X">x</returnval>'
    const version = /<version>(.*)<\/version>/.exec(parameters)?.[1] ?? ''
    asked.push(version)
    if (version === '') return page('0_1', 'vm-1', '<truncated>true</truncated>')
    return version === '0_1' ? page('1', 'vm-2', '') : ''
  })
  const updates = await updatesOf(soap, clock).open(end.signal)
  const running = updates.run(
    ({ updates }) => {
      entered.push(...updates.map(({ object }) => object.value))
    },
    NO_MEMBERS,
    end.signal,
  )
  await clock.turn(100)
  end.abort()
  await running.catch((error: unknown) => t.equal(error, end.signal.reason))
  t.same(entered, ['vm-1', 'vm-2'])
  t.same(asked.slice(0, 3), ['', '0_1', '1'])
})

t.test('what was created before a call that failed is destroyed', async (t) => {
  for (const failing of ['CreateListView', 'CreatePropertyCollector', 'CreateFilter']) {
    const soap = fakeSoap(({ operation }) => {
      if (operation === failing) throw new VCenterError('Unavailable', 'vCenter is busy')
      return `<returnval type="X">${operation}</returnval>`
    })
    const { signal } = new AbortController()
    const clock = createHandClock()
    const updates = updatesOf(soap, clock)
    await t.rejects(updates.open(signal), new Error('vCenter is busy'), failing)
    await updates.destroy(signal)
    const created = soap.calls.filter(({ operation }) => /^Create[LP]/.test(operation))
    const destroyed = soap.calls.filter(({ operation }) => operation.startsWith('Destroy'))
    t.same(
      destroyed.map(({ target }) => target.value).toSorted(),
      created
        .map(({ operation }) => operation)
        .filter((operation) => operation !== failing)
        .toSorted(),
      failing,
    )
  }
})

/** What the answers to polls tell, each filter by the name that vCenter has given it, and what could not be watched. */
async function toldByFilters(
  answers: readonly string[],
  refuse: (operation: string, filters: number) => boolean = () => false,
) {
  const clock = createHandClock()
  const end = new AbortController()
  const told: PushedChanges[] = []
  let filters = 0
  let polls = 0
  const soap = fakeSoap(({ operation }) => {
    if (operation === 'CreateFilter') filters++
    if (refuse(operation, filters)) throw new SoapFault('NoPermission', '')
    if (operation === 'CreateFilter') return `<returnval type="PropertyFilter">filter-${filters}</returnval>`
    return operation === 'WaitForUpdatesEx' ? (answers[polls++] ?? '') : '<returnval type="X">x</returnval>'
  })
  const updates = updatesOf(soap, clock, ['config.uuid'])
  const { run } = await updates.open(end.signal)
  const running = run((each) => told.push(each), NO_MEMBERS, end.signal).catch((error: unknown) => error)
  await clock.turn(100)
  end.abort()
  return { told, error: await running, calls: soap.calls, refusals: updates.refusals }
}

const seen = (vm: string, kind: string, change: string) =>
  `<objectSet><kind>${kind}</kind><obj type="VirtualMachine">${vm}</obj>${change}</objectSet>`
const uuid = (value: string) =>
  `<changeSet><name>config.uuid</name><op>assign</op><val>${value}</val></changeSet>`
const from = (filter: string, ...updates: string[]) =>
  `<filterSet><filter type="PropertyFilter">${filter}</filter>${updates.join('')}</filterSet>`

t.test('the UUIDs of all VMs are told apart from the members by their filter', async (t) => {
  const { told, calls, refusals } = await toldByFilters([
    set(
      from('filter-1', seen('vm-1', 'enter', uuid('U-1'))) +
        from('filter-2', seen('vm-1', 'enter', uuid('U-1')), seen('vm-2', 'enter', uuid('U-1'))),
    ),
    set(
      from(
        'filter-2',
        seen('vm-1', 'leave', ''),
        seen('vm-2', 'modify', uuid('U-2')),
        seen('vm-3', 'enter', '<changeSet><name>config.uuid</name><op>indirectRemove</op></changeSet>'),
        seen('vm-4', 'enter', ''),
      ),
    ),
  ])
  t.match(told[0]?.updates, [{ kind: 'enter', object: { value: 'vm-1' } }])
  t.equal(told[0]?.updates.length, 1)
  t.same(told[0]?.sightings, [
    { vm: 'vm-1', uuid: 'u-1' },
    { vm: 'vm-2', uuid: 'u-1' },
  ])
  t.same(
    told[1],
    { updates: [], sightings: [{ vm: 'vm-2', uuid: 'u-2' }], gone: ['vm-1'] },
    'what leaves is nobody to search for',
  )
  t.same(refusals, [])
  const operations = calls.map(({ operation }) => operation)
  t.same(operations.slice(0, 6), [
    'CreateListView',
    'CreatePropertyCollector',
    'CreateFilter',
    'CreateContainerView',
    'CreateFilter',
    'WaitForUpdatesEx',
  ])
  const filters = calls.filter(({ operation }) => operation === 'CreateFilter')
  t.equal(
    new Set(filters.map(({ target }) => target.value)).size,
    1,
    'of one collector, for there is one poll',
  )
  t.notMatch(filters[1]?.parameters, 'reportMissingObjectsInResults')
})

t.test('where vCenter refuses to watch all VMs, it watches the members', async (t) => {
  const members = set(from('filter-1', seen('vm-1', 'enter', uuid('u-1'))))
  for (const refused of ['CreateContainerView', 'CreateFilter']) {
    const { told, refusals } = await toldByFilters(
      [members],
      (operation, filters) => operation === refused && (refused !== 'CreateFilter' || filters === 2),
    )
    t.match(told[0], { updates: [{ kind: 'enter' }], sightings: [] }, refused)
    t.match(refusals, [{ fault: 'NoPermission' }], refused)
  }
  const gone = new SoapFault('ManagedObjectNotFound', '', { type: 'ContainerView', value: 'x' })
  const { error } = await toldByFilters([], (_operation, filters) => {
    if (filters === 2) throw gone
    return false
  })
  t.equal(error, gone, 'a view that is gone is to be made anew')
})

for (const [what, error] of Object.entries({
  'was cut off': new VCenterError('Unreachable', 'cut off'),
  'met a fault': new SoapFault('SystemError', 'a general system error'),
}))
  t.test(`the poll after one that ${what} goes on from the version of the last answer`, async (t) => {
    const clock = createHandClock()
    const end = new AbortController()
    const calls: string[] = []
    const soap = fakeSoap(({ operation, parameters = '' }) => {
      if (operation === 'CancelWaitForUpdates') calls.push('ended')
      if (operation !== 'WaitForUpdatesEx') return '<returnval type="X">x</returnval>'
      calls.push(/<version>(.*)<\/version>/.exec(parameters)?.[1] ?? '')
      if (calls.length === 2) throw error
      return calls.length === 1 ? '<returnval><version>0_1</version></returnval>' : ''
    })
    const { doubts, open } = updatesOf(soap, clock)
    const updates = await open(end.signal)
    const running = updates.run(() => undefined, NO_MEMBERS, end.signal).catch((error: unknown) => error)
    await clock.turn(5_000)
    end.abort()
    t.equal(await running, undefined)
    t.same(calls.slice(0, 4), ['', '0_1', 'ended', '0_1'])
    t.equal(doubts.length, error instanceof SoapFault ? 1 : 0, 'what a fault may have lost is read again')
    t.equal(
      soap.calls.filter(({ operation }) => operation === 'CreateFilter').length,
      2,
      'nothing is made anew',
    )
  })

const FAULT = new SoapFault('SystemError', 'a general system error')
const CUT = new VCenterError('Unreachable', 'cut off')
/** What comes of the first polls, each a minute after the other. */
for (const [what, polls, outcome] of [
  ['one after the other', [FAULT, FAULT], 'thrown'],
  ['before and after an answer', [FAULT, '', FAULT], 'thrown'],
  ['before and after one that was cut off', [FAULT, CUT, FAULT], 'thrown'],
  ['now and then', [FAULT, '', '', FAULT, '', '', FAULT], 'repeated'],
] as const)
  t.test(`a poll that meets a fault is repeated once in three minutes: ${what}`, async (t) => {
    const clock = createHandClock()
    const end = new AbortController()
    let polled = 0
    /** Not a trial, which finds nothing. */
    const isPoll = ({ operation, parameters }: SoapCall) =>
      operation === 'WaitForUpdatesEx' && parameters?.includes('<maxWaitSeconds>0<') === false
    const answers = fakeSoap((call) => {
      const answer = isPoll(call) ? (polls[polled++] ?? '') : ''
      if (answer !== '') throw answer
      return '<returnval type="X">x</returnval>'
    })
    const soap: SoapClient = {
      ...answers,
      async call(call) {
        if (isPoll(call)) await clock.sleep(60_000, call.signal)
        return answers.call(call)
      },
    }
    const updates = await updatesOf(soap, clock).open(end.signal)
    const running = updates.run(() => undefined, NO_MEMBERS, end.signal).catch((error: unknown) => error)
    for (let passed = 0; passed < 12; passed++) await clock.turn(60_000)
    t.equal(polled, outcome === 'repeated' ? 12 : polls.length)
    end.abort()
    t.equal((await running) === FAULT, outcome === 'thrown')
  })

/** A vCenter whose polls fail while they tell of one of these VMs, which are on the list, or of all. */
async function pollsFailFor(bad: readonly string[], ofAll: boolean) {
  const clock = createHandClock()
  const end = new AbortController()
  const onList = new Set(Array.from({ length: 20 }, (_, i) => `vm-${i}`))
  /** What each collector watches. */
  const watches = new Map<string, string[]>()
  let open = 0
  let most = 0
  const answers = fakeSoap(({ operation, target, parameters = '' }) => {
    const name = `${operation}-${watches.size}`
    if (operation === 'CreatePropertyCollector') watches.set(name, [])
    if (operation === 'CreateFilter')
      watches
        .get(target.value)
        ?.push(...Array.from(parameters.matchAll(/<obj type="\w+">([^<]+)/g), ([, obj = '']) => obj))
    if (operation !== 'WaitForUpdatesEx') return `<returnval type="X">${name}</returnval>`
    const told = (watches.get(target.value) ?? []).flatMap((each) =>
      each.startsWith('CreateListView') ? [...onList] : each,
    )
    if (told.some((each) => bad.includes(each) || (ofAll && each.startsWith('CreateContainerView'))))
      throw new SoapFault('SystemError', '')
    return set('')
  })
  const soap: SoapClient = {
    ...answers,
    async call(call) {
      if (call.operation !== 'WaitForUpdatesEx') return answers.call(call)
      most = Math.max(most, ++open)
      await clock.sleep(10, call.signal)
      open--
      return answers.call(call)
    },
  }
  const updates = updatesOf(soap, clock)
  const { run } = await updates.open(end.signal)
  const members = {
    all: () => [...onList],
    exclude: async (vm: string) => void onList.delete(vm),
  }
  const beside = (async () => {
    for (let i = 0; i < 50; i++) {
      await updates.tryAllUUIDs(end.signal).catch(() => undefined)
      await clock.sleep(20, end.signal)
    }
  })()
  const running = run(() => undefined, members, end.signal).catch((error: unknown) => error)
  for (let passed = 0; passed < 60; passed++) await clock.turn(1_000)
  end.abort()
  await beside.catch(() => undefined)
  const of = (name: string) => answers.calls.filter(({ operation }) => operation === name).length
  const excluded = 20 - onList.size
  const left = of('CreatePropertyCollector') - of('DestroyPropertyCollector')
  return {
    error: await running,
    excluded,
    refusals: updates.refusals.length,
    lost: updates.doubts.length,
    most,
    left,
  }
}

t.test(
  'where each poll fails for certain VMs, or for the watch of all, it goes on without these',
  async (t) => {
    // Changes may be lost with the first poll, and with the collector.
    const goesOn = { error: undefined, lost: 2, most: 1, left: 1 }
    t.match(await pollsFailFor(['vm-7'], false), { ...goesOn, excluded: 1, refusals: 0 })
    t.match(await pollsFailFor(['vm-7', 'vm-8'], true), { ...goesOn, excluded: 2, refusals: 1 })
    t.match(await pollsFailFor([], true), { ...goesOn, excluded: 0, refusals: 1 })
    const all = Array.from({ length: 20 }, (_, i) => `vm-${i}`)
    t.match((await pollsFailFor(all, false)).error, { fault: 'SystemError' }, 'too many: it is vCenter')
  },
)
