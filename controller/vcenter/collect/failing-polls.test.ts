import t from 'tap'
import { SoapFault } from '../wire/errors.ts'
import { vmReference } from '../wire/managed-object-reference.ts'
import { findCulprits } from './failing-polls.ts'

const VMS = Array.from({ length: 1_500 }, (_, i) => `vm-${i}`)

/** A vCenter whose polls fail that tell of one of these, and how often it was polled. */
function polling(bad: ReadonlySet<string>, options: { all?: SoapFault; nothing?: SoapFault } = {}) {
  const calls = { members: 0 }
  const failing = async (fault: SoapFault | undefined) => {
    if (fault !== undefined) throw fault
  }
  return {
    calls,
    nothing: () => failing(options.nothing),
    async members(vms: readonly string[]) {
      calls.members++
      if (vms.some((vm) => bad.has(vm))) throw new SoapFault('SystemError', '')
    },
    allUUIDs: (): Promise<void> => failing(options.all),
  }
}

t.test('single VMs are found among many', async (t) => {
  const polls = polling(new Set(['vm-7', 'vm-1200']))
  const culprits = await findCulprits(VMS, polls)
  t.same([...(culprits?.vms.keys() ?? [])].sort(), ['vm-1200', 'vm-7'])
  t.equal(culprits?.allUUIDs, undefined)
  t.ok(polls.calls.members < 50, `${polls.calls.members} polls`)
})

t.test('of many that are bad some are found, and the rest the next time', async (t) => {
  const bad = new Set(VMS.filter((_, i) => i % 300 === 0))
  const found = new Set<string>()
  for (let round = 0; found.size < bad.size && round < bad.size; round++) {
    const culprits = await findCulprits(
      VMS.filter((vm) => !found.has(vm)),
      polling(bad),
    )
    for (const vm of culprits?.vms.keys() ?? []) found.add(vm)
  }
  t.same(found, bad)
})

t.test('the watch of all UUIDs may be why', async (t) => {
  const fault = new SoapFault('SystemError', 'a VM of somebody else')
  t.same(await findCulprits(VMS, polling(new Set(), { all: fault })), { vms: new Map(), allUUIDs: fault })
})

t.test('what is not watched is not why', async (t) => {
  t.equal(await findCulprits(VMS, { ...polling(new Set()), allUUIDs: undefined }), undefined)
})

t.test('a VM that is gone is not why', async (t) => {
  const gone = new SoapFault('ManagedObjectNotFound', '', vmReference('vm-7'))
  const polls = {
    ...polling(new Set()),
    async members(vms: readonly string[]) {
      if (vms.includes('vm-7')) throw gone
    },
  }
  t.equal(await findCulprits(VMS, polls), undefined)
})

t.test('vCenter itself may be why', async (t) => {
  const fault = new SoapFault('SystemError', '')
  const polls = polling(new Set(VMS), { all: fault, nothing: fault })
  t.equal(await findCulprits(VMS, polls), undefined)
  t.equal(polls.calls.members, 0, 'no VM is suspected')
  t.equal(await findCulprits(VMS, polling(new Set())), undefined, 'or it is over')
})
