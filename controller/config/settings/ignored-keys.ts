/** What is known of the files of the CPI, its predecessor in Kubernetes and the CSI driver, and has no effect here. */
import type { Others } from './row.ts'

const COMMON: Others = {
  soapRoundtripCount: {
    because: 'has no effect, calls to vCenter are repeated until they succeed: remove it',
    meaning: 'Calls are repeated until they succeed.',
  },
}

/** OpenShift writes them, empty. */
const BY_ITSELF = {
  because: 'has no effect, not in the CPI either: remove it',
  meaning: 'The CPI sets it itself, whatever is written.',
} as const

const NO_API = {
  because: 'has no effect, Rollcall has no such API: remove it',
  meaning: 'There is no such API.',
} as const

const IN_TREE = {
  because: 'has no effect, it is for the in-tree provider that Kubernetes had: remove it',
  meaning: 'For the in-tree provider that Kubernetes had, which also made volumes.',
} as const

const CSI = {
  because: 'has no effect, it is for the vSphere CSI driver, which has a file of its own: remove it',
  meaning: 'For the vSphere CSI driver, which has a file of its own.',
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
    because: 'has no effect, the Pod says which account it uses: remove it',
    meaning: 'The Pod says which it uses.',
  },
  ...Object.fromEntries(
    ['datacenter', 'datastore', 'workingDir', 'vmUUID', 'vmName', 'secretNotManaged'].map((key) => [
      key,
      IN_TREE,
    ]),
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

const KEEP = 'let the CPI go on with them, started with --controllers=service,route'

const NSXT_BALANCER = {
  because: `has no effect, NSX-T load balancers are not served here: ${KEEP}, or remove it once no Service needs one`,
  meaning:
    'NSX-T load balancers are not served; the CPI can go on with them, by `--controllers=service,route`.',
} as const

/** Sections that are about something else than nodes. */
export const OTHER_SECTIONS: Others = {
  loadBalancer: NSXT_BALANCER,
  loadBalancerClass: NSXT_BALANCER,
  route: {
    because: `has no effect, NSX-T routes are not served here: ${KEEP}, or remove it once the CNI needs none`,
    meaning: 'NSX-T routes are not served; the CPI can go on with them, in the same way.',
  },
  nsxt: {
    because: 'has no effect, nothing here talks to NSX-T: remove it unless the CPI goes on with it',
    meaning: 'Nothing here talks to NSX-T.',
  },
  workspace: IN_TREE,
  disk: IN_TREE,
  network: IN_TREE,
  netPermissions: CSI,
  snapshot: CSI,
  topologyCategory: CSI,
}

export const LABELS_OTHERS: Others = { topologyCategories: CSI }
