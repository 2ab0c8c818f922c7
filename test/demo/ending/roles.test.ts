import t from 'tap'
import type { ExpectedNode } from '../scene.ts'
import { castRoles } from './roles.ts'

const node = (name: string, zone: string): ExpectedNode => ({
  name,
  zone,
  vm: {
    ref: `vm-${name}`,
    name,
    uuid: '420e3f74-ea84-f9a2-7736-6106bb5dbf6b',
    instanceUuid: '500e3f74-ea84-f9a2-7736-6106bb5dbf6b',
    vnics: [],
    host: `host-in-${zone}`,
    cluster: zone,
    datacenter: 'DC0',
    powerState: 'poweredOn',
  },
  address: '10.20.0.11',
  region: 'region-1',
  instanceType: 'type',
  agent: 'kubelet',
})

t.test('four parts, the first Node in none of them, and a move to the other zone', (t) => {
  const roles = castRoles([node('1', 'a'), node('2', 'b'), node('3', 'a'), node('4', 'b')])
  t.match(roles, { destroyed: { name: '4' }, poweredOff: { name: '3' }, moved: { name: '2' } })
  t.same(roles.moveTo, { host: 'host-in-a', zone: 'a' })
  t.end()
})

t.test('too few Nodes, or too few zones', (t) => {
  t.throws(() => castRoles([node('1', 'a'), node('2', 'b'), node('3', 'a')]), /4 Nodes in two zones, not 3/)
  const all = ['1', '2', '3', '4'].map((name) => node(name, 'a'))
  t.throws(() => castRoles(all), /two zones/)
  t.end()
})
