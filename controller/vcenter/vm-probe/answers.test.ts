/** What each answer of vCenter means: answers that no simulator gives too. */
import t from 'tap'
import { fault, operationOf, soap } from '../testing/fake-connection.ts'
import {
  type Asked,
  answer,
  ask,
  BOUND,
  byMoref,
  denied,
  found,
  gone,
  missing,
  objectIn,
  objects,
  property,
  record,
  unknown,
  unproven,
} from '../testing/probe-script.ts'
import { DeadlineError } from '../wire/errors.ts'

t.test('a proof that is complete', async (t) => {
  const { answers, connection } = await ask({})
  t.same(answers, {
    moref: { state: 'not-found' },
    instanceUUID: { state: 'not-found' },
    biosUUID: { state: 'not-found' },
    privileges: { state: 'proven' },
    canary: { state: 'proven' },
  })
  t.same(connection.requests.map(operationOf), [
    'RetrievePropertiesEx',
    'FindAllByUuid',
    'FindAllByUuid',
    'HasPrivilegeOnEntities',
    'FindAllByUuid',
    'RetrievePropertiesEx',
  ])
  const [read, first, second, privileges] = connection.requests.map((request) => request.body ?? '')
  t.notMatch(read, 'reportMissingObjectsInResults', 'a missing object is to fail the call')
  t.match(first, '<uuid>instance-1</uuid><vmSearch>true</vmSearch><instanceUuid>true</instanceUuid>')
  t.match(second, '<uuid>bios-1</uuid><vmSearch>true</vmSearch><instanceUuid>false</instanceUuid>')
  t.notMatch(first, 'datacenter')
  t.match(
    privileges,
    '<entity type="Folder">group-v12</entity><entity type="Folder">group-d1</entity>' +
      '<sessionId>session-key</sessionId><privId>System.View</privId><privId>System.Read</privId>',
  )
})

t.test('what a read by reference says, and what it does not', async (t) => {
  const here = { state: 'found', vm: { moref: 'vm-1' } }
  for (const [what, said, expected] of [
    ['this VM is gone', gone('VirtualMachine', 'vm-1'), { state: 'not-found' }],
    ['another VM is gone', gone('VirtualMachine', 'vm-11'), unknown('UnexpectedFault')],
    ['another object of that name is gone', gone('Folder', 'vm-1'), unknown('UnexpectedFault')],
    ['the collector is gone', gone('PropertyCollector', 'PropertyCollector'), unknown('UnexpectedFault')],
    ['something is gone', fault('ManagedObjectNotFound'), unknown('UnexpectedFault')],
    ['it may not be read', denied('VirtualMachine', 'vm-1'), unknown('NoPermission')],
    [
      'a property is not known',
      fault('InvalidProperty', '<name>recentTask</name>'),
      unknown('UnexpectedFault'),
    ],
    ['an empty answer', '', unknown('MalformedAnswer')],
    ['no object', objects(), unknown('MalformedAnswer')],
    ['another object', objects(record('vm-11', property('name', 'x'))), unknown('MalformedAnswer')],
    ['an object without properties', objects(record('vm-1')), unknown('MalformedAnswer')],
    [
      'no property may be read',
      objects(
        record('vm-1', missing('name', 'NoPermission'), missing('runtime.connectionState', 'NoPermission')),
      ),
      unknown('NoPermission'),
    ],
    [
      'all properties are said to be gone',
      objects(record('vm-1', missing('name', 'ManagedObjectNotFound'))),
      unknown('UnexpectedFault'),
    ],
    [
      'some may be read',
      objects(record('vm-1', property('name', 'w'), missing('config.uuid', 'NoPermission'))),
      here,
    ],
    [
      'its state may not be read',
      objects(record('vm-1', property('name', 'w'), missing('runtime.connectionState', 'NoPermission'))),
      unknown('NoPermission', /runtime\.connectionState of the VM "w" \(vm-1\)/),
    ],
    ['the state alone', objects(record('vm-1', property('runtime.connectionState', 'orphaned'))), here],
    ['an answer to something else', answer('FindAllByUuid', ''), unknown('MalformedAnswer')],
    ['a server error', { status: 503, body: '' }, unknown('Unavailable')],
    ['a page', { contentType: 'text/html', body: '<html/>' }, unknown('NotVCenter')],
    [
      'half a document',
      { body: soap('<RetrievePropertiesExResponse/>').slice(0, -30) },
      unknown('MalformedAnswer'),
    ],
  ] as const) {
    const { answers } = await ask(byMoref(said))
    t.match(answers.moref, expected, what)
  }
})

