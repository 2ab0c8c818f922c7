import { X509Certificate } from 'node:crypto'
import t, { type Test } from 'tap'
import {
  alternativeNames,
  attributeOf,
  challengePassword,
  commonName,
  country,
  der,
  dns,
  email,
  encoded,
  extension,
  extensionRequest,
  ip,
  OTHER_KEY,
  organization,
  organizations,
  pem,
  type RequestParts,
  requestDER,
  subjectOf,
  uri,
} from '../../controller/loops/certificates/testing/make-request.ts'
import { PATIENCE, until } from '../fixtures/until.ts'
import { applyManifests } from '../servers/manifests.ts'
import { SERVICE_ADDRESS } from '../servers/start-cluster.ts'
import {
  allowApprovals,
  certificateOf,
  REQUESTS,
  type RequestObject,
  readRequestObject,
  requestObject,
  startSigner,
} from '../world/certificates.ts'
import { reportObject } from '../world/crowd.ts'
import { kubeletIdentity } from '../world/kubelet.ts'
import { condition } from '../world/objects.ts'
import { record } from '../world/recorder.ts'
import { serviceAccountToken } from '../world/service-account.ts'
import { checkRefused, runTheme } from './refused.ts'
import { certificates } from './rows/certificates.ts'
import type { AttackRow } from './rows/row.ts'
import type { Sender } from './sender.ts'
import { type AttackStage, openAttackStage, REPORTS, truth } from './stage.ts'

const BINDINGS = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings'

/** The second of the forgers gives itself this address, as it could that of the API server. */
const EXCLUDED = '10.66.0.2'
/** A name of the victim by it is this and the victim's own. */
const DOMAIN = 'nodes.example.com'
const stage: AttackStage = await openAttackStage(
  t,
  { vms: 12 },
  {
    certificates: { approve: true, exclude: `${EXCLUDED}/32`, domains: DOMAIN },
    nodes: { internalNetworkSubnetCidr: '10.0.0.0/8' },
    until: 'answering',
  },
)
const { cluster, reports, vcsim } = stage
await allowApprovals(cluster)
// Each is deleted once its row is over.
const requests = await record<RequestObject>(cluster, REQUESTS)
t.teardown(() => requests.close())
const signer = await startSigner(cluster)
t.teardown(() => signer[Symbol.asyncDispose]())
const victim = await stage.victim('worker-10')
const forger = await stage.forger('worker-1')
const impostor = await stage.forger('worker-2')
const weak = await stage.forger('worker-3')
const off = await stage.forger('worker-4')
const moved = await stage.forger('worker-5')
const service = await stage.forger('kubernetes.default.svc')
const namesake = await stage.forger(`${victim.name}.${DOMAIN}`)
for (const each of [forger, impostor, off, moved, service, namesake]) await each.proven()
await weak.reported()
if (impostor.address !== EXCLUDED) throw new Error(`the impostor has ${impostor.address}`)

let made = 0
interface Asked {
  readonly parts?: RequestParts
  readonly spec?: object
  readonly who?: { readonly name: string; readonly address: string; readonly kubelet: Sender }
  readonly sender?: Sender
}

/** Asks for a certificate; by default as the kubelet of worker-1, for its own names. */
async function ask({ parts, spec, who = forger, sender = who.kubelet }: Asked) {
  const name = `csr-${++made}`
  const own = { subject: subjectOf(`system:node:${who.name}`), names: [dns(who.name), ip(who.address)] }
  const body = requestObject(name, { ...own, ...parts }, spec)
  return { name, answer: await sender.send({ method: 'POST', path: REQUESTS, body }) }
}

/** What is said of this request. */
async function said(node: string, request: string) {
  const found = () => {
    const report = reports.last(node)
    const said = report && condition(report, 'ServingCertificate')
    return said?.message.startsWith(`${request}:`) === true ? said : undefined
  }
  try {
    await reports.until(`${request} of ${node} is judged`, () => found() !== undefined)
  } catch (error) {
    throw new Error(`of ${node} is said: ${JSON.stringify(reports.last(node)?.status?.conditions)}`, {
      cause: error,
    })
  }
  return found()
}

