import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse, parseAllDocuments } from 'yaml'
import { PATIENCE } from '../fixtures/until.ts'
import type { Cluster } from './cluster.ts'

const folder = join(import.meta.dirname, '../../manifests/base')

/** The part of a Kubernetes object that says where it belongs. */
export interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string }
}

export interface PodTemplate {
  metadata: { labels?: Record<string, string> }
  spec: Record<string, unknown>
}

/** The files that an operator applies, in the order of the Kustomize base. */
export async function manifestFiles(): Promise<string[]> {
  const { resources } = parse(await readFile(join(folder, 'kustomization.yaml'), 'utf8'))
  return resources
}

/** The objects of a file in `manifests/base/`. */
export async function readManifests(file: string): Promise<Manifest[]> {
  const documents = parseAllDocuments(await readFile(join(folder, file), 'utf8'))
  return documents.map((document) => {
    const [problem] = document.errors
    if (problem) throw problem
    return document.toJS()
  })
}

/** The Pods of the one Deployment or DaemonSet in a file of `manifests/base/`. */
export async function podTemplate(file: string): Promise<PodTemplate> {
  const owner = (await readManifests(file)).find(({ kind }) => kind === 'Deployment' || kind === 'DaemonSet')
  if (!owner) throw new Error(`manifests/base/${file} has no Deployment or DaemonSet`)
  return (owner as Manifest & { spec: { template: PodTemplate } }).spec.template
}

/**
 * Applies files of `manifests/base/`, all of the Kustomize base by default, and resolves once they act: the CRD serves
 * reports and the policies refuse what they should.
 */
export async function applyManifests(cluster: Cluster, files?: readonly string[]): Promise<void> {
  for (const file of files ?? (await manifestFiles())) {
    for (const object of await readManifests(file)) {
      await applyManifest(cluster, object)
      if (object.kind === 'CustomResourceDefinition') await established(cluster, object.metadata.name)
      // The API server learns of policies in the order of their writing: the last in force, all that validate are.
      if (object.metadata.name === ownReport && object.kind.endsWith('Binding'))
        await policiesInForce(cluster)
    }
  }
}

/** Applies one object as administrator; `dryRun` asks the API server for its opinion only. */
export async function applyManifest(
  cluster: Cluster,
  object: Manifest,
  options: { dryRun?: boolean } = {},
): Promise<void> {
  const query = new URLSearchParams({ fieldManager: 'manifests', force: 'true', fieldValidation: 'Strict' })
  if (options.dryRun) query.set('dryRun', 'All')
  const url = `${await pathOf(cluster, object)}?${query}`
  await until(`${object.kind} ${object.metadata.name} is applied`, async () => {
    const { status, body } = await cluster.request<{ message?: string }>('PATCH', url, object, {
      contentType: 'application/apply-patch+yaml',
    })
    // An API server that has just started makes its own namespaces a moment later.
    if (status === 404) return body.message ?? 'not found'
    if (status > 201)
      throw new Error(`${object.kind} ${object.metadata.name} is refused (${status}): ${body.message}`)
    return true
  })
}

async function pathOf(cluster: Cluster, { apiVersion, kind, metadata }: Manifest): Promise<string> {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const { body } = await cluster.request<{ resources?: { name: string; kind: string }[] }>('GET', root)
  const resource = body.resources?.find((entry) => entry.kind === kind && !entry.name.includes('/'))
  if (!resource) throw new Error(`the API server has no kind ${kind} in ${apiVersion}`)
  const namespace = metadata.namespace ? `/namespaces/${metadata.namespace}` : ''
  return `${root}${namespace}/${resource.name}/${metadata.name}`
}

async function established(cluster: Cluster, name: string): Promise<void> {
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`
  await until(`${name} is established`, async () => {
    const { body } = await cluster.request<{ status?: { conditions?: { type: string; status: string }[] } }>(
      'GET',
      path,
    )
    const conditions = body.status?.conditions ?? []
    return conditions.some(({ type, status }) => type === 'Established' && status === 'True') || conditions
  })
}

const ownReport = 'own-report.rollcall.dev'

/**
 * Resolves once the policy for reports refuses. It tries a dry-run write that not even an administrator may do, and that
 * fits the schema, which is asked before policies.
 */
export async function policiesInForce(cluster: Cluster): Promise<void> {
  await until(`${ownReport} is in force`, async () => {
    const { status, body } = await writeForeignReport(cluster)
    return status === 403 && String(body.message).includes(ownReport) ? true : body
  })
}

/** Lets an administrator write reports, until a borrowed cluster is given back. */
export async function withdrawOwnReport(cluster: Cluster): Promise<void> {
  const bindings = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings'
  const { status } = await cluster.request('DELETE', `${bindings}/${ownReport}`)
  if (status !== 200) throw new Error(`deleting the binding of ${ownReport} is answered with ${status}`)
  await until(`${ownReport} is withdrawn`, async () => {
    const { status, body } = await writeForeignReport(cluster)
    return status === 201 ? true : body
  })
}

function writeForeignReport(cluster: Cluster) {
  return cluster.request<{ message?: string }>('POST', '/apis/rollcall.dev/v1alpha1/nodereports?dryRun=All', {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'NodeReport',
    metadata: { name: 'policy-probe' },
    spec: {
      nodeUID: '00000000-0000-0000-0000-000000000000',
      agentVersion: '0',
      machine: {},
      interfaces: [],
      tools: { guestinfoReadable: false, guestinfoWritable: false },
      claim: { written: false, reason: 'Probe', message: '' },
    },
  })
}

/** Asks until the answer is true; any other answer is what the failure shows. */
async function until(what: string, ask: () => Promise<unknown>): Promise<void> {
  const start = Date.now()
  for (;;) {
    const answer = await ask()
    if (answer === true) return
    if (Date.now() - start > PATIENCE)
      throw new Error(`gave up waiting until ${what}: ${JSON.stringify(answer)}`)
    await sleep(50)
  }
}
