import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { SETTINGS } from '../../../../test/fixtures/facts.ts'
import { parseLabelSelector } from '../../../config/label-selector.ts'
import * as wellKnown from '../../../types/well-known.ts'
import { labelsRead } from './labels-read.ts'

t.test('the labels of Kubernetes, and those that the configuration names', async (t) => {
  const exempt = parseLabelSelector('example.com/role in (a, b),!example.com/agent')
  if (!exempt.ok) throw new Error(exempt.message)
  const settings = {
    labels: { zone: 'k8s-zone', region: undefined },
    identity: { ...SETTINGS.identity, exempt: exempt.value },
    initialization: { on: true, labels: { 'example.com/from-the-cpi': 'x' } },
    labelRules: [
      { label: 'example.com/rack', from: { kind: 'host' }, map: new Map(), when: 'live' },
    ] as const,
  }
  t.same(
    [...labelsRead(settings)].sort(),
    [
      'beta.kubernetes.io/instance-type',
      'example.com/agent',
      'example.com/from-the-cpi',
      'example.com/rack',
      'example.com/role',
      'failure-domain.beta.kubernetes.io/region',
      'failure-domain.beta.kubernetes.io/zone',
      'kubernetes.io/os',
      'node-role.kubernetes.io/control-plane',
      'node.kubernetes.io/instance-type',
      'rollcall.node-restriction.kubernetes.io/identity-level',
      'topology.csi.vmware.com/k8s-zone',
      'topology.kubernetes.io/region',
      'topology.kubernetes.io/zone',
    ].sort(),
  )
})

t.test('every label that a decision names is among them', async (t) => {
  const decide = join(import.meta.dirname, '../decide')
  const sources = globSync('**/*.ts', { cwd: decide }).filter((file) => !file.endsWith('.test.ts'))
  const text = sources.map((file) => readFileSync(join(decide, file), 'utf8')).join('\n')
  const read = labelsRead(SETTINGS)
  const named = Object.entries(wellKnown).filter(([name]) => /^LABEL_/.test(name) && text.includes(name))
  t.not(named.length, 0)
  for (const [name, label] of named) t.ok(typeof label === 'string' && read.has(label), name)
})
