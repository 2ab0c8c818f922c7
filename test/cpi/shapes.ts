/**
 * What the vSphere CPI v1.36.0 has users deploy: the file, the Secrets and the argument list of its chart (as rendered by
 * Helm's engine), and of its plain manifests, key by key. Written anew; comments are left out.
 */

/** A vCenter, and how to log in there. */
export interface Access {
  readonly host: string
  readonly port: number
  readonly username: string
  readonly password: string
}

interface SecretManifest {
  readonly name: string
  readonly stringData: Readonly<Record<string, string>>
}

export interface Shape {
  /** `vsphere.conf`, mounted at `/etc/cloud`. */
  readonly file: string
  readonly secrets: readonly SecretManifest[]
  /** A key of `test/cpi/argument-lists.yaml`. */
  readonly args: 'chart' | 'chart-with-more' | 'releases' | 'daemonset'
}

/** The chart's `config` (or `global.config`, which is merged over it), as far as it shows in the file. */
interface ChartValues {
  readonly vcenter: Access
  readonly datacenter: string
  readonly region?: string
  readonly zone?: string
  readonly thumbprint?: string
  readonly caFile?: string
  /** Those that are not empty, in the chart's order. */
  readonly nodes?: Readonly<Record<string, string>>
  readonly secretName?: string
}

/**
 * charts/vsphere-cpi with `config.enabled=true`. Its port is 443, whatever the values say. The DaemonSet mounts the
 * ConfigMap read-only and sets no environment variable.
 */
export function chart(values: ChartValues, args: 'chart' | 'chart-with-more' = 'chart'): Shape {
  const { vcenter, datacenter, region = 'k8s-region', zone = 'k8s-zone', thumbprint, caFile, nodes } = values
  const { secretName = 'vsphere-cloud-secret' } = values
  const trust =
    thumbprint === undefined
      ? caFile === undefined
        ? 'insecureFlag: true'
        : `ca-file: ${caFile}`
      : `thumbprint: ${thumbprint}`
  const written = Object.entries(nodes ?? {}).map(([key, text]) => `  ${key}: ${text}\n\n`)
  return {
    file: `global:
  port: ${vcenter.port}
  ${trust}
  secretName: ${secretName}
  secretNamespace: kube-system

vcenter:
  ${vcenter.host}:
    server: ${vcenter.host}
    datacenters:
      - ${datacenter}

labels:
  region: ${region}
  zone: ${zone}
${written.length === 0 ? '' : `nodes:\n${written.join('')}`}`,
    secrets: [{ name: secretName, stringData: keysOf(vcenter) }],
    args,
  }
}

/** releases/v1.18 to v1.36: two vCenters under names of their own, the second with a Secret of its own. */
export function releases(first: Access, tenant: Access): Shape {
  return {
    file: `global:
  port: ${first.port}
  insecureFlag: true
  secretName: vsphere-cloud-secret
  secretNamespace: kube-system

vcenter:
  your-vcenter-name-here:
    server: ${first.host}
    user: use-your-vcenter-user-here
    password: use-your-vcenter-password-here
    datacenters:
      - DC0
      - DC1
  could-be-a-tenant-label:
    server: ${tenant.host}
    datacenters:
      - DC0
    secretName: cpi-engineering-secret
    secretNamespace: kube-system

labels:
  region: k8s-region
  zone: k8s-zone
`,
    secrets: [
      { name: 'vsphere-cloud-secret', stringData: { ...keysOf(first), ...keysOf(tenant) } },
      { name: 'cpi-engineering-secret', stringData: keysOf(tenant) },
    ],
    args: 'releases',
  }
}

/** releases/v1.2 and manifests/controller-manager: INI, itself in a Secret that is mounted; users stand in it, or in a Secret. */
export function firstReleases(first: Access, second: Access, form: 'inline' | 'secret'): Shape {
  const keys = { ...keysOf(first), ...keysOf(second) }
  const secret = `secret-name = "vccm"
secret-namespace = "kube-system"
service-account = "cloud-controller-manager" #Default: cloud-controller-manager
`
  const quoted = (text: string) => `"${text.replaceAll(/[\\"]/g, '\\$&')}"`
  const login = ({ username, password }: Access) =>
    `user = ${quoted(username)}\npassword = ${quoted(password)}\n`
  return {
    file: `[Global]
${form === 'secret' ? secret : login(second)}
port = "${first.port}" #Optional
insecure-flag = "1" #set to 1 if the vCenter uses a self-signed cert
datacenters = "DC0,DC1"

[VirtualCenter "${first.host}"]
${form === 'secret' ? '' : login(first).replaceAll(/^/gm, '        ')}
[VirtualCenter "${second.host}"]
        port = "${second.port}"
        insecure-flag = "0"

[Labels]
region = k8s-region
zone = k8s-zone
`,
    secrets: form === 'secret' ? [{ name: 'vccm', stringData: keys }] : [],
    args: 'daemonset',
  }
}

function keysOf({ host, username, password }: Access): Record<string, string> {
  return { [`${host}.username`]: username, [`${host}.password`]: password }
}
