import t from 'tap'
import { VCenterError } from '../wire/errors.ts'
import { createRereads } from './rereads.ts'

t.test('each doubt is answered by a read that began after it', async (t) => {
  const rereads = createRereads()
  t.same(rereads.due().vms, [])
  t.equal(rereads.readSince('vm-1', 'a', 'n'), false)
  t.equal(rereads.readSince('vm-2', 'a', 'n'), false)
  const first = rereads.due()
  t.same(first.vms, ['vm-1', 'vm-2'])
  t.equal(rereads.readSince('vm-1', 'b', 'n'), false, 'another doubt, while it is read')
  first.done(new Map())
  t.equal(rereads.readSince('vm-1', 'b', 'n'), false, 'what was read began before')
  t.equal(rereads.readSince('vm-2', 'a', 'n'), true)
  const second = rereads.due()
  t.same(second.vms, ['vm-1'])
  second.done(new Map())
  t.equal(rereads.readSince('vm-1', 'b', 'n'), true)
  t.same(rereads.due().vms, [])
  t.equal(rereads.readSince('vm-1', 'a', 'n'), false, 'an old one, raised again')
})

t.test('a doubt of one Node does not take the place of that of another', async (t) => {
  const rereads = createRereads()
  t.equal(rereads.readSince('vm-1', 'a', 'its own'), false)
  t.equal(rereads.readSince('vm-1', 'b', 'a false one'), false)
  const { vms, done } = rereads.due()
  t.same(vms, ['vm-1'], 'it is read once')
  done(new Map())
  t.equal(rereads.readSince('vm-1', 'a', 'its own'), true)
  t.equal(rereads.readSince('vm-1', 'c', 'a false one'), false)
  t.equal(rereads.readSince('vm-1', 'a', 'its own'), true)
})

t.test('a doubt about a VM that vCenter refuses to show remains', async (t) => {
  const rereads = createRereads()
  rereads.readSince('vm-1', 'a', 'n')
  const refused = new VCenterError('NoPermission', 'may not read it')
  t.same(rereads.due().done(new Map([['vm-1', undefined]])), [])
  t.equal(rereads.readSince('vm-1', 'a', 'n'), false, 'it was not read, nobody says why')
  t.same(rereads.due().done(new Map([['vm-1', refused]])), ['vm-1'])
  t.equal(rereads.readSince('vm-1', 'a', 'n'), refused)
  t.same(rereads.due().vms, ['vm-1'])
  t.same(rereads.due().done(new Map([['vm-1', refused]])), [], 'told once')
  t.same(rereads.due().done(new Map()), ['vm-1'])
  t.equal(rereads.readSince('vm-1', 'a', 'n'), true)
})

t.test('what is remembered has a limit', async (t) => {
  const rereads = createRereads()
  for (let i = 0; i < 10_001; i++) rereads.readSince(`vm-${i}`, 'a', 'n')
  t.equal(rereads.due().vms.length, 10_000)
  t.notOk(rereads.due().vms.includes('vm-0'))
})
