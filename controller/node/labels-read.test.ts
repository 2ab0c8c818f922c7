import t from 'tap'
import { SETTINGS } from '../../test/fixtures/facts.ts'
import { parseLabelSelector } from '../label-selector.ts'
import { labelsRead } from './labels-read.ts'

t.test('the labels of Kubernetes, and those that the configuration names', async (t) => {
  const exempt = parseLabelSelector('example.com/role in (a, b),!example.com/agent')
  if (!exempt.ok) throw new Error(exempt.message)
  const settings = {
    labels: { zone: 'k8s-zone', region: undefined },
    identity: { ...SETTINGS.identity, exempt: exempt.value },
    initialization: { on: true, labels: { 'example.com/from-the-cpi': 'x' } },
  }
  t.same(
    [...labelsRead(settings)].sort(),
    [
      'beta.kubernetes.io/instance-type',
      'example.com/agent',
      'example.com/from-the-cpi',
      'example.com/role',
      'failure-domain.beta.kubernetes.io/region',
      'failure-domain.beta.kubernetes.io/zone',
      'node.kubernetes.io/instance-type',
      'rollcall.node-restriction.kubernetes.io/identity-level',
      'topology.csi.vmware.com/k8s-zone',
      'topology.kubernetes.io/region',
      'topology.kubernetes.io/zone',
    ].sort(),
  )
})
