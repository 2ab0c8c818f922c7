import t from 'tap'
import type { NoCredential } from '../config/config.ts'
import { withoutCredential } from './without-credential.ts'

const vm = {
  vCenter: 'lab',
  vCenterInstanceUUID: 'i',
  moref: 'vm-1',
  name: 'a',
  instanceUUID: 'x',
  biosUUID: 'y',
}

t.test('it knows nothing, and proves nothing', async (t) => {
  const failed: NoCredential = { state: 'failed', message: 'no login at vc' }
  for (const [missing, lookup, reason] of [
    [{ state: 'pending' }, { state: 'pending' }, 'NotConnected'],
    [failed, { state: 'unknown', failure: { vCenter: 'lab', reason: 'NoCredential' } }, 'NoCredential'],
  ] as const) {
    const inventory = withoutCredential({ name: 'lab' }, missing)
    inventory.follow('y')
    t.match(inventory.lookup('y'), lookup)
    t.equal(inventory.failure()?.reason, missing.state === 'failed' ? reason : undefined)
    t.equal(inventory.connected(), false)
    const unknown = { state: 'unknown', failure: { reason } }
    const unproven = { state: 'unproven', failure: { reason } }
    t.match(await inventory.probe(vm, new AbortController().signal), {
      vCenterInstanceUUID: undefined,
      moref: unknown,
      instanceUUID: unknown,
      biosUUID: unknown,
      privileges: unproven,
      canary: unproven,
    })
    const end = new AbortController()
    const running = inventory.run(end.signal)
    end.abort()
    await running
  }
})