/** The request is not approved, and the row says why. */
async function checkWaits(t: Test, row: AttackRow, node: string, name: string): Promise<void> {
  t.match(await said(node, name), { status: 'False', reason: row.seen })
  const { status } = await readRequestObject(cluster, name)
  const types = (status?.conditions ?? []).map(({ type }) => type)
  t.same(types, row.seen === 'CertificateDenied' ? ['Denied'] : [])
  t.equal(status?.certificate, undefined)
  await cluster.request('DELETE', `${REQUESTS}/${name}`)
}

const tries =
  (asked: Asked) =>
  async (t: Test, row: AttackRow): Promise<void> => {
    const { name, answer } = await ask(asked)
    if (row.refusedBy !== 'controller') return checkRefused(t, row, answer)
    t.equal(answer.status, 201, answer.message)
    await checkWaits(t, row, (asked.who ?? forger).name, name)
  }
const names = (...list: readonly Buffer[]) => tries({ parts: { names: list } })
const text = (request: string) => tries({ spec: { request: encoded(request) } })
const own = [dns(forger.name), ip(forger.address)]
const san = alternativeNames(...own)
const subject = subjectOf(`system:node:${forger.name}`)
const whole = pem(requestDER({ subject, names: own }))

const controller = await stage.sender({ token: await serviceAccountToken(cluster, 'rollcall-controller') })
const administrator = await stage.sender({
  certificate: await cluster.clientCertificate({ user: 'admin', groups: ['system:masters'] }),
})

await t.test('what is right is approved and signed, and the certificate is for just that', async (t) => {
  for (const who of [forger, off, moved]) {
    const { name, answer } = await ask({ who })
    if (!t.equal(answer.status, 201, answer.message)) return
    const certificate = new X509Certificate(await certificateOf(cluster, name))
    t.equal(certificate.subjectAltName, `DNS:${who.name}, IP Address:${who.address}`)
    t.match(certificate.keyUsage, ['1.3.6.1.5.5.7.3.1'])
    t.match(await said(who.name, name), { status: 'True', reason: 'CertificateApproved' })
    await cluster.request('DELETE', `${REQUESTS}/${name}`)
  }
})

/** A thief of the controller's token decides on a request that somebody has made. */
const decides =
  (
    asked: Asked,
    conditions: readonly object[] = [{ type: 'Approved', status: 'True', reason: 'Stolen', message: 'm' }],
    metadata: object = {},
  ) =>
  async (t: Test, row: AttackRow): Promise<void> => {
    const { name, answer: created } = await ask(asked)
    t.equal(created.status, 201, created.message)
    const answer = await controller.send({
      method: 'PATCH',
      path: `${REQUESTS}/${name}/approval`,
      contentType: 'application/merge-patch+json',
      body: { metadata, status: { conditions } },
    })
    checkRefused(t, row, answer)
    await cluster.request('DELETE', `${REQUESTS}/${name}`)
  }
/** Of a Node that waits, so that nobody decides on it meanwhile. */
const waits: Asked = { who: weak }

