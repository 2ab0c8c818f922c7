/** What is known of the files of the CPI, its predecessor in Kubernetes and the CSI driver, and has no effect here. */
import type { Others } from './row.ts'

const COMMON: Others = {
  soapRoundtripCount: {
    because: 'has no effect because calls to vCenter are repeated until they succeed: remove it',
    meaning: 'Calls are repeated until they succeed.',
  },
}

/** OpenShift writes them, empty. */
const BY_ITSELF = {
  because: 'has no effect, and none in the CPI either: remove it',
  meaning: 'No effect in the CPI either.',
} as const

const NO_API = {
  because: 'has no effect because Rollcall has no such API: remove it',
  meaning: 'Rollcall has no such API.',
} as const

const IN_TREE = {
  because: 'has no effect because it is for the former in-tree provider: remove it',
  meaning: 'For the former in-tree provider.',
} as const

const CSI = {
  because: 'has no effect because it is for the vSphere CSI driver, which has its own file: remove it',
  meaning: 'For the vSphere CSI driver.',
} as const

export const VCENTER_OTHERS: Others = {
  ...COMMON,
  tenantRef: BY_ITSELF,
  secretRef: BY_ITSELF,
  targetvSANFileShareDatastoreURLs: CSI,
  targetvSANFileShareClusters: CSI,
  migrationDatastoreURL: CSI,
}

export const GLOBAL_OTHERS: Others = {
  ...COMMON,
  apiDisable: NO_API,
  apiBinding: NO_API,
  serviceAccount: {
    because: 'has no effect because the Pod names its account: remove it',
    meaning: 'The Pod names its account.',
  },
  ...Object.fromEntries(
    [
      'datacenter',
      'datastore',
      'workingDir',
      'vmUUID',
      'vmName',
      'secretNotManaged',
      // Those of its section Workspace are often written here.
      'defaultDatastore',
      'folder',
      'resourcepoolPath',
    ].map((key) => [key, IN_TREE]),
  ),
  ...Object.fromEntries(
    [
      'clusterID',
      'clusterDistribution',
      'supervisorID',
      'csiAuthCheckIntervalInMin',
      'csiFetchPreferredDatastoresIntervalInMin',
      'cnsVolumeOperationRequestCleanupIntervalInMin',
      'cnsRegisterVolumesCleanupIntervalInMin',
      'cnsPVCProtectionCleanupIntervalInMin',
      'volumeMigrationCRCleanupIntervalInMin',
      'queryLimit',
      'listVolumeThreshold',
    ].map((key) => [key, CSI]),
  ),
}

const KEEP = 'run the CPI for them with --controllers=service,route'

const NSXT_BALANCER = {
  because: `has no effect because NSX-T load balancers are not supported: ${KEEP}, or remove it once no Service needs one`,
  meaning: 'NSX-T load balancers stay with the CPI: `--controllers=service,route`.',
} as const

/** Sections that are not about nodes. */
export const OTHER_SECTIONS: Others = {
  loadBalancer: NSXT_BALANCER,
  loadBalancerClass: NSXT_BALANCER,
  route: {
    because: `has no effect because NSX-T routes are not supported: ${KEEP}, or remove it once the CNI needs none`,
    meaning: 'NSX-T routes: the same.',
  },
  nsxt: {
    because: 'has no effect because Rollcall does not talk to NSX-T: remove it unless the CPI still needs it',
    meaning: 'Rollcall does not talk to NSX-T.',
  },
  workspace: IN_TREE,
  disk: IN_TREE,
  network: IN_TREE,
  netPermissions: CSI,
  snapshot: CSI,
  topologyCategory: CSI,
}

export const LABELS_OTHERS: Others = { topologyCategories: CSI }
