import t from 'tap'
import { createRereads } from './rereads.ts'

t.test('each doubt is answered by a read that began after it', async (t) => {
  const rereads = createRereads()
  t.same(rereads.due().vms, [])
  t.equal(rereads.readSince('vm-1', 'a'), false)
  t.equal(rereads.readSince('vm-2', 'a'), false)
  const first = rereads.due()
  t.same(first.vms, ['vm-1', 'vm-2'])
  t.equal(rereads.readSince('vm-1', 'b'), false, 'another doubt, while it is read')
  first.done(new Set())
  t.equal(rereads.readSince('vm-1', 'b'), false, 'what was read began before')
  t.equal(rereads.readSince('vm-2', 'a'), true)
  const second = rereads.due()
  t.same(second.vms, ['vm-1'])
  second.done(new Set())
  t.equal(rereads.readSince('vm-1', 'b'), true)
  t.same(rereads.due().vms, [])
  t.equal(rereads.readSince('vm-1', 'a'), false, 'an old one, raised again')
})

t.test('a doubt about a VM that vCenter refuses to show remains', async (t) => {
  const rereads = createRereads()
  rereads.readSince('vm-1', 'a')
  rereads.due().done(new Set(['vm-1']))
  t.equal(rereads.readSince('vm-1', 'a'), false)
  t.same(rereads.due().vms, ['vm-1'])
})

t.test('what is remembered has a limit', async (t) => {
  const rereads = createRereads()
  for (let i = 0; i < 10_001; i++) rereads.readSince(`vm-${i}`, 'a')
  t.equal(rereads.due().vms.length, 10_000)
  t.notOk(rereads.due().vms.includes('vm-0'))
})
