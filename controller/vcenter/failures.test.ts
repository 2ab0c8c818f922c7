import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
/** What vCenter and the network may do to an inventory, and how it looks from outside. */
import { createServer as createTCPServer, type Server } from 'node:net'
import t from 'tap'
import { until } from '../../test/fixtures/until.ts'
import type { VcsimFault } from '../../test/servers/control.ts'
import { CLOSED_PORT } from '../../test/servers/ports.ts'
import type { Vcsim } from '../../test/servers/vcsim.ts'
import type { VCenterConfig } from '../config/config.ts'
import { Secret } from '../config/secret.ts'
import { answered, type Lab, NEVER, openLab, QUICK, told, vmAt, vmsOf } from './testing/lab.ts'

const failureOf = ({ inventory }: Lab) => until('a failure', () => inventory.failure())

t.test('trust', async (t) => {
  const lab = await openLab(t)
  const { uuid } = await vmAt(lab, 0)
  const plain = (thumbprint: string) => thumbprint.replaceAll(':', '').toLowerCase()
  const seen = plain(lab.vCenter.thumbprint256)
  const { validTo } = new X509Certificate(await readFile(lab.vCenter.certificateFile))
  const cases: readonly [string, VCenterConfig['trust'], string | undefined, RegExp][] = [
    ['SHA-1', { kind: 'thumbprint', thumbprints: [plain(lab.vCenter.thumbprint)] }, undefined, /./],
    ['SHA-256', { kind: 'thumbprint', thumbprints: ['ab'.repeat(20), seen] }, undefined, /./],
    ['none', { kind: 'insecure' }, undefined, /./],
    [
      'wrong',
      { kind: 'thumbprint', thumbprints: ['ab'.repeat(20)] },
      'WrongThumbprint',
      new RegExp(`${seen}.*(ab){20}`),
    ],
    ['system', { kind: 'system' }, 'CertificateNotTrusted', new RegExp(`this system's CAs.*${seen}`)],
  ]
  for (const [name, trust, reason, message] of cases) {
    // A look at the same simulator by other means.
    const other = await openLab(t, {
      config: {
        trust,
        server: lab.vCenter.host,
        port: lab.vCenter.port,
        password: new Secret(lab.vCenter.password),
      },
    })
    other.inventory.follow(uuid)
    if (reason === undefined) await answered(other, uuid)
    else t.match(await failureOf(other), { reason, message }, name)
    t.equal(other.inventory.certificateExpiry(), Date.parse(validTo), `${name}: its end is known`)
    await other.stop()
  }
})

t.test('a CA that signed another certificate, and a right one for another name', async (t) => {
  const foreign = await openLab(t)
  const pem = await readFile(foreign.vCenter.certificateFile, 'utf8')
  const lab = await openLab(t, { config: { trust: { kind: 'ca', pem } } })
  t.match(await failureOf(lab), { reason: 'CertificateNotTrusted', message: /configured CA/ })
  const misnamed = await openLab(t, { config: { server: '127.0.0.2' } })
  t.match(await failureOf(misnamed), { reason: /CertificateNotTrusted|Unreachable/ })
})

t.test('a server that is not there, is silent, or speaks another language', async (t) => {
  const open: Server[] = []
  t.teardown(() => Promise.all(open.map((server) => new Promise((resolve) => server.close(resolve)))))
  const listen = (onConnection: (socket: import('node:net').Socket) => void): Promise<number> =>
    new Promise((resolve) => {
      const server = createTCPServer(onConnection)
      open.push(server)
      server.listen(0, '127.0.0.1', () => {
        const address = server.address()
        resolve(typeof address === 'object' && address !== null ? address.port : 0)
      })
    })
  const silent = await listen((socket) => void socket.resume().on('error', () => undefined))
  const http = await listen(
    (socket) =>
      void socket
        .resume()
        .on('error', () => undefined)
        .end('HTTP/1.1 400 Bad Request\r\n\r\n'),
  )
  const cases: readonly [string, Partial<VCenterConfig>, string, RegExp][] = [
    ['closed port', { port: CLOSED_PORT }, 'Unreachable', /ECONNREFUSED|refuse/],
    ['unknown name', { server: 'vcenter.invalid' }, 'Unreachable', /./],
    ['silent', { port: silent }, 'TimedOut', /./],
    ['no TLS', { port: http }, 'NotVCenter', /./],
  ]
  for (const [name, config, reason, message] of cases) {
    const lab = await openLab(t, { config, timings: { ...QUICK, callDeadline: 2_000 } })
    t.match(await failureOf(lab), { reason, message }, name)
    await t.resolves(lab.stop(), `${name}: stops`)
  }
})

