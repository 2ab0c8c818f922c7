import t from 'tap'
import { file, load, refusal } from './testing/load.ts'

const PREFIX = 'rollcall.node-restriction.kubernetes.io'
const rules = (...lines: string[]) => file('', `labelRules:\n${lines.map((line) => `  ${line}`).join('\n')}`)
const rule = (settings: string) => rules(`- {${settings}}`)

t.test('rules are data: a label, what it is made from, names for values', async (t) => {
  const { config, warnings } = await load(
    rules(
      `- label: ${PREFIX}/rack`,
      '  from: {tagCategory: rack}',
      '  map: {北京-1: bj1, "rack 1": rack-1}',
      `- label: ${PREFIX}/owner`,
      '  from: {attribute: Owner}',
      '  when: initialize',
      ...['host', 'cluster', 'resource_pool', 'folder', 'datacenter'].flatMap((place) => [
        `- {label: ${PREFIX}/${place}, from: {${place}: name}}`,
      ]),
    ),
  )
  t.same(config.labelRules, [
    {
      label: `${PREFIX}/rack`,
      from: { kind: 'tagCategory', name: 'rack' },
      map: new Map([
        ['北京-1', 'bj1'],
        ['rack 1', 'rack-1'],
      ]),
      when: 'live',
    },
    {
      label: `${PREFIX}/owner`,
      from: { kind: 'attribute', name: 'Owner' },
      map: new Map(),
      when: 'initialize',
    },
    ...['host', 'cluster', 'resourcePool', 'folder', 'datacenter'].map((kind) => ({
      label: `${PREFIX}/${kind === 'resourcePool' ? 'resource_pool' : kind}`,
      from: { kind },
      map: new Map(),
      when: 'live',
    })),
  ])
  t.same(warnings, [])
  for (const empty of [file(), file('', 'labelRules:'), file('', 'labelRules: []')])
    t.same((await load(empty)).config.labelRules, [])
})

t.test('a space that nobody sees draws a warning, as in other names', async (t) => {
  const { config, warnings } = await load(
    rule(`label: ${PREFIX}/rack, from: {tagCategory: "rack "}, map: {"a\u00a01": a1, "b ": b1}`),
  )
  t.equal(config.labelRules[0]?.map.get('b '), 'b1')
  t.match(warnings, [
    /labelRules\[0\]\.from\.tagCategory: begins or ends with a space, which is a part of it: remove it/,
    /labelRules\[0\]\.map: contains a no-break space \(U\+00A0\)/,
    /labelRules\[0\]\.map: begins or ends with a space/,
  ])
})

t.test('a label that a kubelet can write draws a warning with one that it cannot', async (t) => {
  const { warnings } = await load(rule('label: example.com/rack, from: {tagCategory: rack}'))
  t.match(warnings, [
    /vsphere.conf:8:13: labelRules\[0\].label: can be written by a kubelet .*"rollcall.node-restriction.kubernetes.io\/rack" has neither limit/,
  ])
  t.match((await load(rule('label: rack, from: {host: name}'))).warnings, [/can be written by a kubelet/])
})

