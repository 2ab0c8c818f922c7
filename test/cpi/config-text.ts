/** The vsphere.conf of a scenario, as either provider reads it. */

import * as v from 'valibot'
import { parse, stringify } from 'yaml'
import { vsphereConf } from '../world/controller.ts'
import type { Scenario } from './scenario.ts'
import type { CPIStage } from './stage.ts'

const text = v.union([v.string(), v.number(), v.array(v.string())])
const section = v.record(v.string(), text)
const file = v.objectWithRest({ vcenter: v.record(v.string(), section) }, section)

/** @param category the name of a label's category */
export function configOf(
  stage: CPIStage,
  {
    labels = ['zone', 'region'],
    datacenters,
    nodes,
    ipFamily,
    twoVCenters = false,
    second = {},
    lifecycle,
    form,
  }: Scenario,
  category: (label: string) => string,
): string {
  const written = vsphereConf(stage.vcsim, {
    labels: Object.fromEntries(labels.map((label) => [label, category(label)])),
    require: 'asserted',
    ...(nodes === undefined ? {} : { nodes }),
    ...(ipFamily === undefined ? {} : { ipFamily }),
    ...(lifecycle === undefined ? {} : { lifecycle }),
    ...(datacenters === undefined ? {} : { datacenters: datacenters.map((each) => referenced(each, stage)) }),
    ...(twoVCenters ? { otherVCenters: { second: stage.second } } : {}),
  })
  const values = v.parse(file, parse(written))
  if (values.vcenter.second !== undefined) Object.assign(values.vcenter.second, second)
  return form === 'ini' ? ini(values) : stringify(values)
}

/** The INI keys of what YAML calls otherwise. */
const INI_KEYS: Readonly<Record<string, string>> = {
  caFile: 'ca-file',
  ipFamily: 'ip-family',
  internalNetworkSubnetCidr: 'internal-network-subnet-cidr',
  externalNetworkSubnetCidr: 'external-network-subnet-cidr',
  internalVmNetworkName: 'internal-vm-network-name',
  externalVmNetworkName: 'external-vm-network-name',
  excludeInternalNetworkSubnetCidr: 'exclude-internal-network-subnet-cidr',
  excludeExternalNetworkSubnetCidr: 'exclude-external-network-subnet-cidr',
}

function ini({ vcenter, ...sections }: v.InferOutput<typeof file>): string {
  const lines = (values: v.InferOutput<typeof section>) =>
    Object.entries(values).map(([key, value]) => {
      const given = Array.isArray(value) ? value.join(',') : String(value)
      return `${INI_KEYS[key] ?? key} = "${given.replaceAll(/[\\"]/g, '\\$&')}"`
    })
  return [
    '[Global]',
    ...Object.entries(vcenter).flatMap(([name, one]) => [`[VirtualCenter "${name}"]`, ...lines(one)]),
    ...Object.entries(sections).flatMap(([name, values]) => [
      `[${name.slice(0, 1).toUpperCase()}${name.slice(1)}]`,
      ...lines(values),
    ]),
    '',
  ].join('\n')
}

/** An entry under `datacenters` as it goes into the file. */
function referenced(datacenter: string, { datacenters }: Pick<CPIStage, 'datacenters'>): string {
  const [, name] = /^Datacenter:(.*)$/.exec(datacenter) ?? []
  if (name === undefined) return datacenter
  const reference = datacenters.get(name)
  if (reference === undefined) throw new Error(`there is no datacenter ${name}`)
  return reference
}
