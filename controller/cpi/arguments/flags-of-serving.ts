/** Flags for the ports, and for who may use them. */
import { bool, duration, int, ip, list, numbers, opaque, text } from './kinds.ts'
import { accepted, acceptedWithWarning, type FlagRow, refused, supported } from './row.ts'

const NO_WEBHOOKS = 'neither the CPI nor Rollcall has webhooks'
const NO_PROXY = 'requests that a proxy has authenticated are not accepted'

const ADDRESS: FlagRow<string> = {
  ...supported(
    text,
    ':10270',
    "Rollcall's own: `ADDRESS:PORT` of the plain port, which serves /metrics, /healthz and /readyz to everybody. Without an address, that of `--bind-address` is used; `off` turns the port off, see [below](#--secure-port).",
  ),
  own: true,
}

export const SERVING_FLAGS = {
  listen: ADDRESS,
  'bind-address': supported(
    ip,
    '0.0.0.0',
    'As in the CPI: `0.0.0.0` and `::` mean every address of either family.',
  ),
  'secure-port': supported(
    int,
    '10258',
    'HTTPS, beside the plain port; 0 turns it off. See [below](#--secure-port).',
  ),
  'cert-dir': supported(
    text,
    '',
    'As in the CPI: `cloud-controller-manager.crt` and `.key` are read from there, or generated and written there.',
  ),
  'tls-cert-file': supported(
    text,
    '',
    'As in the CPI, with `--tls-private-key-file`; read again within a minute when a file changes.',
  ),
  'tls-private-key-file': supported(text, '', 'As in the CPI.'),
  'tls-cipher-suites': supported(
    list,
    '[]',
    'As in the CPI, except RC4 and 3DES, which are refused. The cipher suites of TLS 1.3 are always on.',
  ),
  'tls-min-version': supported(text, '', '`VersionTLS12`, which is the default, or `VersionTLS13`.'),
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
  profiling: supported(bool, 'true', 'Profiling is never served: it is always `false`.'),
  'contention-profiling': accepted(bool, 'false', 'profiling is never served'),
  'authentication-kubeconfig': supported(
    text,
    '',
    "The account that checks who a token belongs to, and reads the cluster's client CA. By default it is the controller's account, which then needs the ClusterRole `system:auth-delegator` and the Role `extension-apiserver-authentication-reader`.",
  ),
  'authentication-skip-lookup': supported(
    bool,
    'false',
    "As in the CPI: the cluster's client CA is not looked up, so no client certificate is accepted without `--client-ca-file`.",
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
    "As in the CPI: client certificates of these CAs are accepted, instead of those of the cluster's CA; read again within a minute when the file changes. Unlike in the CPI, an intermediate CA needs its root in the file as well, and then all CAs below that root are accepted.",
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
