import { type AttackRow, NOTHING, theme } from './row.ts'

const KUBELET = 'kubelet'
const BY_REQUEST = `${KUBELET}, by a request with`

function row(
  tried: string,
  seen: string,
  refusedBy: AttackRow['refusedBy'] = 'controller',
  credential = BY_REQUEST,
): AttackRow {
  return { credential, tried, refusedBy, seen, victim: NOTHING }
}

const policy = (tried: string, seen: string) =>
  row(tried, seen, 'policy approve-certificate', "the controller's token")

/** A node that is proven asks for a serving certificate, as it may, and for more than is its own. */
export const certificates = theme("Getting a serving certificate that is another's", {
  "the victim's address": row("the victim's address", 'CertificateDenied'),
  "the victim's name": row("the victim's name", 'CertificateDenied'),
  "the victim's address among its own": row('the same beside its own address', 'CertificateDenied'),
  'an address that nobody has': row('an address that no Node has', 'NameNotVerified'),
  'a mapped address': row('the same: its own mapped to IPv6', 'NameNotVerified'),
  '0.0.0.0': row('the same: 0.0.0.0', 'NameNotVerified'),
  '::': row('the same: ::', 'NameNotVerified'),
  loopback: row('the same: 127.0.0.1', 'NameNotVerified'),
  'loopback of IPv6': row('the same: ::1', 'NameNotVerified'),
  'the API server': row("the API server's address", 'NameNotVerified'),
  'the Service of the API server': row('the same: that of its Service', 'NameNotVerified'),
  'a link-local address': row('the same: 169.254.169.254', 'NameNotVerified'),
  'the name of the API server': row(
    'another name, such as kubernetes.default.svc.cluster.local',
    'NameNotVerified',
  ),
  localhost: row('the same: localhost', 'NameNotVerified'),
  'a wildcard': row('the same: *', 'NameNotVerified'),
  'a wildcard below its name': row('the same: *.worker-1', 'NameNotVerified'),
  'a trailing dot': row('the same: its name and a dot', 'NameNotVerified'),
  'upper case': row('the same: its name in upper case', 'NameNotVerified'),
  'a name below its own': row('the same: a name below its own', 'NameNotVerified'),
  'an address as a name': row('the same: its address as a DNS name', 'NameNotVerified'),
  'a strange name among its own': row('the same: vault.example.com beside its own', 'NameNotVerified'),
  'an empty name': row('what no kubelet writes, such as an empty DNS name', 'RequestMalformed'),
  'a zero byte': row('the same: a zero byte in a name', 'RequestMalformed'),
  'an e-mail address': row('the same: an e-mail address', 'RequestMalformed'),
  'a URI': row('the same: a URI', 'RequestMalformed'),
  'no names': row('the same: no names', 'RequestMalformed'),
  'two values in O': row('the same: two values in one RDN', 'RequestMalformed'),
  'more in the subject': row('the same: a country', 'RequestMalformed'),
  'another extension': row('the same: the extension of a CA', 'RequestMalformed'),
  'a second attribute': row('the same: a challenge password beside', 'RequestMalformed'),
  'two PEM blocks': row('the same: a second PEM block', 'RequestMalformed'),
  'text before PEM': row('the same: text before PEM', 'RequestMalformed'),
  'another signature': row("another key's signature", 'verification failure', 'API server'),
  'two extensions of names': row(
    'two extensions of names',
    'duplicate requested extensions',
    'NodeRestriction',
  ),
  'two attribute sets': row(
    'the same: two attributes of extensions',
    'duplicate requested extensions',
    'NodeRestriction',
  ),
  'trailing bytes': row('the same: bytes after it', 'trailing data', 'NodeRestriction'),
  "another user's": row("the victim's name as its own", 'can only', 'NodeRestriction'),
  'a user that is written': row(
    "the victim's name as spec.username",
    'CertificateApproved',
    'nobody needs to',
  ),
  'two organizations': row('the organization system:masters', 'RequestNotOfKubelet'),
  'client auth': row('client auth', 'RequestNotOfKubelet'),
  'client auth beside': row('the same beside server auth', 'RequestNotOfKubelet'),
  'any usage': row('the same by any usage', 'RequestNotOfKubelet'),
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
    "a proven VM that took the API server's address",
  ),
  'only reported': row('its own request', 'NodeNotVerified', 'controller', 'a machine that is only reported'),
  'a VM that is off': row('its own request', 'NodeNotVerified', 'controller', 'one that is off'),
  'a VM that moved': row(
    'its own request',
    'NodeNotVerified',
    'controller',
    'one whose report now names another VM',
  ),
  'a Node registered anew': row(
    'its own request, before its Node is registered anew and proven',
    'RequestOlderThanNode',
    'controller',
    KUBELET,
  ),
  'a flood': row('twenty valid requests at once: six are approved', 'TooManyRequests', 'controller', KUBELET),
  'the name of a Service': row(
    'its own request',
    'NameNotAllowed',
    'controller',
    'one whose Node is named kubernetes.default.svc',
  ),
  'a name by a domain': row(
    'its own request, with `certificates.domains: nodes.example.com`',
    'NameNotAllowed',
    'controller',
    'a proven VM whose Node is named worker-10.nodes.example.com',
  ),
  'another signer': row(
    'approve a request for a client certificate',
    'not permitted to approve requests with signerName',
    'CertificateApproval',
    "the controller's token",
  ),
  'an unusual user': policy('approve a request that no kubelet made', 'which was not made by a kubelet'),
  'usages of a client': policy('one for client auth', 'whose usages are not those of a server'),
  'a denial without a message': policy('deny one without a message', 'by a denial without a message'),
  'another condition': policy('approve one by two conditions', 'by one condition, Approved or Denied'),
  'other metadata': policy('approve and label one', 'by changing its metadata'),
  'while reports may be forged': row(
    'its own request, once its VM is off',
    'PolicyNotInForce',
    'controller',
    `${KUBELET}, while the policy own-report is not in force`,
  ),
})
