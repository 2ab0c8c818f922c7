/** Flags about ports, and who may ask there. */
import { bool, duration, int, ip, list, numbers, opaque, text } from './kinds.ts'
import { accepted, type FlagRow, missed, served } from './row.ts'

const LATER = 'HTTPS is not served in this version: take /healthz and /metrics from the plain port (--listen)'
const NO_WEBHOOKS = 'the CPI has no webhooks, nor has Rollcall'
const NO_PROXY = 'requests that a proxy has authenticated are not taken'

const ADDRESS: FlagRow<string> = {
  ...served(
    text,
    ':10270',
    "Rollcall's own: `ADDRESS:PORT` of the plain port, where /metrics, /healthz and /readyz are served to everybody. Its address is that of `--bind-address` unless it has one.",
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
  'secure-port': missed(int, '10258', LATER),
  'cert-dir': missed(text, '', LATER),
  'tls-cert-file': missed(text, '', LATER),
  'tls-private-key-file': missed(text, '', LATER),
  'tls-cipher-suites': missed(list, '[]', LATER),
  'tls-min-version': missed(text, '', LATER),
  'tls-curve-preferences': missed(numbers, '[]', LATER),
  'tls-sni-cert-key': missed(opaque('namedCertKey'), '[]', LATER),
  'disable-http2-serving': served(bool, 'false', 'HTTP/2 is never served.'),
  'http2-max-streams-per-connection': accepted(int, '0', 'HTTP/2 is never served'),
  'permit-port-sharing': missed(bool, 'false', 'a port is never shared: give each instance its own'),
  'permit-address-sharing': accepted(bool, 'false', 'it is always so'),
  profiling: served(bool, 'true', 'Nothing is profiled over a port: `false` is always so.'),
  'contention-profiling': accepted(bool, 'false', 'nothing is profiled over a port'),
  'authentication-kubeconfig': missed(text, '', LATER),
  'authentication-skip-lookup': accepted(bool, 'false', LATER),
  'authentication-token-webhook-cache-ttl': accepted(duration, '10s', LATER),
  'authentication-tolerate-lookup-failure': accepted(bool, 'false', LATER),
  'authorization-always-allow-paths': missed(list, '[/healthz,/readyz,/livez]', LATER),
  'authorization-kubeconfig': missed(text, '', LATER),
  'authorization-webhook-cache-authorized-ttl': accepted(duration, '10s', LATER),
  'authorization-webhook-cache-unauthorized-ttl': accepted(duration, '10s', LATER),
  'client-ca-file': missed(text, '', LATER),
  'requestheader-allowed-names': missed(list, '[]', NO_PROXY),
  'requestheader-client-ca-file': missed(text, '', NO_PROXY),
  'requestheader-extra-headers-prefix': accepted(list, '[x-remote-extra-]', NO_PROXY),
  'requestheader-group-headers': accepted(list, '[x-remote-group]', NO_PROXY),
  'requestheader-uid-headers': accepted(list, '[]', NO_PROXY),
  'requestheader-username-headers': accepted(list, '[x-remote-user]', NO_PROXY),
  webhooks: accepted(list, '[]', NO_WEBHOOKS),
  'webhook-bind-address': accepted(ip, '0.0.0.0', NO_WEBHOOKS),
  'webhook-cert-dir': accepted(text, '', NO_WEBHOOKS),
  'webhook-disable-http2-serving': accepted(bool, 'false', NO_WEBHOOKS),
  'webhook-secure-port': accepted(int, '10260', NO_WEBHOOKS),
  'webhook-tls-cert-file': accepted(text, '', NO_WEBHOOKS),
  'webhook-tls-cipher-suites': accepted(list, '[]', NO_WEBHOOKS),
  'webhook-tls-curve-preferences': accepted(numbers, '[]', NO_WEBHOOKS),
  'webhook-tls-min-version': accepted(text, '', NO_WEBHOOKS),
  'webhook-tls-private-key-file': accepted(text, '', NO_WEBHOOKS),
  'webhook-tls-sni-cert-key': accepted(opaque('namedCertKey'), '[]', NO_WEBHOOKS),
}
