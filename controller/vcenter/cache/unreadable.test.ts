import t from 'tap'
import { CLAIM_PATH } from '../properties/property-values.ts'
import { SoapFault } from '../wire/errors.ts'
import { refusalOf, unreadableFacts } from './unreadable.ts'

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
      message: `the account may not read ${path} of the VM "a/b" (vm-1) without the privilege System.Read; give it the role Read-only`,
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
