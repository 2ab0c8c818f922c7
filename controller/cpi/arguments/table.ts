/** Every flag of vsphere-cloud-controller-manager v1.36.0, and how it is treated. A test compares it with the CPI's own list. */
import {
  accepted,
  acceptedWithWarning,
  bool,
  duration,
  type FlagRow,
  float,
  int,
  int32,
  ip,
  level,
  list,
  numbers,
  opaque,
  pairs,
  refused,
  type Support,
  supported,
  text,
} from './flags.ts'

const NO_SERVICES = 'Services of type LoadBalancer are not supported'
const NO_ROUTES = 'routes are not supported'
const BY_PUSH = "changes come by watch and vCenter's push"

/** Flags for the cloud, the cluster, leader election, and the handling of Nodes. */
const WORK_FLAGS = {
  'cloud-provider': supported(
    text,
    'vsphere',
    'Only `vsphere`; clusters in a Supervisor (`vsphere-paravirtual`) keep the CPI.',
  ),
  'cloud-config': supported(text, '', 'The path of `vsphere.conf`; required.'),
  kubeconfig: supported(text, '', "As in the CPI; by default the Pod's service account."),
  master: refused(text, '', 'name the API server in the kubeconfig, and remove this flag'),
  'allow-untagged-cloud': accepted(bool, 'false', 'vSphere has no cluster IDs'),
  'cluster-name': accepted(text, 'kubernetes', `it names load balancers, and ${NO_SERVICES}`),
  controllers: supported(list, '[*]', 'See [below](#--controllers).'),
  'node-labels': supported(pairs, '[]', 'See [below](#--node-labels).'),
  'concurrent-node-syncs': accepted(int32, '1', 'sixteen Nodes are reconciled in parallel'),
  'concurrent-node-status-updates': accepted(int32, '0', 'addresses are written with the rest'),
  'node-monitor-period': accepted(duration, '5s', BY_PUSH),
  'node-status-update-frequency': accepted(duration, '5m0s', BY_PUSH),
  'node-sync-period': accepted(duration, '0s', 'the CPI ignores it as well'),
  'min-resync-period': accepted(duration, '12h0m0s', 'lists are read again when a watch breaks'),
  'controller-start-interval': accepted(duration, '0s', 'all parts start together'),
  'concurrent-service-syncs': accepted(int32, '1', NO_SERVICES),
  'allocate-node-cidrs': accepted(bool, 'false', NO_ROUTES),
  'cluster-cidr': accepted(text, '', NO_ROUTES),
  'cidr-allocator-type': accepted(text, 'RangeAllocator', NO_ROUTES),
  'configure-cloud-routes': accepted(bool, 'true', NO_ROUTES, 'false'),
  'route-reconciliation-period': accepted(duration, '10s', NO_ROUTES),
  'external-cloud-volume-plugin': accepted(text, '', 'volumes are for the CSI driver'),
  'use-service-account-credentials': acceptedWithWarning(
    bool,
    'false',
    'one account does all the work, with the rights in the manifests',
  ),
  'feature-gates': accepted(opaque('mapStringBool'), '', "the gates are those of the CPI's libraries"),
  'enable-leader-migration': refused(
    bool,
    'false',
    'let the CPI finish the migration, then remove this flag',
  ),
  'leader-migration-config': refused(text, '', 'let the CPI finish the migration, then remove this flag'),
  'leader-elect': supported(
    bool,
    'true',
    '`true`. With `false` the Lease is still taken: see [below](#--leader-elect).',
  ),
  'leader-elect-lease-duration': supported(duration, '15s', 'As in the CPI; at least 1s.'),
  'leader-elect-renew-deadline': supported(
    duration,
    '10s',
    'As in the CPI; shorter than the lease duration.',
  ),
  'leader-elect-retry-period': supported(
    duration,
    '2s',
    'As in the CPI; the renew deadline must be over 1.2 times as long.',
  ),
  'leader-elect-resource-lock': supported(text, 'leases', 'Only `leases`, as in the CPI.'),
  'leader-elect-resource-name': supported(
    text,
    'cloud-controller-manager',
    'By default `rollcall-controller`. See [below](#--leader-elect).',
  ),
  'leader-elect-resource-namespace': supported(text, 'kube-system', 'As in the CPI.'),
  'kube-api-qps': supported(
    float,
    '20',
    'Requests a second, except for the Lease. No limit without both flags, or with 0 or less; below 0.01 counts as 0.01.',
  ),
  'kube-api-burst': supported(int32, '30', 'Requests at once before `--kube-api-qps` limits them.'),
  'kube-api-content-type': accepted(text, 'application/vnd.kubernetes.protobuf', 'requests are in JSON'),
  'is-legacy-paravirtual': refused(bool, 'false', 'vsphere-paravirtual is not supported: remove this flag'),
  'enable-vpc-mode': refused(bool, 'false', 'vsphere-paravirtual is not supported: remove this flag'),
  'pod-ip-pool-type': refused(text, '', 'vsphere-paravirtual is not supported: remove this flag'),
  'enable-service-annotation-propagation': refused(
    bool,
    'false',
    'vsphere-paravirtual is not supported: remove this flag',
  ),
}

