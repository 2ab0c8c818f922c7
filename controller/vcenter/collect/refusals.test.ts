import t from 'tap'
import { CLAIM_PATH } from '../properties/property-values.ts'
import { SoapFault, VCenterError } from '../wire/errors.ts'
import { callWithoutRefused, refusalOf, unreadableFacts } from './refusals.ts'

const root = { type: 'Folder', value: 'group-d1' }
const toVM = (value: string) => ({ type: 'VirtualMachine', value })
const names = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `vm-${from + i}`)

interface Scene {
  readonly groups: readonly (readonly string[])[]
  readonly refused: readonly string[]
  /** What the fault names: the refused VM, another object, or nothing. */
  readonly named?: 'itself' | 'root' | 'nothing'
}

async function attempt({ groups, refused, named = 'root' }: Scene) {
  const calls: number[] = []
  const done: string[] = []
  const found: string[] = []
  const left = await callWithoutRefused({
    groups,
    objectOf: toVM,
    async call(vms) {
      calls.push(vms.length)
      const culprit = vms.find((vm) => refused.includes(vm))
      if (culprit !== undefined) {
        const object = { itself: toVM(culprit), root, nothing: undefined }[named]
        throw new SoapFault('NoPermission', '', object)
      }
      done.push(...vms)
    },
    onRefused: (vm) => void found.push(vm),
  })
  return { calls, done, found, left }
}

t.test('one refused object of a thousand costs few calls, whatever the fault names', async (t) => {
  for (const [named, most] of [
    ['itself', 2],
    ['root', 22],
    ['nothing', 22],
  ] as const) {
    const vms = names(0, 1_000)
    const { calls, done, found, left } = await attempt({ groups: [vms], refused: ['vm-700'], named })
    t.same(found, ['vm-700'], named)
    t.equal(done.length, 999)
    t.same(left, [])
    t.ok(calls.length <= most, `${calls.length} calls`)
  }
})

t.test('an object is refused by the second answer, unless the first will come again', async (t) => {
  const refusedIn = async (group: readonly string[], ...faults: readonly string[]) => {
    const answers = [...faults]
    const found: string[] = []
    let calls = 0
    await callWithoutRefused({
      groups: [group],
      objectOf: toVM,
      async call() {
        calls++
        const next = answers.shift()
        if (next !== undefined) throw new SoapFault(next, '', toVM('vm-1'))
      },
      onRefused: (_, { fault }) => void found.push(fault),
    })
    return { calls, found }
  }
  const refusedBy = (...faults: readonly string[]) => refusedIn(['vm-1'], ...faults)
  t.same(await refusedBy('SystemError'), { calls: 2, found: [] })
  t.same(await refusedBy('SystemError', 'HostConnectFault'), { calls: 2, found: ['HostConnectFault'] })
  t.same(await refusedBy('NoPermission'), { calls: 1, found: ['NoPermission'] })
  t.same(await refusedBy('ManagedObjectNotFound'), { calls: 1, found: ['ManagedObjectNotFound'] })
  const ofTwo = (...faults: readonly string[]) => refusedIn(['vm-1', 'vm-2'], ...faults)
  t.same(await ofTwo('SystemError'), { calls: 3, found: [] }, 'named among others, it is asked for by itself')
  t.same(await ofTwo('NoPermission'), { calls: 2, found: ['NoPermission'] })
})

t.test('however many fail in a way that may pass, each round of calls finds some', async (t) => {
  const found = new Set<string>()
  let vms: readonly string[] = names(0, 100)
  const bad = new Set(names(0, 60))
  const done: string[] = []
  for (let rounds = 0; rounds < 5; rounds++)
    vms = await callWithoutRefused({
      groups: [vms],
      objectOf: toVM,
      async call(some) {
        const culprit = some.find((vm) => bad.has(vm))
        if (culprit !== undefined) throw new SoapFault('SystemError', '', toVM(culprit))
        done.push(...some)
      },
      onRefused: (vm) => void found.add(vm),
    })
  t.same([...found].toSorted(), [...bad].toSorted())
  t.same([vms, done.length], [[], 40])
})

t.test('all of twenty can be refused', async (t) => {
  const vms = names(0, 20)
  const { calls, done, found, left } = await attempt({ groups: [vms], refused: vms })
  t.same(found, vms)
  t.same([...done, ...left], [])
  t.equal(calls.length, 39)
})

