/** What makes an empty answer mean something, and what a VM that is found may do next. */
import t from 'tap'
import {
  ask,
  CANARIES,
  denied,
  found,
  gone,
  granted,
  missing,
  objectIn,
  objects,
  property,
  record,
  type Script,
  unproven,
} from '../testing/probe-script.ts'

const UUID = '00000000-0000-4000-8000-000000000001'

t.test('why vCenter may start it again', async (t) => {
  const state = property('runtime.connectionState', 'connected')
  const tasks = property(
    'recentTask',
    ['task-1', 'task-2', 'task-3', 'task-4']
      .map((each) => `<ManagedObjectReference type="Task">${each}</ManagedObjectReference>`)
      .join(''),
  )
  const task = (moref: string, ...content: string[]) =>
    `<objects><obj type="Task">${moref}</obj>${content.join('')}</objects>`
  const info = (moref: string, taskState: string, description: string) =>
    task(moref, property('info.state', taskState), property('info.descriptionId', description))
  const some = objects(
    info('task-1', 'success', 'VirtualMachine.powerOff'),
    info('task-2', 'running', 'VirtualMachine.migrate'),
    info('task-3', 'queued', 'VirtualMachine.powerOn'),
    task('task-4', missing('info.state', 'NoPermission')),
  )
  for (const [what, content, said, expected] of [
    ['nothing', '', some, []],
    ['fault tolerance that is off', property('runtime.faultToleranceState', 'notConfigured'), some, []],
    ['fault tolerance that is disabled', property('runtime.faultToleranceState', 'disabled'), some, []],
    [
      'fault tolerance',
      property('runtime.faultToleranceState', 'running'),
      some,
      ['its fault tolerance is in state "running"'],
    ],
    [
      'HA',
      property('runtime.dasVmProtection', '<dasProtected>true</dasProtected>'),
      some,
      ['vSphere HA protects it'],
    ],
    ['no HA', property('runtime.dasVmProtection', '<dasProtected>false</dasProtected>'), some, []],
    [
      'tasks',
      tasks,
      some,
      ['a task "VirtualMachine.migrate" is running', 'a task "VirtualMachine.powerOn" is queued'],
    ],
    ['tasks that are gone', tasks, objects(), []],
    [
      'no list of tasks',
      missing('recentTask', 'NoPermission'),
      some,
      ['its tasks cannot be read (NoPermission)'],
    ],
    ['tasks out of reach', tasks, denied('Task', 'task-1'), ['its tasks cannot be read (NoPermission)']],
    ['HA out of sight', missing('runtime.dasVmProtection', 'NoPermission'), some, []],
  ] as const) {
    const { answers } = await ask({
      RetrievePropertiesEx: (body) =>
        objectIn(body) === 'vm-1' ? objects(record('vm-1', state, content)) : said,
    })
    t.match(answers.moref, { state: 'found', vm: { mayRestart: expected } }, what)
    if (answers.moref?.state === 'found') t.same(answers.moref.vm.mayRestart, expected, what)
  }
})

t.test('privileges are proven on each parent that still exists', async (t) => {
  let asked = 0
  const goneFirst = (...without: string[]) => ({
    HasPrivilegeOnEntities: (body: string) => {
      asked++
      const missed = without.find((each) => body.includes(`>${each}<`))
      return missed === undefined ? granted(body) : gone('Folder', missed)
    },
  })
  for (const [what, script, expected] of [
    [
      'one is lacking',
      { HasPrivilegeOnEntities: (body: string) => granted(body, 'System.Read on group-v12') },
      unproven(
        'PrivilegeMissing',
        /^the account lacks System\.Read on Folder "workers" \(group-v12\): give it the role Read-only there, with propagation$/,
      ),
    ],
    [
      'one is lacking further up',
      { HasPrivilegeOnEntities: (body: string) => granted(body, 'System.View on group-d1') },
      unproven('PrivilegeMissing', /lacks System\.View on the root folder \(group-d1\)/),
    ],
    [
      'nothing is said of one',
      { HasPrivilegeOnEntities: (body: string) => granted(body.replace('group-v12', 'group-v13')) },
      unproven('PrivilegeMissing', /lacks System\.View and System\.Read on Folder "workers"/),
    ],
    ['one is gone', goneFirst('group-v12'), { state: 'proven' }],
    ['all are gone but the root', goneFirst('group-v12', 'group-v11'), { state: 'proven' }],
    ['the root is said to be gone', goneFirst('group-d1'), unproven('UnexpectedFault')],
    [
      'something else is gone',
      { HasPrivilegeOnEntities: () => gone('Folder', 'group-v99') },
      unproven('UnexpectedFault'),
    ],
    [
      'the manager is gone',
      { HasPrivilegeOnEntities: () => gone('AuthorizationManager', 'group-v12') },
      unproven('UnexpectedFault'),
    ],
    [
      'the question is refused for one',
      {
        HasPrivilegeOnEntities: (body: string) =>
          body.includes('>group-v12<') ? denied('Folder', 'group-v12') : granted(body),
      },
      unproven('PrivilegeMissing', /on Folder "workers"/),
    ],
    [
      'the question is refused for the root',
      {
        HasPrivilegeOnEntities: (body: string) =>
          body.includes('>group-d1<') ? denied('Folder', 'group-d1') : granted(body),
      },
      unproven('PrivilegeMissing', /on the root folder/),
    ],
    [
      'it is refused for one, and the fault names the root',
      {
        HasPrivilegeOnEntities: (body: string) =>
          body.includes('>group-v12<') ? denied('Folder', 'group-d1') : granted(body),
      },
      unproven('PrivilegeMissing', /on Folder "workers" \(group-v12\)/),
    ],
    [
      'for one, and the fault names none that was asked for',
      {
        HasPrivilegeOnEntities: (body: string) =>
          body.includes('>group-v12<') ? denied('Folder', 'group-v99') : granted(body),
      },
      unproven('PrivilegeMissing', /on Folder "workers" \(group-v12\)/),
    ],
    [
      'the question is refused altogether',
      { HasPrivilegeOnEntities: () => denied('AuthorizationManager', 'AuthorizationManager') },
      unproven('NoPermission'),
    ],
  ] as const) {
    const { answers } = await ask(script)
    t.match(answers.privileges, expected, what)
  }
  t.equal(asked, 2 + 2 + 1, 'again without the one that is gone, and never without the root')
  const withoutParents = { vm: { parents: [] } }
  t.match((await ask({}, withoutParents)).answers.privileges, { state: 'proven' }, 'the root is enough')
  const rootDenied = { HasPrivilegeOnEntities: (body: string) => granted(body, 'System.Read on group-d1') }
  t.match(
    (await ask(rootDenied, withoutParents)).answers.privileges,
    unproven('PrivilegeMissing', /lacks System\.Read on the root folder/),
  )
  t.match((await ask({}, { key: undefined })).answers.privileges, unproven('MalformedAnswer'))
  const elsewhere = await ask(
    { HasPrivilegeOnEntities: (body) => granted(body, 'System.Read on group-v12') },
    { own: false },
  )
  t.match(
    elsewhere.answers.privileges,
    { state: 'proven' },
    'of another vCenter, the root alone is asked for',
  )
  const blind = await ask(rootDenied, { own: false })
  t.match(blind.answers.privileges, unproven('PrivilegeMissing', /root folder/))
  t.equal((await ask({}, { own: false })).answers.moref, undefined)
})