const NO_WEBHOOKS = 'there are no webhooks, nor in the CPI'
const NO_PROXY = 'requests that a proxy has authenticated are not accepted'

const ADDRESS: FlagRow<string> = {
  ...supported(
    text,
    ':10270',
    "Rollcall's own: `ADDRESS:PORT` of plain HTTP, by default on `--bind-address`; or `off`, see [below](#--secure-port).",
  ),
  own: true,
}

/** Flags for the ports, and for who may use them. */
const SERVING_FLAGS = {
  listen: ADDRESS,
  'bind-address': supported(
    ip,
    '0.0.0.0',
    'As in the CPI: `0.0.0.0` and `::` are every address of either family.',
  ),
  'secure-port': supported(
    int,
    '10258',
    'HTTPS, beside the plain port; 0 turns it off. See [below](#--secure-port).',
  ),
  'cert-dir': supported(
    text,
    '',
    'As in the CPI: `cloud-controller-manager.crt` and `.key` are read or written there.',
  ),
  'tls-cert-file': supported(
    text,
    '',
    'As in the CPI, with `--tls-private-key-file`; read again within a minute.',
  ),
  'tls-private-key-file': supported(text, '', 'As in the CPI.'),
  'tls-cipher-suites': supported(
    list,
    '[]',
    'As in the CPI, without RC4 and 3DES. Those of TLS 1.3 are always on.',
  ),
  'tls-min-version': supported(text, '', '`VersionTLS12`, the default, or `VersionTLS13`.'),
  'tls-curve-preferences': supported(numbers, '[]', 'As in the CPI: 23, 24, 25, 29 and 4588.'),
  'tls-sni-cert-key': refused(
    opaque('namedCertKey'),
    '[]',
    'there is one certificate for all names: name it in --tls-cert-file and --tls-private-key-file',
  ),
  'disable-http2-serving': supported(bool, 'false', 'HTTP/2 is never served.'),
  'http2-max-streams-per-connection': accepted(int, '0', 'HTTP/2 is never served'),
  'permit-port-sharing': acceptedWithWarning(
    bool,
    'false',
    'a port is never shared: give each instance its own',
  ),
  'permit-address-sharing': accepted(bool, 'false', 'it is always on'),
  profiling: supported(bool, 'true', 'Always `false`.'),
  'contention-profiling': accepted(bool, 'false', 'profiling is never served'),
  'authentication-kubeconfig': supported(
    text,
    '',
    "The account that checks tokens and reads the cluster's client CA; by default the controller's. See [below](#--secure-port).",
  ),
  'authentication-skip-lookup': supported(
    bool,
    'false',
    'As in the CPI: no client certificate is accepted without `--client-ca-file`.',
  ),
  'authentication-token-webhook-cache-ttl': supported(duration, '10s', 'As in the CPI.'),
  'authentication-tolerate-lookup-failure': accepted(
    bool,
    'false',
    'a failed lookup is never fatal: client certificates are accepted once it succeeds',
  ),
  'authorization-always-allow-paths': supported(list, '[/healthz,/readyz,/livez]', 'As in the CPI.'),
  'authorization-kubeconfig': supported(
    text,
    '',
    'The account that checks what a user may see; by default as for `--authentication-kubeconfig`.',
  ),
  'authorization-webhook-cache-authorized-ttl': supported(duration, '10s', 'As in the CPI.'),
  'authorization-webhook-cache-unauthorized-ttl': supported(duration, '10s', 'As in the CPI.'),
  'client-ca-file': supported(
    text,
    '',
    "As in the CPI: the CAs of client certificates instead of the cluster's; read again within a minute. An intermediate CA needs its root in the file, and then all CAs below that are accepted.",
  ),
  'requestheader-allowed-names': acceptedWithWarning(list, '[]', NO_PROXY),
  'requestheader-client-ca-file': acceptedWithWarning(text, '', NO_PROXY),
  'requestheader-extra-headers-prefix': accepted(list, '[x-remote-extra-]', NO_PROXY),
  'requestheader-group-headers': accepted(list, '[x-remote-group]', NO_PROXY),
  'requestheader-uid-headers': accepted(list, '[]', NO_PROXY),
  'requestheader-username-headers': accepted(list, '[x-remote-user]', NO_PROXY),
  webhooks: accepted(list, '[]', NO_WEBHOOKS),
  'webhook-bind-address': accepted(ip, '0.0.0.0', NO_WEBHOOKS),
  'webhook-cert-dir': accepted(text, '', NO_WEBHOOKS),
  'webhook-disable-http2-serving': accepted(bool, 'false', NO_WEBHOOKS),
  'webhook-secure-port': accepted(int, '10260', NO_WEBHOOKS, '0'),
  'webhook-tls-cert-file': accepted(text, '', NO_WEBHOOKS),
  'webhook-tls-cipher-suites': accepted(list, '[]', NO_WEBHOOKS),
  'webhook-tls-curve-preferences': accepted(numbers, '[]', NO_WEBHOOKS),
  'webhook-tls-min-version': accepted(text, '', NO_WEBHOOKS),
  'webhook-tls-private-key-file': accepted(text, '', NO_WEBHOOKS),
  'webhook-tls-sni-cert-key': accepted(opaque('namedCertKey'), '[]', NO_WEBHOOKS),
}