t.test(
  'groups are called for side by side, no more than asked; a failure is thrown when none is under way',
  async (t) => {
    for (const [concurrency, failing, begun] of [
      [1, 'none', 4],
      [2, 'none', 4],
      [2, 'vm-1', 3],
      [2, 'vm-3', 4],
    ] as const) {
      let now = 0
      let most = 0
      let calls = 0
      const done = callWithoutRefused({
        groups: [['vm-0'], ['vm-1'], ['vm-2'], ['vm-3']],
        concurrency,
        objectOf: toVM,
        async call([vm]) {
          calls++
          most = Math.max(most, ++now)
          await new Promise((resolve) => setImmediate(resolve))
          now--
          if (vm === failing) throw new VCenterError('Unreachable', 'gone')
        },
        onRefused: () => t.fail('nothing is refused'),
      })
      if (failing === 'none') t.same(await done, [])
      else await t.rejects(done, { message: 'gone' })
      t.equal(now, 0)
      t.equal(most, concurrency)
      t.equal(calls, begun, `${concurrency} at once, ${failing} fails`)
    }
  },
)

t.test('what takes too many calls is left, the first first', async (t) => {
  const vms = names(0, 1_000)
  for (const named of ['itself', 'root'] as const) {
    const { calls, done, found, left } = await attempt({ groups: [vms], refused: vms, named })
    t.equal(calls.length, 40)
    t.ok(found.length > 10, `${found.length} found`)
    t.same([...found, ...left], vms)
    t.same(done, [])
  }
})

t.test('each group is called once, however many of the first are refused', async (t) => {
  const groups = [names(0, 100), names(100, 200), [], names(200, 300)]
  const { calls, done, found, left } = await attempt({ groups, refused: names(0, 100) })
  t.same(done, names(100, 300))
  t.same([...found, ...left].sort(), names(0, 100).sort())
  t.equal(calls.length, 42)
})

t.test('what is not about an object of the call is thrown', async (t) => {
  const errors = [
    new SoapFault('ManagedObjectNotFound', '', { type: 'PropertyCollector', value: 'pc' }),
    new SoapFault('NotAuthenticated', '', toVM('vm-1')),
    new VCenterError('TimedOut', 'late'),
  ]
  for (const error of errors) {
    let calls = 0
    const call = () => {
      calls++
      return Promise.reject(error)
    }
    const onRefused = () => t.fail('nothing is refused')
    await t.rejects(callWithoutRefused({ groups: [names(0, 4)], objectOf: toVM, call, onRefused }), error)
    t.equal(calls, 1)
  }
  const call = () => Promise.reject(new SoapFault('InvalidProperty', ''))
  const isOfAll = (error: unknown) => error instanceof SoapFault
  const onRefused = () => t.fail('nothing is refused')
  const asked = callWithoutRefused({ groups: [names(0, 4)], objectOf: toVM, call, onRefused, isOfAll })
  await t.rejects(asked, /InvalidProperty/, 'what the caller says is about all')
  const none = await attempt({ groups: [], refused: [] })
  t.equal(none.calls.length, 0)
})

const object = { type: 'VirtualMachine', value: 'vm-1' }
const name = { name: 'val', type: undefined, kind: undefined, text: 'a%2fb', children: [] }

function refusal(path: string, fault: SoapFault, named = true) {
  const properties = new Map(named ? [['name', name]] : [])
  return refusalOf(
    { reference: object, properties, missing: new Map([[path, fault]]), excess: undefined },
    undefined,
  )
}

t.test('a VM without something essential is refused in words that name it and the privilege', (t) => {
  const denied = new SoapFault('NoPermission', '', object, 'System.Read')
  for (const path of [
    'config.uuid',
    'runtime.connectionState',
    'runtime.powerState',
    'config.hardware.device',
  ]) {
    t.match(refusal(path, denied), {
      reason: 'NoPermission',
      message: `the account is not allowed to read ${path} of the VM "a/b" (vm-1) without the privilege System.Read; give it the role Read-only`,
    })
  }
  t.match(refusal('config.uuid', new SoapFault('NoPermission', '', object), false), {
    message: /of the VM vm-1; give/,
  })
  t.match(refusal('config.uuid', new SoapFault('SystemError', 'a general system error')), {
    reason: 'UnexpectedFault',
    message: /^config\.uuid of the VM "a\/b" \(vm-1\) cannot be read: .*SystemError: a general system error/,
  })
  const gone = new SoapFault('ManagedObjectNotFound', '', object)
  t.equal(refusal('config.uuid', gone), gone)
  t.end()
})

t.test('others are left out of it', (t) => {
  const denied = new SoapFault('NoPermission', '', object)
  for (const path of ['name', 'guest.net', CLAIM_PATH, 'runtime.host', 'config.instanceUuid']) {
    t.equal(refusal(path, denied), undefined)
  }
  t.same(unreadableFacts(['guest.net', CLAIM_PATH, 'name']), ['guestNICs', 'claim'])
  t.end()
})
