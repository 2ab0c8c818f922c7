import {
  API_GROUP,
  API_VERSION,
  type BoundVM,
  type Condition,
  type ConditionType,
  KIND,
  type NodeReportSpec,
  type NodeReportStatus,
} from '../../agent/shared/node-report.ts'

/** A type with nothing left out, at any depth. */
export type Complete<T> = T extends readonly (infer Item)[]
  ? readonly Complete<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]-?: Complete<T[Key]> }
    : T

const uuid = '420e3f74-ea84-f9a2-7736-6106bb5dbf6b'

/** Every field of a report's spec. The compiler complains when the contract gets another one. */
export const completeSpec: Complete<NodeReportSpec> = {
  nodeUID: '0f7c7b39-5d4e-4b0c-9a52-5b1d8f2b6c11',
  bootID: '9d5a7d0e-3a1f-4d58-8a63-1f6f6f0c2a77',
  agentVersion: '0.1.0',
  refreshSeconds: 1800,
  machine: {
    vendor: 'VMware, Inc.',
    product: 'VMware7,1',
    serialUUID: uuid,
    productUUID: '743f0e42-84ea-a2f9-7736-6106bb5dbf6b',
  },
  hostname: 'node-a',
  interfaces: [
    {
      name: 'ens192',
      mac: '00:50:56:8e:12:34',
      defaultRoute: true,
      addresses: [
        { address: '10.0.0.5', prefixLength: 24, temporary: false, deprecated: false, secondary: false },
        { address: 'fd00::5', prefixLength: 64, temporary: true, deprecated: true, secondary: true },
      ],
    },
  ],
  tools: { version: '12.3.5', guestinfoReadable: true, guestinfoWritable: true },
  cloudInit: { instanceID: 'node-a', localHostname: 'node-a', addresses: ['10.0.0.5/24', 'fd00::5'] },
  claim: {
    written: true,
    reason: 'Written',
    message: 'the claim stands in guestinfo',
    digest: 'ab'.repeat(32),
  },
  unreadable: [{ fact: 'product', reason: 'NotPermitted', message: 'run the agent as root' }],
}

const conditionTypes: Record<ConditionType, true> = {
  VMFound: true,
  VMUnique: true,
  IdentityVerified: true,
  TopologyResolved: true,
  LabelsResolved: true,
  AddressesResolved: true,
  Initialized: true,
  AgentReports: true,
  DeletionPossible: true,
  DeletionPending: true,
  ServingCertificate: true,
}

function condition(type: ConditionType): Complete<Condition> {
  return {
    type,
    status: 'True',
    reason: 'AsExpected',
    message: 'all is as it should be',
    lastTransitionTime: '2026-11-21T09:30:00Z',
    observedGeneration: 1,
  }
}

const vm: Complete<BoundVM> = {
  vCenter: 'main',
  vCenterInstanceUUID: 'dbed6e0c-bd88-4ef6-b594-21283e1c677f',
  moref: 'vm-42',
  name: 'node-a',
  instanceUUID: '500e3f74-ea84-f9a2-7736-6106bb5dbf6b',
  biosUUID: uuid,
  group: ['500e3f74-ea84-f9a2-7736-6106bb5dbf6b'],
  host: 'esx-1',
  cluster: 'cluster-1',
  datacenter: 'dc-1',
  parents: [
    { type: 'Folder', moref: 'group-v3', name: 'vm' },
    { type: 'ResourcePool', moref: 'resgroup-8', name: 'Resources' },
  ],
}

/** Every field of a report's status, and every type of condition. */
export const completeStatus: Complete<NodeReportStatus> = {
  observedGeneration: 1,
  nodeUID: '0f7c7b39-5d4e-4b0c-9a52-5b1d8f2b6c11',
  vm,
  namedVM: vm,
  formerVMs: [vm],
  lastClaim: 'cd'.repeat(32),
  obeyedAnnotation: '500e3f74-ea84-f9a2-7736-6106bb5dbf6b',
  identityLevel: 'proven',
  provenUntil: '2026-11-21T09:45:00Z',
  absentSince: '2026-11-21T09:44:00Z',
  brakeEngagedAt: '2026-11-21T09:50:00Z',
  brakeEngagedFor: 'main',
  deletionUnmet: ['BrakeReleased'],
  topology: { zone: 'zone-a', region: 'region-1' },
  instanceType: 'vsphere-vm.cpu-2.mem-4gb.os-ubuntu',
  addresses: [
    { type: 'InternalIP', address: '10.0.0.5' },
    { type: 'ExternalIP', address: '10.0.0.5' },
    { type: 'Hostname', address: 'node-a' },
  ],
  conditions: (Object.keys(conditionTypes) as ConditionType[]).map(condition),
}

/** A NodeReport as an agent applies it. */
export function sampleReport(name: string, nodeUID: string) {
  return {
    apiVersion: `${API_GROUP}/${API_VERSION}`,
    kind: KIND,
    metadata: { name, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid: nodeUID }] },
    spec: { ...completeSpec, nodeUID },
  }
}
