/** The recording of vcsim, made anew: of the same form as the file, and without anything that it was planted with. */
import { readFile } from 'node:fs/promises'
import t from 'tap'
import type { Exchange } from '../../controller/inspect/recording/clean-exchange.ts'
import { printRecording, type VCenterRecording } from '../../controller/inspect/recording/record-vcenter.ts'
import { readXML, type XMLElement } from '../../controller/vcenter/wire/xml.ts'
import { fileOf, recordSimulator, SCENES } from './make.ts'

const CALLS = [
  'RetrieveServiceContent',
  'Login',
  'CurrentTime',
  'CreateContainerView',
  'CreateListView',
  'ModifyListView',
  'CreatePropertyCollector',
  'CreateFilter',
  'RetrievePropertiesEx',
  'WaitForUpdatesEx',
  'FindAllByUuid',
  'HasPrivilegeOnEntities',
].map((operation) => `SOAP ${operation}`)
const OLDER = [
  'POST /rest/com/vmware/cis/session',
  'GET /rest/com/vmware/cis/tagging/category',
  'GET /rest/com/vmware/cis/tagging/category/',
  'GET /rest/com/vmware/cis/tagging/tag/',
  'POST /rest/com/vmware/cis/tagging/tag-association?~action=list-attached-tags-on-objects',
]
const NEWER = [
  'GET /sdk/vimServiceVersions.xml',
  'POST /api/session',
  'GET /api/cis/tagging/category',
  'GET /api/cis/tagging/category/',
  'GET /api/cis/tagging/tag/',
  'POST /api/cis/tagging/tag-association?action=list-attached-tags-on-objects',
]

for (const scene of SCENES)
  await t.test(scene, async (t) => {
    const { recording, secrets } = await recordSimulator(scene)
    const text = printRecording(recording).toLowerCase()
    for (const secret of secrets) t.notOk(text.includes(secret.toLowerCase()), `it does not have ${secret}`)
    // As printRecording writes it.
    const file = JSON.parse(await readFile(fileOf(scene), 'utf8')) as VCenterRecording
    t.same(await formOf(recording), await formOf(file))
    t.same(recording.checks, file.checks)
    const interfaces = scene === 'vcsim' ? OLDER : NEWER
    const calls = new Set(recording.exchanges.map(({ call }) => call.replace(/(?:id:)?urn.*/, '')))
    for (const call of [...CALLS, ...interfaces]) t.ok(calls.has(call), call)
    const names = { name: /^[a-z]{7}-[a-z]{6}-\d$/, zone: /^[a-z]{9}-[a-z]{7}$/, region: /^[a-z]{8}$/ }
    const renamed = recording.vms.find(({ name }) => names.name.test(name))
    t.match(renamed, names, 'names keep their form')
  })

/** Names of calls with the paths of their answers' elements or keys, each once. */
async function formOf({ exchanges }: VCenterRecording): Promise<readonly string[]> {
  const paths = await Promise.all(exchanges.map(pathsOf))
  return [...new Set(paths.flat())].sort()
}

async function pathsOf({ call, status, answer }: Exchange): Promise<readonly string[]> {
  const name = `${call.replace(/(?<=id:|\/)urn.*/, '')} ${status}`
  if (answer.length === 0) return [name]
  if (!answer[0]?.startsWith('<')) return keys(JSON.parse(answer.join('')), name)
  async function* chunks() {
    yield Buffer.from(answer.join('\n'))
  }
  return elements(await readXML(chunks(), call.startsWith('SOAP ') ? 'Envelope' : 'namespaces'), name)
}

function elements({ name, type, kind, children }: XMLElement, above: string): readonly string[] {
  const path = `${above}/${name}${type === undefined ? '' : `:${type}`}${kind === undefined ? '' : `[${kind}]`}`
  return [path, ...children.flatMap((each) => elements(each, path))]
}

function keys(value: unknown, above: string): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((each) => keys(each, `${above}[]`))
  if (value instanceof Object)
    return Object.entries(value).flatMap(([key, inner]) => keys(inner, `${above}/${key}`))
  return [`${above}: ${typeof value}`]
}
