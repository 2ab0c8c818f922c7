/** Where Rollcall means to differ in the labels of a Node. */

import { fits, labelValueOf } from '../documented-rules.ts'
import { chainOfCPI, chainsOf, valuesIn } from '../places.ts'
import type { Label } from '../scenario.ts'
import { givesUp, labelOf, type NodeRow, olderNameOf } from './row.ts'

const BOTH: readonly Label[] = ['zone', 'region']

export const IN_LABELS: readonly NodeRow[] = [
  {
    what: 'Tags for a label at several levels',
    cpi: 'a farther one may win, until it has both labels',
    rollcall: 'the nearest counts',
    explains({ part, cpi, rollcall }, { scenario, case: one }) {
      const label = labelOf(part)
      if (label === undefined) return false
      const [nearest, ...farther] = (chainOfCPI(chainsOf(scenario, one)) ?? [])
        .map((tags) => tags[label])
        .filter((values) => values.length > 0)
      return (
        nearest?.some((value) => labelValueOf(value) === rollcall) === true &&
        farther.flat().some((value) => value === cpi)
      )
    },
  },
  {
    what: 'Several tags of one category on one object',
    byChance: true,
    cpi: 'takes any of them',
    rollcall: "takes the Node's, otherwise the first by name: `TagsAmbiguous`",
    explains({ part, cpi, rollcall }, { scenario, case: one }) {
      const label = labelOf(part)
      if (label === undefined) return false
      const several = chainsOf(scenario, one)
        .flat()
        .map((tags) => tags[label])
        .filter((values) => values.length > 1)
      return several.some(
        (values) =>
          values.some((value) => value === cpi) && values.some((value) => labelValueOf(value) === rollcall),
      )
    },
  },
  {
    what: 'Zone and region on different sides: host, resource pool, VM and folders',
    cpi: 'takes the first side that has both; otherwise is stuck',
    rollcall: 'looks for each label, in the same order',
    explains({ part, cpi, rollcall }, { scenario, case: one }) {
      const chains = chainsOf(scenario, one)
      const used = chainOfCPI(chains)
      const everywhere = (label: Label) => chains.flatMap((chain) => valuesIn(chain, label))
      if (givesUp(part, one))
        return used === undefined && everywhere('zone').length > 0 && everywhere('region').length > 0
      const label = labelOf(part)
      if (label === undefined || used === undefined) return false
      return (
        valuesIn(used, label).some((value) => value === cpi) &&
        labelValueOf(everywhere(label)[0] ?? '') === rollcall
      )
    },
  },
  {
    what: 'No zone tag or no region tag above the VM',
    cpi: 'is stuck',
    rollcall: 'writes the other; with `topology.required: true` a new Node waits',
    because: 'See kubernetes/kubernetes#73002.',
    explains({ part }, { scenario, case: one }) {
      const { labels = BOTH } = scenario
      const chains = chainsOf(scenario, one)
      return (
        givesUp(part, one) &&
        labels.length === 2 &&
        labels.some((label) => chains.every((chain) => valuesIn(chain, label).length === 0))
      )
    },
  },
  {
    what: 'Only `zone` or only `region` under `labels`',
    cpi: 'writes neither',
    rollcall: 'writes that one',
    explains: ({ part, cpi }, { scenario: { labels = BOTH }, case: { node = {} } }) =>
      labels.length === 1 &&
      labelOf(part) === labels[0] &&
      cpi === node.labels?.[part.slice('label '.length)],
  },
  {
    what: 'Tag that is not a label value: `zone 1 / left`, `北京-1`',
    cpi: 'is stuck',
    rollcall:
      "writes the nearest value, `zone-1-left`, but none that would lose letters or digits, or equal another tag's of that vCenter",
    because: 'Two zones must not become one; tags of several vCenters are not compared.',
    explains: ({ part, cpi }, { scenario, case: one }) =>
      part === 'initialized' &&
      cpi === false &&
      chainsOf(scenario, one).some((chain) =>
        chain.some((tags) =>
          Object.values(tags)
            .flat()
            .some((tag) => labelValueOf(tag) !== tag),
        ),
      ),
  },
  {
    what: 'One category for both zone and region',
    cpi: 'is stuck',
    rollcall: 'writes the tag into both',
    explains: ({ part }, { scenario: { oneCategory }, case: one }) =>
      oneCategory === true && (givesUp(part, one) || labelOf(part) !== undefined),
  },
  {
    what: 'Initialized Node without zone, region or instance type',
    cpi: 'leaves it so',
    rollcall: 'adds it; existing labels stay unless `topology.onChange: relabel`',
    because: 'See kubernetes/cloud-provider-vsphere#435.',
    explains: ({ part, cpi }, { case: one }) =>
      part.startsWith('label ') && cpi === undefined && one.node?.untainted === true,
  },
  {
    what: 'Beta label (`failure-domain.beta.kubernetes.io/zone`, that of the region, `beta.kubernetes.io/instance-type`) that differs from the label, or is alone',
    cpi: 'uses it for both, unless the tags of a new Node say otherwise',
    rollcall: 'a new Node gets the tags, if there are any; an initialized one keeps both: `TopologyChanged`',
    because: 'A changed zone strands volumes.',
    explains({ part, cpi, rollcall }, { scenario, case: one, before }) {
      const { node = {} } = one
      const names = olderNameOf(part)
      const own = before?.rollcall.metadata.labels ?? node.labels ?? {}
      const theirs = before?.cpi?.metadata.labels ?? own
      if (names === undefined || cpi !== theirs[names.beta]) return false
      const had = own[names.key]
      // That a new Node has the tags, where there are any, the rules say.
      if (rollcall === had && (node.untainted === true || had !== undefined))
        return node.providerID !== 'foreign'
      return had === undefined && (rollcall === undefined || fits(part, rollcall, scenario, one) === true)
    },
  },
  {
    what: "The same on another provider's Node",
    cpi: 'writes it into the label',
    rollcall: 'leaves that Node alone',
    explains({ part, cpi }, { case: { node = {} } }) {
      const names = olderNameOf(part)
      return (
        names !== undefined &&
        (node.providerID === 'foreign' || node.providerID === 'bare') &&
        node.labels?.[names.beta] === cpi
      )
    },
  },
  {
    what: 'New Node with another zone or region, by which the vSphere CSI driver has registered',
    cpi: "overwrites it; the kubelet refuses the driver's next registration",
    rollcall: 'leaves it: `LabelsKeptForCSI`',
    because: 'Without the driver there are no volumes.',
    explains({ part, rollcall }, { case: { node = {} } }) {
      const label = labelOf(part)
      const keys = node.topologyKeys ?? []
      return (
        label !== undefined &&
        keys.some((key) => key.endsWith(`/${label}`) && node.labels?.[key] !== undefined) &&
        rollcall === node.labels?.[part.slice('label '.length)]
      )
    },
  },
  {
    what: 'Guest IDs `rhel8_64Guest`, `rhel9_64Guest`, `rhel10_64Guest` in the instance type',
    cpi: '`os-unknown`; from 1.37 on, as in Rollcall',
    rollcall: '`os-rhel8`, `os-rhel9`, `os-rhel10` for new Nodes; an existing label stays',
    explains: ({ part, cpi }, { case: one }) =>
      part.endsWith('/instance-type') &&
      /^rhel(8|9|10)_64Guest$/.test(one.vm?.guestID ?? '') &&
      String(cpi).endsWith('.os-unknown'),
  },
]