t.test(
  'each kind of bad answer, in service: said after the grace, then resumed with the same session',
  async (t) => {
    const faults: readonly [Partial<VcsimFault> & Pick<VcsimFault, 'kind'>, string][] = [
      [{ kind: 'status', status: 503 }, 'Unavailable'],
      [{ kind: 'hang' }, 'TimedOut'],
      [{ kind: 'reset' }, 'Unreachable'],
      [{ kind: 'abort' }, 'Unreachable'],
      [{ kind: 'truncate' }, 'MalformedAnswer'],
      [{ kind: 'doctype' }, 'MalformedAnswer'],
      [{ kind: 'huge' }, 'MalformedAnswer'],
      [{ kind: 'html' }, 'NotVCenter'],
    ]
    const lab = await openLab(t, {
      // Enough for a busy machine to read what is huge.
      timings: { ...QUICK, failureGrace: 300, callDeadline: 5_000, pollWait: 1_000, pollGrace: 4_000 },
    })
    const { uuid } = await vmAt(lab, 0)
    lab.inventory.follow(uuid)
    await answered(lab, uuid)
    const polls = async () => (await lab.vCenter.calls()).operations.WaitForUpdatesEx ?? 0
    for (const [fault, reason] of faults) {
      const before = await polls()
      // An object whose name is lost would cost the session, so all of them are made before.
      await until('a poll after the first', async () => (await polls()) > before + 1)
      await lab.vCenter.fault({ operation: '*', ...fault })
      t.match(await failureOf(lab), { reason }, fault.kind)
      t.match(lab.inventory.lookup(uuid), { state: 'unknown', failure: { reason } }, fault.kind)
      await lab.vCenter.clearFaults()
      await answered(lab, uuid)
      t.equal(lab.inventory.failure(), undefined, fault.kind)
    }
    t.equal((await lab.vCenter.calls()).operations.Login, 1, 'the session outlived them all')
    t.equal((await lab.vCenter.sessions()).soap, 1)
  },
)

t.test(
  'a vCenter that refuses each filter is told with what that means, and followed once it takes one',
  async (t) => {
    const before = (vCenter: Vcsim) =>
      vCenter.fault({ operation: 'CreateFilter', kind: 'fault', fault: 'SystemError' })
    const lab = await openLab(t, { before })
    const { uuid } = await vmAt(lab, 0)
    lab.inventory.follow(uuid)
    t.match(await failureOf(lab), {
      reason: 'UnexpectedFault',
      message: /refuses to push what changes of its VMs.*fault SystemError.*vpxd/,
    })
    const refused = async () => (await lab.vCenter.faults())[0]?.hits ?? 0
    await until('it is tried again', async () => (await refused()) > 2)
    await lab.vCenter.clearFaults()
    await answered(lab, uuid)
    t.equal((await lab.vCenter.calls()).operations.Login, 1)
    t.equal((await lab.vCenter.sessions()).soap, 1)
  },
)

t.test('a failure shorter than the grace is not seen', async (t) => {
  const lab = await openLab(t, { timings: { ...QUICK, failureGrace: NEVER } })
  const { uuid } = await vmAt(lab, 0)
  lab.inventory.follow(uuid)
  await told(lab, uuid)
  const before = lab.changes.length
  const times = (words: string) => lab.log.filter((line) => line.includes(words)).length
  t.equal(times('"following"'), 1)
  for (const operation of ['WaitForUpdatesEx', 'CancelWaitForUpdates', 'CurrentTime'])
    await lab.vCenter.fault({ operation, kind: 'reset', times: 1 })
  await until('the faults', async () => (await lab.vCenter.faults()).every((fault) => fault.hits === 1))
  await until('it follows again', () => times('"following"') > 1)
  t.equal(times('vCenter failed'), 2)
  t.equal(lab.inventory.failure(), undefined)
  t.ok(vmsOf(lab.inventory.lookup(uuid)))
  t.equal(lab.changes.length, before)
})

t.test('a property read that fails after the search leaves the VM unknown, not gone', async (t) => {
  const lab = await openLab(t, {
    before: async (vCenter) => {
      const [vm] = await vCenter.vms()
      await vCenter.fault({
        operation: 'RetrievePropertiesEx',
        object: vm?.ref ?? '',
        kind: 'fault',
        fault: 'NoPermission',
      })
    },
  })
  const denied = await vmAt(lab, 0)
  const other = await vmAt(lab, 1)
  lab.inventory.follow(denied.uuid)
  lab.inventory.follow(other.uuid)
  await answered(lab, other.uuid)
  t.match(lab.inventory.lookup(denied.uuid), {
    state: 'unknown',
    failure: { reason: 'NoPermission', message: new RegExp(`anything of the VM ${denied.ref} .*Read-only`) },
  })
  t.equal(lab.inventory.failure(), undefined, 'vCenter itself is well')
  await lab.vCenter.clearFaults()
  lab.inventory.recheck(denied.uuid)
  await answered(lab, denied.uuid)
})