t.test('what a search says, and what it does not', async (t) => {
  for (const [what, said, expected] of [
    ['none', '', { state: 'not-found' }],
    [
      'some object that is no VM',
      '<returnval type="HostSystem">host-1</returnval>',
      unknown('MalformedAnswer'),
    ],
    ['something without a name', '<returnval/>', unknown('MalformedAnswer')],
    ['an answer to something else', answer('CurrentTime', ''), unknown('MalformedAnswer')],
    ['it may not be used', denied('Folder', 'group-d1'), unknown('NoPermission')],
    ['one', found('vm-20'), { state: 'found', vm: { moref: 'vm-20', name: 'other' } }],
    ['several', found('vm-20', 'vm-21'), { state: 'found', vm: { moref: 'vm-20' } }],
  ] as const) {
    for (const kind of ['instanceUUID', 'biosUUID'] as const) {
      const { answers } = await ask({
        FindAllByUuid: (body) => (body.includes(`<uuid>${BOUND[kind]}<`) ? said : ''),
      })
      t.match(answers[kind], expected, `${kind}: ${what}`)
    }
  }
})

t.test('the bound VM is preferred to its copies; what is found is read once', async (t) => {
  const { answers, connection } = await ask({
    ...byMoref(objects(record('vm-1', property('name', 'worker')))),
    FindAllByUuid: (body) => (body.includes('<uuid>bios-1<') ? found('vm-30', 'vm-1') : found('vm-31')),
  })
  t.match(answers.biosUUID, { state: 'found', vm: { moref: 'vm-1', name: 'worker' } })
  t.match(answers.instanceUUID, { state: 'found', vm: { moref: 'vm-31' } })
  const reads = connection.requests.map((request) => objectIn(request.body ?? ''))
  t.equal(reads.filter((each) => each === 'vm-1').length, 1)
})

t.test('what is found is found, however little may be read of it', async (t) => {
  for (const [said, reason] of [
    [denied('VirtualMachine', 'vm-20'), 'NoPermission'],
    [gone('VirtualMachine', 'vm-20'), 'UnexpectedFault'],
    [{ status: 503, body: '' }, 'Unavailable'],
    [objects(record('vm-20')), 'MalformedAnswer'],
  ] as const) {
    const { answers } = await ask({
      RetrievePropertiesEx: (body) => (objectIn(body) === 'vm-20' ? said : gone('VirtualMachine', 'vm-1')),
      FindAllByUuid: (body) => (body.includes('<uuid>instance-1<') ? found('vm-20') : ''),
    })
    t.same(answers.instanceUUID, {
      state: 'found',
      vm: {
        moref: 'vm-20',
        name: 'vm-20',
        biosUUID: undefined,
        connectionState: 'invalid',
        powerState: 'poweredOn',
        mayRestart: [`it cannot be read (${reason})`],
      },
    })
  }
})

t.test('a binding without an instance UUID is judged by its BIOS UUID', async (t) => {
  const searches = ({ connection }: Asked) =>
    connection.requests.filter((request) => request.body?.includes('<instanceUuid>true<')).length
  const absent = await ask({}, { vm: { instanceUUID: '' } })
  t.same(absent.answers.instanceUUID, { state: 'not-found' })
  t.equal(searches(absent), 0)
  const copy = await ask({ FindAllByUuid: () => found('vm-20') }, { vm: { instanceUUID: '' } })
  t.match(copy.answers.instanceUUID, { state: 'found', vm: { moref: 'vm-20' } })
  const none = await ask({}, { vm: { instanceUUID: '', biosUUID: '' } })
  t.match(none.answers, { instanceUUID: unknown('UUIDUnknown'), biosUUID: unknown('UUIDUnknown') })
})

t.test('after a call without an answer, nothing more is asked', async (t) => {
  const late = () => {
    throw new DeadlineError('vc.test:443 took the request and did not finish', false)
  }
  for (const [operation, calls] of [
    ['RetrievePropertiesEx', 1],
    ['FindAllByUuid', 2],
    ['HasPrivilegeOnEntities', 4],
  ] as const) {
    const { answers, connection, losses } = await ask({ [operation]: late })
    t.equal(connection.requests.length, calls, operation)
    t.match(answers.canary, unproven('TimedOut'))
    t.equal(losses.length, 0)
  }
})

t.test('a session that is lost is told once, and ends the questions', async (t) => {
  const lost = fault('NotAuthenticated', '<object type="Folder">group-d1</object>')
  const inMissing = objects(record('vm-1', missing('name', 'NotAuthenticated')))
  for (const said of [lost, inMissing]) {
    const { answers, connection, losses } = await ask(byMoref(said))
    t.match(answers, {
      moref: unknown('SessionLost'),
      instanceUUID: unknown('SessionLost'),
      biosUUID: unknown('SessionLost'),
      privileges: unproven('SessionLost'),
      canary: unproven('SessionLost'),
    })
    t.equal(connection.requests.length, 1)
    t.equal(losses.length, 1)
  }
})
