import { setTimeout as sleep } from 'node:timers/promises'
import { dns, ip, makeRequest, subjectOf } from '../../controller/loops/certificates/testing/make-request.ts'
import { allowApprovals, REQUESTS, type RequestObject } from '../world/certificates.ts'
import { startController } from '../world/controller.ts'
import { type CrowdMember, inParallel } from '../world/crowd.ts'
import { isInitialized } from '../world/objects.ts'
import { record } from '../world/recorder.ts'
import { serviceAccountToken } from '../world/service-account.ts'
import { LABELS } from '../world/stage.ts'
import type { Budgeted } from './budgets.ts'
import { percentile } from './percentile.ts'
import type { BenchStage } from './stage.ts'

const PATIENCE = 600_000
const APPROVED = { type: 'Approved', status: 'True', reason: 'ApprovedByRollcall', message: 'for its names' }
/** Approvals, in times of the floor. */
const RATIO = 2
/** What may lie between two runs on one machine. */
const NOISE = 1.15

/** The seconds of each part, from the first report and request on. */
export interface CertificateFigures {
  readonly nodes: number
  /** Two writes for each Node, an approval and a status, by a client who does nothing else. */
  readonly floor: number
  /** Until the last Node was initialized: while nobody approves, and while Rollcall does. */
  readonly without: number
  readonly initialized: number
  /** From the last Node initialized until the last request was approved. */
  readonly approvals: number
  /** From a Node initialized until its request was approved. */
  readonly median: number
  readonly worst: number
}

/** As many requests at once as there are Nodes that are initialized. */
export async function benchCertificates(
  stage: BenchStage,
  progress: (text: string) => void,
): Promise<CertificateFigures> {
  await allowApprovals(stage.cluster)
  progress('certificates: the API server alone')
  const floor = await measureFloor(stage)
  progress('certificates: nobody approves them')
  const before = await run(stage, false)
  progress('certificates: Rollcall approves them')
  const figures = await run(stage, true)
  progress('certificates: nobody approves them')
  const after = await run(stage, false)
  // Before and after, for the machine may have others to serve.
  const without = (before.initialized + after.initialized) / 2
  return {
    nodes: stage.machines.length,
    floor: (floor + (await measureFloor(stage))) / 2,
    without,
    ...figures,
  }
}

export function certificateBudgets({
  nodes,
  floor,
  without,
  initialized,
  approvals,
}: CertificateFigures): readonly Budgeted[] {
  return [
    {
      figure: `${nodes} certificates beside ${nodes} Nodes: approvals, times the floor`,
      value: approvals / floor,
      budget: RATIO,
    },
    {
      figure: `${nodes} Nodes beside as many certificates, times the same without`,
      value: initialized / without,
      budget: NOISE,
    },
  ]
}

async function run(
  stage: BenchStage,
  approve: boolean,
): Promise<Omit<CertificateFigures, 'nodes' | 'floor' | 'without'>> {
  const { cluster, vcsim, dir } = stage
  await using cast = await stage.enter()
  await using requests = await record<RequestObject>(cluster, REQUESTS)
  await using _controller = await startController({
    cluster,
    vcsim,
    dir,
    labels: LABELS,
    certificates: { approve, networks: '10.0.0.0/8' },
    args: ['--log-level=warn'],
  })
  // A request older than its Node is not approved, and times are in seconds.
  await sleep(1_000)
  const start = performance.now()
  const asked = Promise.all([cast.report(), ask(stage, cast.members)])
  const { last } = await cast.initialized(PATIENCE)
  await asked
  const approvedAt = new Map<string, number>()
  let seen = 0
  const look = () => {
    for (; seen < requests.versions.length; seen++) {
      const { object, at } = requests.versions[seen] ?? {}
      const isApproved = object?.status?.conditions?.some(({ type }) => type === 'Approved') === true
      if (isApproved && at !== undefined && !approvedAt.has(object.metadata.name))
        approvedAt.set(object.metadata.name, at)
    }
    return approvedAt.size === cast.members.length
  }
  if (approve) await requests.until('all requests are approved', look, PATIENCE)
  const delays = cast.members.flatMap(({ name }) => {
    const initialized = cast.nodes.of(name).find(({ object }) => isInitialized(object))?.at
    const approved = approvedAt.get(`of-${name}`)
    return initialized === undefined || approved === undefined ? [] : [(approved - initialized) / 1000]
  })
  await cluster.request('DELETE', REQUESTS)
  return {
    initialized: (last - start) / 1000,
    approvals: (Math.max(last, ...approvedAt.values()) - last) / 1000,
    median: percentile(delays, 0.5),
    worst: percentile(delays, 1),
  }
}

/** Each as the kubelet of its Node, whom an administrator may impersonate. */
async function ask({ cluster }: Pick<BenchStage, 'cluster'>, members: readonly CrowdMember[]): Promise<void> {
  await inParallel(members, async ({ name, address }) => {
    const user = `system:node:${name}`
    const request = makeRequest({ subject: subjectOf(user), names: [dns(name), ip(address)] })
    const spec = {
      request,
      signerName: 'kubernetes.io/kubelet-serving',
      usages: ['digital signature', 'server auth'],
    }
    const body = {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name: `of-${name}` },
      spec,
    }
    const headers = { 'impersonate-user': user, 'impersonate-group': 'system:nodes' }
    const { status } = await cluster.request('POST', REQUESTS, body, { headers })
    if (status !== 201) throw new Error(`the request of ${name} is answered with ${status}`)
  })
}

/** What nobody can do without: an approval, and a status that says so, sixteen at a time as the controller would. */
async function measureFloor(stage: BenchStage): Promise<number> {
  const { cluster } = stage
  await using cast = await stage.enter()
  await Promise.all([cast.report(), ask(stage, cast.members)])
  const token = await serviceAccountToken(cluster, 'rollcall-controller')
  const patch = (path: string, status: object) =>
    cluster.request('PATCH', path, { status }, { contentType: 'application/merge-patch+json', token })
  const start = performance.now()
  await Promise.all(
    [0, 1].map((half) =>
      inParallel(
        cast.members.filter((_, i) => i % 2 === half),
        async ({ name }) => {
          const conditions = [
            {
              ...APPROVED,
              type: 'ServingCertificate',
              reason: 'CertificateApproved',
              lastTransitionTime: '2026-01-01T00:00:00Z',
            },
          ]
          await patch(`${REQUESTS}/of-${name}/approval`, { conditions: [APPROVED] })
          await patch(`/apis/rollcall.dev/v1alpha1/nodereports/${name}/status`, { conditions })
        },
      ),
    ),
  )
  const seconds = (performance.now() - start) / 1000
  await cluster.request('DELETE', REQUESTS)
  return seconds
}