t.test('a canary must be found by the same search, and be readable', async (t) => {
  const searched: string[] = []
  const findingOnly = (...morefs: string[]): Script => ({
    FindAllByUuid: (body) => {
      const canary = CANARIES.find(({ biosUUID }) => body.includes(`<uuid>${biosUUID}<`))
      if (canary !== undefined) searched.push(canary.moref)
      return canary !== undefined && morefs.includes(canary.moref) ? found(canary.moref) : ''
    },
  })
  const unreadable = (...morefs: string[]): Script => ({
    RetrievePropertiesEx: (body) => {
      const moref = objectIn(body)
      if (moref === 'vm-1') return gone('VirtualMachine', moref)
      return morefs.includes(moref)
        ? denied('VirtualMachine', moref)
        : objects(record(moref, property('name', 'x')))
    },
  })
  for (const [what, script, expected] of [
    ['the third', findingOnly('vm-9'), { state: 'proven' }],
    ['a fourth is not tried', findingOnly('vm-10'), unproven('CanaryNotFound', /finds none of 3 other VM/)],
    ['another VM is found instead', { FindAllByUuid: () => found('vm-99') }, unproven('CanaryNotFound')],
    ['one is unreadable', unreadable('vm-7'), { state: 'proven' }],
    ['all are unreadable', unreadable('vm-7', 'vm-8', 'vm-9'), unproven('CanaryNotFound', /NoPermission/)],
  ] as const) {
    const { answers } = await ask(script)
    t.match(answers.canary, expected, what)
  }
  t.same(searched.slice(0, 6), ['vm-7', 'vm-8', 'vm-9', 'vm-7', 'vm-8', 'vm-9'])
})

t.test(
  'where vCenter shows no VM, there is no canary, unless one that it has shown is not gone',
  async (t) => {
    const shows = (...records: string[]): Script => ({
      CreatePropertyCollector: () => '<returnval type="PropertyCollector">pc-2</returnval>',
      DestroyPropertyCollector: () => '',
      RetrievePropertiesEx: (body) => {
        const moref = objectIn(body)
        if (moref === 'group-d1') return objects(...records)
        if (moref === 'vm-5') return denied('VirtualMachine', moref)
        if (moref === 'vm-6') return objects(record(moref, property('name', 'x')))
        return gone('VirtualMachine', moref)
      },
    })
    const vm = (moref: string, state = 'connected') =>
      record(
        moref,
        property('config.uuid', '00000000-0000-4000-8000-000000000009'),
        property('runtime.connectionState', state),
      )
    const hidden = (moref: string) => unproven('CanaryNotFound', new RegExp(`though ${moref}, which it`))
    for (const [what, script, seen, expected] of [
      ['none', shows(), [], { state: 'none' }],
      ['one that was seen is gone', shows(), ['vm-4'], { state: 'none' }],
      ['this one was seen', shows(), ['vm-1'], { state: 'none' }],
      ['one that was seen may not be read', shows(), ['vm-5', 'vm-4'], hidden('vm-5')],
      ['one that was seen is there', shows(), ['vm-4', 'vm-6'], hidden('vm-6')],
      ['one that is away', shows(vm('vm-3', 'disconnected')), [], unproven('CanaryNotFound', /connected/)],
      ['one of which nothing may be read', shows(record('vm-3')), [], unproven('CanaryNotFound')],
      [
        'one that no search finds',
        shows(vm('vm-3')),
        [],
        unproven('CanaryNotFound', /finds none of 1 other/),
      ],
      [
        'this one, under another reference, and no search finds it',
        shows(
          record('vm-2', property('config.uuid', UUID), property('runtime.connectionState', 'connected')),
        ),
        [],
        unproven('CanaryNotFound', /finds none of 1 other/),
      ],
    ] as const) {
      const { answers } = await ask(script, { known: [], seen, vm: { biosUUID: UUID } })
      t.match(answers.canary, expected, what)
    }
  },
)