await runTheme(
  t,
  certificates,
  {
    "the victim's address": names(ip(victim.address)),
    "the victim's name": names(dns(victim.name)),
    "the victim's address among its own": names(...own, ip(victim.address)),
    'an address that nobody has': names(ip('10.66.0.200')),
    'a mapped address': names(ip(`::ffff:${forger.address}`)),
    '0.0.0.0': names(ip('0.0.0.0')),
    '::': names(ip('::')),
    loopback: names(ip('127.0.0.1')),
    'loopback of IPv6': names(ip('::1')),
    'the API server': names(ip(new URL(cluster.url).hostname), ip('10.66.0.250')),
    'the Service of the API server': names(ip(SERVICE_ADDRESS)),
    'a link-local address': names(ip('169.254.169.254')),
    'the name of the API server': names(dns('kubernetes.default.svc.cluster.local')),
    localhost: names(dns('localhost')),
    'a wildcard': names(dns('*')),
    'a wildcard below its name': names(dns(`*.${forger.name}`)),
    'a trailing dot': names(dns(`${forger.name}.`)),
    'upper case': names(dns(forger.name.toUpperCase())),
    'a name below its own': names(dns(`a.${forger.name}`)),
    'an address as a name': names(dns(forger.address)),
    'a strange name among its own': names(...own, dns('vault.example.com')),
    'an empty name': names(dns('')),
    'a zero byte': names(dns(`${forger.name}\0.example.com`)),
    'an e-mail address': names(...own, email('a@example.com')),
    'a URI': names(...own, uri('https://worker-10/')),
    'no names': tries({ parts: { attributes: [] } }),
    'two values in O': tries({
      parts: {
        subject: [organizations('system:nodes', 'system:masters'), commonName(`system:node:${forger.name}`)],
      },
    }),
    'more in the subject': tries({ parts: { subject: [...subject, country('DE')] } }),
    'another extension': tries({
      parts: {
        attributes: [extensionRequest(san, extension('551d13', der(0x30, der(0x01, Buffer.from([0xff])))))],
      },
    }),
    'a second attribute': tries({ parts: { attributes: [extensionRequest(san), challengePassword()] } }),
    'two PEM blocks': text(whole + pem(requestDER({ subject: subjectOf('system:node:worker-10') }))),
    'text before PEM': text(`Hello\n${whole}`),
    'another signature': tries({ parts: { signedWith: OTHER_KEY } }),
    'two extensions of names': tries({
      parts: { attributes: [extensionRequest(san, alternativeNames(ip(victim.address)))] },
    }),
    'two attribute sets': tries({
      parts: {
        attributes: [
          extensionRequest(san),
          attributeOf('2a864886f70d01090e', der(0x30, alternativeNames(ip(victim.address)))),
        ],
      },
    }),
    'trailing bytes': text(pem(Buffer.concat([requestDER({ subject, names: own }), Buffer.from([0])]))),
    "another user's": tries({ parts: { subject: subjectOf(`system:node:${victim.name}`) } }),
    'a user that is written': async (t, row) => {
      const { name, answer } = await ask({ spec: { username: `system:node:${victim.name}` } })
      t.equal(answer.status, 201, answer.message)
      t.match(answer.body, { spec: { username: `system:node:${forger.name}` } })
      t.match(await said(forger.name, name), { reason: row.seen })
      t.notMatch(new X509Certificate(await certificateOf(cluster, name)).subjectAltName, victim.name)
    },
    'two organizations': tries({ parts: { subject: [...subject, organization('system:masters')] } }),
    'client auth': tries({ spec: { usages: ['digital signature', 'client auth'] } }),
    'client auth beside': tries({ spec: { usages: ['digital signature', 'server auth', 'client auth'] } }),
    'any usage': tries({ spec: { usages: ['any'] } }),
    'more groups': async (t, row) => {
      const { user } = kubeletIdentity(forger.name)
      const certificate = await cluster.clientCertificate({ user, groups: ['system:nodes', 'operators'] })
      await tries({ sender: await stage.sender({ certificate }) })(t, row)
    },
    'an excluded address': tries({ who: impostor }),
    'only reported': tries({ who: weak }),
    'a VM that is off': async (t, row) => {
      await vcsim.setState({ vm: off.vm.ref, powerState: 'poweredOff' })
      await reports.until(`${off.name} is off`, () => {
        const report = reports.last(off.name)
        return report !== undefined && condition(report, 'VMFound')?.reason === 'VMPoweredOff'
      })
      await tries({ who: off })(t, row)
    },
    'a VM that moved': async (t, row) => {
      const [other] = stage.vms
      if (other === undefined) throw new Error('no VM is left')
      await moved.report(truth(moved, { machine: { ...truth(moved).machine, serialUUID: other.uuid } }))
      await moved.judged()
      await tries({ who: moved })(t, row)
    },
    'a Node registered anew': async (t, row) => {
      const again = await stage.forger('worker-6')
      await again.reported()
      const { name, answer } = await ask({ who: again })
      t.equal(answer.status, 201, answer.message)
      t.match(await said(again.name, name), { reason: 'NodeNotVerified' })
      await cluster.request('DELETE', `/api/v1/nodes/${again.name}`)
      await cluster.request('DELETE', `/apis/rollcall.dev/v1alpha1/nodereports/${again.name}`)
      // Times are in seconds.
      const { metadata } = await readRequestObject(cluster, name)
      await until(
        'the second is over',
        () => Date.now() > Date.parse(metadata.creationTimestamp) + 1_100,
        PATIENCE,
      )
      const next = await stage.forger('worker-6', { vm: again.vm })
      await next.proven()
      await checkWaits(t, row, next.name, name)
    },
    'a flood': async (t, row) => {
      const flooder = await stage.forger('worker-7')
      await flooder.proven()
      const asked = await Promise.all(Array.from({ length: 20 }, () => ask({ who: flooder })))
      const approved = async () => {
        const all = await Promise.all(asked.map(({ name }) => readRequestObject(cluster, name)))
        return all.filter(({ status }) => status?.conditions?.some(({ type }) => type === 'Approved')).length
      }
      await reports.until('too many are asked for', () => {
        const report = reports.last(flooder.name)
        return report !== undefined && condition(report, 'ServingCertificate')?.reason === row.seen
      })
      t.equal(await approved(), 6)
      const { name } = await ask({})
      t.match(await said(forger.name, name), { reason: 'CertificateApproved' }, 'others get theirs meanwhile')
    },
    'the name of a Service': tries({ who: service }),
    'a name by a domain': tries({ who: namesake }),
    'another signer': decides({
      ...waits,
      spec: {
        signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
        usages: ['digital signature', 'client auth'],
      },
      parts: { attributes: [] },
    }),
    'an unusual user': decides({ ...waits, sender: administrator }),
    'usages of a client': decides({ ...waits, spec: { usages: ['digital signature', 'client auth'] } }),
    'a denial without a message': decides(waits, [{ type: 'Denied', status: 'True', reason: 'Stolen' }]),
    'another condition': decides(waits, [
      { type: 'Approved', status: 'True', reason: 'Stolen', message: 'm' },
      { type: 'Noted', status: 'True', reason: 'Stolen', message: 'm' },
    ]),
    'other metadata': decides(waits, undefined, { labels: { a: 'b' } }),
    'while reports may be forged': async (t, row) => {
      await cluster.request('DELETE', `${BINDINGS}/own-report.rollcall.dev`)
      const forged = reportObject({ name: 'forged', uid: forger.uid, spec: truth(forger) })
      await until('anybody can write reports', async () => {
        return (await cluster.request('POST', `${REPORTS}?dryRun=All`, forged)).status === 201
      })
      await stage.newLeader({ until: 'answering' })
      // It is not looked at any more, and so its report goes on saying that it runs.
      await vcsim.setState({ vm: forger.vm.ref, powerState: 'poweredOff' })
      await tries({})(t, row)
      await applyManifests(cluster, ['policy-own-report.yaml'])
    },
  },
  victim,
)

await t.test('of all that was ever signed, everything is for its own Node alone', async (t) => {
  const signed = requests.versions.flatMap(({ object: { metadata, spec, status } }) =>
    status?.certificate === undefined ? [] : [{ name: metadata.name, ...spec, ...status }],
  )
  // Those that are right, and the one with another user written in it; of the flood some may come later.
  t.ok(new Set(signed.map(({ name }) => name)).size >= 4)
  for (const { username, certificate } of signed) {
    const { subjectAltName = '' } = new X509Certificate(Buffer.from(certificate ?? '', 'base64'))
    t.match(subjectAltName, new RegExp(`^DNS:${username.slice('system:node:'.length)}, IP Address:[\\d.]+$`))
    for (const address of [victim.address, EXCLUDED])
      t.notMatch(subjectAltName, new RegExp(`:${address}$`), username)
  }
})
