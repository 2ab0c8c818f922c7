import { type AttackRow, NOTHING, theme } from './row.ts'

function row(
  tried: string,
  seen: string,
  refusedBy: AttackRow['refusedBy'] = 'controller',
  credential = "worker-1's kubelet",
): AttackRow {
  return { credential, tried, refusedBy, seen, victim: NOTHING }
}

const policy = (tried: string, seen: string) =>
  row(tried, seen, 'policy approve-certificate', "the controller's token")

/** A node that is proven asks for a serving certificate, as it may, and for more than is its own. */
export const certificates = theme("Getting a serving certificate that is another's", {
  "the victim's address": row("a request with the victim's address", 'CertificateDenied'),
  "the victim's name": row("a request with the victim's name", 'CertificateDenied'),
  "the victim's address among its own": row(
    "a request with the victim's address beside its own",
    'CertificateDenied',
  ),
  'an address that nobody has': row(
    'a request with an address of the node network that no Node has',
    'NameNotVerified',
  ),
  'a mapped address': row('a request with its own address mapped to IPv6', 'NameNotVerified'),
  '0.0.0.0': row('a request with 0.0.0.0', 'NameNotVerified'),
  '::': row('a request with ::', 'NameNotVerified'),
  loopback: row('a request with 127.0.0.1', 'NameNotVerified'),
  'loopback of IPv6': row('a request with ::1', 'NameNotVerified'),
  'the API server': row('a request with the address of the API server', 'NameNotVerified'),
  'the Service of the API server': row('a request with that of the Service kubernetes', 'NameNotVerified'),
  'a link-local address': row('a request with 169.254.169.254', 'NameNotVerified'),
  'the name of the API server': row('a request with kubernetes.default.svc.cluster.local', 'NameNotVerified'),
  localhost: row('a request with localhost', 'NameNotVerified'),
  'a wildcard': row('a request with *', 'NameNotVerified'),
  'a wildcard below its name': row('a request with *.worker-1', 'NameNotVerified'),
  'a trailing dot': row('a request with its name and a dot', 'NameNotVerified'),
  'upper case': row('a request with its name in upper case', 'NameNotVerified'),
  'a name below its own': row('a request with a name below its own', 'NameNotVerified'),
  'an address as a name': row('a request with its address as a DNS name', 'NameNotVerified'),
  'a strange name among its own': row('a request with vault.example.com beside its own', 'NameNotVerified'),
  'an empty name': row('a request with an empty DNS name', 'RequestMalformed'),
  'a zero byte': row('a request with a zero byte in a name', 'RequestMalformed'),
  'an e-mail address': row('a request with an e-mail address', 'RequestMalformed'),
  'a URI': row('a request with a URI', 'RequestMalformed'),
  'no names': row('a request without names', 'RequestMalformed'),
  'two values in O': row('a request with two values in one place of its subject', 'RequestMalformed'),
  'more in the subject': row('a request with a country', 'RequestMalformed'),
  'another extension': row('a request with the extension of a CA', 'RequestMalformed'),
  'a second attribute': row('a request with a challenge password beside', 'RequestMalformed'),
  'two PEM blocks': row('a request with a second PEM block after it', 'RequestMalformed'),
  'text before PEM': row('a request with text before the PEM block', 'RequestMalformed'),
  'another signature': row('a request that is signed with another key', 'verification failure', 'API server'),
  'two extensions of names': row(
    'a request with two extensions of names',
    'duplicate requested extensions',
    'NodeRestriction',
  ),
  'two attribute sets': row(
    'a request with two attributes of extensions',
    'duplicate requested extensions',
    'NodeRestriction',
  ),
  'trailing bytes': row('a request with bytes after it', 'trailing data', 'NodeRestriction'),
  "another user's": row("a request in the victim's name", 'can only', 'NodeRestriction'),
  'a user that is written': row(
    "its own request, with the victim's name as spec.username",
    'CertificateApproved',
    'nobody needs to',
  ),
  'two organizations': row('a request with the organization system:masters beside', 'RequestNotOfKubelet'),
  'client auth': row('a request for client auth', 'RequestNotOfKubelet'),
  'client auth beside': row('a request for client auth beside server auth', 'RequestNotOfKubelet'),
  'any usage': row('a request for any usage', 'RequestNotOfKubelet'),
  'more groups': row(
    'its own request',
    'RequestNotOfKubelet',
    'controller',
    'certificate system:node:worker-1 in system:nodes and another group',
  ),
  'an excluded address': row(
    'its own request',
    'NameNotAllowed',
    'controller',
    'a proven VM that gave itself the address of the API server',
  ),
  'only reported': row('its own request', 'NodeNotVerified', 'controller', 'a machine that is only reported'),
  'a VM that is off': row(
    'its own request',
    'NodeNotVerified',
    'controller',
    'the kubelet of a VM that is off',
  ),
  'a VM that moved': row(
    'its own request',
    'NodeNotVerified',
    'controller',
    'the kubelet of a Node whose report names another VM by now',
  ),
  'a Node registered anew': row(
    'its own request, then the Node is deleted and registered anew, and proven',
    'RequestOlderThanNode',
  ),
  'a flood': row('twenty requests at once, all of them right: six are approved', 'TooManyRequests'),
  'the name of a Service': row(
    'its own request',
    'NameNotAllowed',
    'controller',
    'a proven VM whose Node is named kubernetes.default.svc',
  ),
  'another signer': row(
    'approve a request for a client certificate',
    'not permitted to approve requests with signerName',
    'CertificateApproval',
    "the controller's token",
  ),
  'an unusual user': policy('approve a request that no kubelet made', 'which was not made by a kubelet'),
  'usages of a client': policy('approve a request for client auth', 'whose usages are not those of a server'),
  'a denial without a message': policy('deny a request without a message', 'by a denial without a message'),
  'another condition': policy('approve a request by two conditions', 'by one condition, Approved or Denied'),
  'other metadata': policy('approve a request, and give it a label', 'by changing its metadata'),
})
