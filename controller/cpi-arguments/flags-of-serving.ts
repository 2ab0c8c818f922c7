/** Flags about ports, and who may ask there. */
import { bool, duration, int, ip, list, numbers, opaque, text } from './kinds.ts'
import { accepted, acceptedWithWarning, type FlagRow, refused, served } from './row.ts'

const NO_WEBHOOKS = 'the CPI has no webhooks, nor has Rollcall'
const NO_PROXY = 'requests that a proxy has authenticated are not taken'

const ADDRESS: FlagRow<string> = {
  ...served(
    text,
    ':10270',
    "Rollcall's own: `ADDRESS:PORT` of the plain port, where /metrics, /healthz and /readyz are served to everybody. Its address is that of `--bind-address` unless it has one; `off` turns it off, see [below](#--secure-port).",
  ),
  own: true,
}

export const SERVING_FLAGS = {
  listen: ADDRESS,
  'bind-address': served(
    ip,
    '0.0.0.0',
    'As in the CPI: `0.0.0.0` and `::` mean every address of either family.',
  ),
  'secure-port': served(
    int,
    '10258',
    'HTTPS, beside the plain port; 0 turns it off. See [below](#--secure-port).',
  ),
  'cert-dir': served(
    text,
    '',
    'As in the CPI: `cloud-controller-manager.crt` and `.key` are read from there, or made and written.',
  ),
  'tls-cert-file': served(
    text,
    '',
    'As in the CPI, with `--tls-private-key-file`; read again within a minute when it changes.',
  ),
  'tls-private-key-file': served(text, '', 'As in the CPI.'),
  'tls-cipher-suites': served(
    list,
    '[]',
    'As in the CPI, but for RC4 and 3DES, which are refused. TLS 1.3 has its own, whatever is listed.',
  ),
  'tls-min-version': served(text, '', '`VersionTLS12`, which is the default, or `VersionTLS13`.'),
  'tls-curve-preferences': served(numbers, '[]', 'As in the CPI: 23, 24, 25, 29 and 4588.'),
  'tls-sni-cert-key': refused(
    opaque('namedCertKey'),
    '[]',
    'one certificate is shown to everybody: name it in --tls-cert-file and --tls-private-key-file',
  ),
  'disable-http2-serving': served(bool, 'false', 'HTTP/2 is never served.'),
  'http2-max-streams-per-connection': accepted(int, '0', 'HTTP/2 is never served'),
  'permit-port-sharing': acceptedWithWarning(
    bool,
    'false',
    'a port is never shared: give each instance its own',
  ),
  'permit-address-sharing': accepted(bool, 'false', 'it is always so'),
  profiling: served(bool, 'true', 'Nothing is profiled over a port: `false` is always so.'),
  'contention-profiling': accepted(bool, 'false', 'nothing is profiled over a port'),
  'authentication-kubeconfig': served(
    text,
    '',
    "Whose account asks who a token belongs to, and reads the cluster's client CA. Without it the one that does all else, which needs the ClusterRole `system:auth-delegator` then, and the Role `extension-apiserver-authentication-reader`.",
  ),
  'authentication-skip-lookup': served(
    bool,
    'false',
    "As in the CPI: the cluster's client CA is not looked up, so no client certificate is believed without `--client-ca-file`.",
  ),
  'authentication-token-webhook-cache-ttl': served(duration, '10s', 'As in the CPI.'),
  'authentication-tolerate-lookup-failure': accepted(
    bool,
    'false',
    'a lookup that fails ends nothing: client certificates are believed once it succeeds',
  ),
  'authorization-always-allow-paths': served(list, '[/healthz,/readyz,/livez]', 'As in the CPI.'),
  'authorization-kubeconfig': served(
    text,
    '',
    'Whose account asks what a user may see; as `--authentication-kubeconfig`.',
  ),
  'authorization-webhook-cache-authorized-ttl': served(duration, '10s', 'As in the CPI.'),
  'authorization-webhook-cache-unauthorized-ttl': served(duration, '10s', 'As in the CPI.'),
  'client-ca-file': served(
    text,
    '',
    "As in the CPI: client certificates of these CAs are believed, instead of those of the cluster's; read again within a minute when it changes. Otherwise than there an intermediate needs its root beside it, and then all CAs below that root are believed.",
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