t.test('what is refused, with its place and the next step', async (t) => {
  const label = `label: ${PREFIX}/a`
  const host = 'from: {host: name}'
  const cases: readonly [string, RegExp][] = [
    [file('', 'labelRules: rack'), /:7:13: labelRules: expected a list of rules, got text of 4 characters/],
    [
      '[LabelRules]\nlabel = a\n',
      /labelRules: expected a list of rules, got a map of 1 key; INI has no lists/,
    ],
    [
      rules('- a'),
      /:8:5: labelRules\[0\]: expected label, from, map, when below it, got text of 1 character/,
    ],
    [rule(host), /labelRules\[0\].label: is missing: write the key of a Node label/],
    [rule(`label: [a], ${host}`), /labelRules\[0\].label: expected text, got a list of 1 item/],
    [rule(label), /labelRules\[0\].from: is missing: write one of tagCategory, attribute, host/],
    [
      rule(`${label}, from: {}`),
      /labelRules\[0\].from: expected one of tagCategory, .*, got a map of 0 keys/,
    ],
    [rule(`${label}, from: {host: name, folder: name}`), /labelRules\[0\].from: expected one of .* 2 keys/],
    [
      rule(`${label}, from: {tagcategry: x}`),
      /labelRules\[0\].from.tagcategry: unknown key: did you mean "tagCategory"/,
    ],
    [
      rule(`${label}, from: {tagCategory: ''}`),
      /from.tagCategory: is missing: write the name of a tag category/,
    ],
    [
      rule(`${label}, from: {attribute: [a]}`),
      /from.attribute: expected text, got a list of 1 item: .*custom attribute/,
    ],
    [rule(`${label}, from: {host: path}`), /from.host: expected "name", got text of 4 characters/],
    [
      rule(`${label}, ${host}, when: always`),
      /labelRules\[0\].when: expected live or initialize, got text of 6/,
    ],
    [
      rule(`${label}, ${host}, map: a`),
      /labelRules\[0\].map: expected names in vCenter, and a label value for each/,
    ],
    [
      rule(`${label}, ${host}, map: {a: 'b c'}`),
      /labelRules\[0\].map: expected a label value .* got text of 3/,
    ],
    [rule(`${label}, ${host}, map: {a: ''}`), /labelRules\[0\].map: expected a label value .* got nothing/],
    [rule(`${label}, ${host}, map: {a: b, a: c}`), /labelRules\[0\].map: names one value twice/],
    [rule(`${label}, ${host}, lable: x`), /labelRules\[0\].lable: unknown key: did you mean "label"/],
    [rule(`${label}, ${host}, from: {folder: name}`), /labelRules\[0\].from: is given twice/],
    [
      rules(`- {${label}, ${host}}`, `- {${label}, from: {folder: name}}`),
      /:9:13: labelRules\[1\].label: has a rule already/,
    ],
    ...[
      ['a b', /expected the key of a label/],
      ['/a', /expected the key of a label/],
      ['Example.com/a', /expected the key of a label/],
      [`a${'b'.repeat(63)}`, /expected the key of a label/],
      ['topology.kubernetes.io/zone', /zone, region or instance type: set "zone"/],
      ['failure-domain.beta.kubernetes.io/region', /zone, region or instance type/],
      ['node.kubernetes.io/instance-type', /zone, region or instance type/],
      ['beta.kubernetes.io/instance-type', /zone, region or instance type/],
      ['node.kubernetes.io/exclude-from-external-load-balancers', /takes a Node out of load balancers/],
      [
        'node-role.kubernetes.io/worker',
        /is a role of the Node: write "rollcall.node-restriction.kubernetes.io\/worker"/,
      ],
      ['kubernetes.io/hostname', /in a namespace of Kubernetes/],
      ['a.kubernetes.io/b', /in a namespace of Kubernetes/],
      ['k8s.io/a', /in a namespace of Kubernetes/],
      ['example.com.node-restriction.kubernetes.io/a', /belongs to somebody else under node-restriction/],
      ['node-restriction.kubernetes.io/a', /belongs to somebody else/],
      [`${PREFIX}/identity-level`, /is the label by which Rollcall shows/],
      [`${PREFIX}/controller`, /by which people say where the controller runs/],
      ['topology.csi.vmware.com/k8s-zone', /is a label of the vSphere CSI driver/],
    ].map(([key, why]): [string, RegExp] => [rule(`label: ${String(key)}, ${host}`), new RegExp(why ?? '')]),
  ]
  for (const [text, line] of cases) {
    const lines = await refusal(text)
    t.ok(
      lines.some((each) => line.test(each)),
      `${line} in ${lines.join('; ')}`,
    )
  }
})

t.test('no rule may write what another setting rests on', async (t) => {
  const exempting = `${rule(`label: ${PREFIX}/no-agent, from: {tagCategory: a}`)}\nidentity: {exempt: ${PREFIX}/no-agent}`
  t.match(await refusal(exempting), [/labelRules\[0\].label: is a label that "identity.exempt" selects by/])
  const given = { initializes: true, endsNodes: true, nodeLabels: { 'example.com/pool': 'a' } }
  await t.rejects(load(rule('label: example.com/pool, from: {folder: name}'), {}, {}, given), {
    message: /labelRules\[0\].label: is a label that --node-labels gives/,
  })
})

t.test('a Node has no room for the record of any number of labels', async (t) => {
  const many = (count: number) =>
    rules(...Array.from({ length: count }, (_, i) => `- {label: ${PREFIX}/rule-${i}, from: {host: name}}`))
  t.equal((await load(many(35))).config.labelRules.length, 35)
  t.match(await refusal(many(40)), [/:8:3: labelRules: has more labels than can be recorded on a Node/])
})