const VERBOSITY: FlagRow<number> = {
  ...supported(level, '0', 'From 4 on, the log includes debug messages.'),
  shorthand: 'v',
}
const HELP: FlagRow<boolean> = { ...supported(bool, 'false', 'Prints this table.'), shorthand: 'h' }

/** Flags for the log, and those that every program has. */
const PROGRAM_FLAGS = {
  v: VERBOSITY,
  vmodule: accepted(opaque('moduleSpec'), '', 'the log has no levels for single files'),
  'log-flush-frequency': accepted(duration, '5s', 'each line is written at once'),
  version: supported({ ...opaque('version'), bare: 'true' }, 'false', "Prints Rollcall's version."),
  help: HELP,
}

export const FLAGS = { ...WORK_FLAGS, ...SERVING_FLAGS, ...PROGRAM_FLAGS } as const

/** How a flag is treated, in a sentence. */
export function sentenceOf(support: Support): string {
  if (support.is === 'supported') return support.how
  return support.is === 'refused' ? `Refused: ${support.because}.` : `No effect: ${support.because}.`
}

/** The help for the CPI's form, from the table. */
export function helpOnFlags(): string {
  const rows = Object.entries<FlagRow<unknown>>(FLAGS).map(([name, row]) => {
    const short = row.shorthand === undefined || row.shorthand === name ? '' : `-${row.shorthand}, `
    const dashes = row.shorthand === name ? `-${name}, --${name}` : `${short}--${name}`
    const text = sentenceOf(row.support)
      .replaceAll(/\[(below)\]\([^)]*\)/g, 'docs/command-line.md')
      .replaceAll('`', '')
    return `  ${dashes} ${row.kind.type}\n        ${text}\n`
  })
  return `usage: rollcall-controller --cloud-config FILE [flags of vsphere-cloud-controller-manager]

Initializes the cluster's Nodes, started with the arguments of the vSphere CPI (v1.36.0). What each of them does:

${rows.join('')}`
}
