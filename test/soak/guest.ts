import { readFile } from 'node:fs/promises'
import { Client } from 'undici'
import { AGENT_FIELD_MANAGER } from '../../agent/shared/node-report.ts'
import { claimVariable, drawClaim } from '../fixtures/claim.ts'
import type { Cluster } from '../servers/cluster.ts'
import type { VcsimVM } from '../servers/control.ts'
import type { Vcsim } from '../servers/vcsim.ts'
import { reportObject, reportOf } from '../world/crowd.ts'
import { kubeletIdentity, nodeObject } from '../world/kubelet.ts'
import { ready } from '../world/objects.ts'
import type { Ledger, SoakMachine } from './ledger.ts'
import type { NodeWatch } from './node-watch.ts'

export interface GuestContext {
  readonly cluster: Cluster
  readonly vcsim: Vcsim
  readonly nodes: Pick<NodeWatch, 'last'>
  readonly ledger: Ledger
}

/** What runs in one VM: a stand-in for its kubelet and its agent, with the credential of its Node. */
export interface Guest {
  readonly name: string
  readonly address: string
  readonly machine: SoakMachine
  /** As vCenter has it; its reference changes when it is registered again. */
  vm: VcsimVM
  /** Whether an agent runs there. */
  readonly agent: boolean
  /** Whether it reaches the API server. */
  linked: boolean
  /** Whether something is being done to it. */
  busy: boolean
  /** Does what kubelet and agent would do by now. Rejects while the API server cannot be reached; nothing is lost then. */
  beat(): Promise<void>
  boot(): void
  /** Its kubelet was started anew and registers again if its Node is not there. */
  restartKubelet(): void
  close(): Promise<void>
}

/** As the kubelet's nodeStatusReportFrequency, and the agent's `--refresh`, milliseconds. */
const STATUS_EVERY = 300_000
const REPORT_EVERY = 240_000
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
const MERGE = 'application/merge-patch+json'

/** Prepares a machine's credential; `boot` starts it. */
export async function createGuest(
  { cluster, vcsim, nodes, ledger }: GuestContext,
  { name, address, vm, agent }: Pick<Guest, 'name' | 'address' | 'vm' | 'agent'>,
): Promise<Guest> {
  const files = await cluster.clientCertificate(kubeletIdentity(name))
  const client = new Client(cluster.url, {
    connect: {
      ca: await readFile(cluster.caFile, 'utf8'),
      cert: await readFile(files.certificateFile, 'utf8'),
      key: await readFile(files.keyFile, 'utf8'),
      ALPNProtocols: ['http/1.1'],
    },
    allowH2: false,
    keepAliveTimeout: 60_000,
    headersTimeout: 15_000,
  })
  const machine = ledger.add({ node: name, biosUUID: vm.uuid })
  /** Boot ID and nonce; the Node is another where it was registered anew. */
  let claim = drawClaim('')
  let registered = false
  let statusAt = 0
  let reportedAt = 0
  let beating: Promise<void> | undefined

  async function request(
    method: 'GET' | 'POST' | 'PATCH',
    path: string,
    { body, type = 'application/json', passes = [] }: { body?: object; type?: string; passes?: number[] },
  ): Promise<{ status: number; body: { metadata?: { uid?: string }; message?: string } }> {
    const answer = await client.request({
      method,
      path,
      headers: { 'content-type': type },
      body: body === undefined ? null : JSON.stringify(body),
    })
    const text = await answer.body.text()
    const { statusCode: status } = answer
    if (status > 201 && !passes.includes(status)) throw new Error(`${method} ${path}: ${status} ${text}`)
    return { status, body: status > 299 ? {} : JSON.parse(text) }
  }

  /** As `tryRegisterWithAPIServer` of the kubelet: a Node that is there is taken over. */
  async function register(): Promise<void> {
    const made = await request('POST', '/api/v1/nodes', {
      body: nodeObject({ name, biosUUID: guest.vm.uuid }),
      passes: [409],
    })
    const { body } = made.status === 409 ? await writeStatus() : made
    // It may just have gone; the next beat makes another.
    if (body.metadata?.uid === undefined) return
    machine.nodeUID = body.metadata.uid
    registered = true
    statusAt = performance.now()
    ledger.note(
      name,
      statusAt,
      `${guest.vm.name} ${made.status === 409 ? 'takes over' : 'registers'} Node ${machine.nodeUID}`,
    )
  }

  function writeStatus() {
    const { status } = nodeObject({ name, biosUUID: guest.vm.uuid })
    return request('PATCH', `/api/v1/nodes/${name}/status`, {
      body: {
        status: { nodeInfo: { ...status.nodeInfo, bootID: claim.bootID }, conditions: status.conditions },
      },
      type: 'application/strategic-merge-patch+json',
      passes: [404],
    })
  }

  async function renewLease(): Promise<void> {
    const spec = {
      holderIdentity: name,
      leaseDurationSeconds: 40,
      renewTime: new Date().toISOString().replace('Z', '000Z'),
    }
    const { status } = await request('PATCH', `${LEASES}/${name}`, {
      body: { spec },
      type: MERGE,
      passes: [404],
    })
    if (status !== 404) return
    const metadata = { name, namespace: 'kube-node-lease' }
    await request('POST', LEASES, { body: { metadata, spec }, passes: [409] })
  }

  async function report(): Promise<void> {
    const uid = machine.nodeUID ?? ''
    machine.reportedFor = uid
    claim = { ...claim, nodeUID: uid }
    await vcsim.setGuestinfo(claimVariable(guest.vm.ref, claim))
    const spec = reportOf(guest.vm, { name, address, claim })
    const body = reportObject({ name, uid, spec }, new Date().toISOString().replace(/\.\d+/, ''))
    await request(
      'PATCH',
      `/apis/rollcall.dev/v1alpha1/nodereports/${name}?fieldManager=${AGENT_FIELD_MANAGER}&force=true`,
      { body, type: 'application/apply-patch+yaml' },
    )
    reportedAt = performance.now()
  }

  async function live(): Promise<void> {
    if (!registered) await register()
    if (!registered) return
    await renewLease()
    const node = nodes.last(name)
    const isOwn = node?.metadata.uid === machine.nodeUID
    const now = performance.now()
    if (isOwn && (ready(node) !== 'True' || now - statusAt > STATUS_EVERY)) {
      await writeStatus()
      statusAt = now
    }
    if (agent && now - reportedAt > REPORT_EVERY) await report()
  }

  const guest: Guest = {
    name,
    address,
    machine,
    vm,
    agent,
    linked: true,
    busy: false,
    async beat() {
      if (!guest.linked || !machine.runs || machine.destroyedAt !== undefined) return
      beating ??= live().finally(() => {
        beating = undefined
      })
      await beating
    },
    boot() {
      claim = drawClaim('')
      machine.runs = true
      guest.restartKubelet()
    },
    restartKubelet() {
      registered = false
      reportedAt = Number.NEGATIVE_INFINITY
    },
    close: () => client.destroy(),
  }
  reportedAt = Number.NEGATIVE_INFINITY
  return guest
}
