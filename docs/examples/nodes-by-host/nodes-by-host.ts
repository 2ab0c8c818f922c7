// Keeps, for each ESXi host, the Nodes on it, and prints them when they change. "!" marks a host with several Nodes. NODES is
// a regular expression for the names of the Nodes that count, for example ^control-plane-.
// It reads NodeReports (role.yaml) and needs no package at run time: node nodes-by-host.ts, with Node.js 22.18 or later.
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NodeReport } from 'rollcall-node-report'

const {
  API_SERVER = 'https://kubernetes.default.svc',
  TOKEN_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/token',
  NODES = '',
} = process.env
/** The host of each Node whose VM is verified, as VCENTER/HOST. */
const hosts = new Map<string, string>()
let printed = ''

/** A status counts if it is about the Node that the agent reports from, and only a verified VM counts. */
function keep({ metadata: { name }, spec, status }: NodeReport, isGone = false): void {
  const isVerified = status?.nodeUID === spec.nodeUID && status.identityLevel !== undefined
  hosts.delete(name)
  if (isGone || !isVerified || status.vm?.host === undefined || !new RegExp(NODES).test(name)) return
  hosts.set(name, `${status.vm.vCenter}/${status.vm.host}`)
}

function print(): void {
  const byHost = [...Map.groupBy(hosts.keys(), (node) => hosts.get(node) ?? '')].sort()
  const lines = byHost.map(([host, on]) => `${on.length > 1 ? '!' : ' '} ${host}: ${on.sort().join(', ')}\n`)
  if (lines.join('') === printed) return
  printed = lines.join('')
  process.stdout.write(`${printed}\n`)
}

async function get(query: string): Promise<Response> {
  const headers = { authorization: `Bearer ${(await readFile(TOKEN_FILE, 'utf8')).trim()}` }
  const answer = await fetch(`${API_SERVER}/apis/rollcall.dev/v1alpha1/nodereports?${query}`, { headers })
  if (!answer.ok || answer.body === null) throw new Error(`${answer.status}: ${await answer.text()}`)
  return answer
}

/** Lists all reports, then follows them until the watch ends. */
async function follow(): Promise<void> {
  const { metadata, items } = JSON.parse(await (await get('')).text())
  hosts.clear()
  for (const report of items) keep(report)
  print()
  const watch = await get(`watch=true&timeoutSeconds=300&resourceVersion=${metadata.resourceVersion}`)
  for await (const line of createInterface(Readable.fromWeb(watch.body as never))) {
    const { type, object } = JSON.parse(line) as { type: string; object: NodeReport }
    if (type === 'ERROR') return
    keep(object, type === 'DELETED')
    print()
  }
}

for (;;) {
  await follow().catch((error: Error) => process.stderr.write(`${error.message}\n`))
  await sleep(1_000)
}
