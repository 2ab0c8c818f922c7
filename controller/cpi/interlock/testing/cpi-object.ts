const IMAGE = 'registry.example.com/csi-vsphere/cloud-provider-vsphere:v1.36.0'

export interface CPIObjectChanges {
  readonly namespace?: string
  readonly name?: string
  readonly image?: string
  readonly account?: string
  readonly command?: readonly string[]
  readonly volumeMounts?: readonly object[]
  readonly volumes?: readonly object[]
  readonly env?: readonly object[]
  readonly envFrom?: readonly object[]
  readonly generation?: number
  readonly status?: object
  readonly annotations?: Readonly<Record<string, string>>
}

/** A DaemonSet of the vSphere CPI, `kube-system/cpi`, as the API server has it. */
export function cpiObject(
  args: readonly string[],
  {
    namespace = 'kube-system',
    name = 'cpi',
    image = IMAGE,
    account = 'cloud-controller-manager',
    command = [],
    volumeMounts = [],
    volumes = [],
    env = [],
    envFrom = [],
    generation,
    status,
    annotations,
  }: CPIObjectChanges = {},
) {
  const labels = { app: name }
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: {
      namespace,
      name,
      ...(generation === undefined ? {} : { generation }),
      ...(annotations === undefined ? {} : { annotations }),
    },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: account,
          containers: [{ name: 'cpi', image, command, args, env, envFrom, volumeMounts }],
          volumes,
        },
      },
    },
    ...(status === undefined ? {} : { status }),
  }
}
