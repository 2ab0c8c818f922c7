import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import t from 'tap'
import { fieldsOf } from '../controller/inspect/doctor/cluster.ts'
import { nodeReportSchema } from '../manifests/testing/schema.ts'
import { root } from './programs.ts'
import { DOCS, typesPackage, withFields } from './report-api.ts'
import { readTar } from './tar.ts'

const EXAMPLE = 'docs/examples/nodes-by-host/nodes-by-host.ts'
const docs = readFileSync(join(root, DOCS), 'utf8')

t.test('the docs name the fields of the CRD, and no others', async (t) => {
  t.equal(await withFields(docs), docs, 'npm run generate')
  const fields = fieldsOf({ properties: await nodeReportSchema() }) ?? []
  const named = [...docs.matchAll(/^\| `((?:spec|status)\.[\w.]+)` \|/gm)].map(([, path]) => path)
  // Those of two VMs are in the docs once, as those of status.vm.
  const expected = fields.filter((path) => !/^status\.(namedVM|formerVMs)\./.test(path))
  t.strictSame(named.toSorted(), expected.toSorted())
})

t.test('the package has no dependencies and no code', async (t) => {
  const files = await packed()
  t.strictSame([...files.keys()].sort(), ['package/LICENSE', 'package/index.d.ts', 'package/package.json'])
  const about = JSON.parse(files.get('package/package.json') ?? '')
  t.match(about, { name: 'rollcall-node-report', version: '1.2.3', dependencies: undefined })
  t.notMatch(files.get('package/index.d.ts'), /\bimport\b|\bundefined\b|\bany\b[;[]/)
})

t.test('programs compile against the package', async (t) => {
  const folder = await project(t.testdir({}))
  t.same(await compiled(folder, 'example.ts'), '', 'the example of the docs')
  await writeFile(
    join(folder, 'wrong.ts'),
    `${IMPORT}export const host = (r: NodeReport) => r.status?.vm?.hots\n`,
  )
  t.match(await compiled(folder, 'wrong.ts'), /'hots' does not exist/)
  await writeFile(
    join(folder, 'write.ts'),
    `${IMPORT}export const f = (r: NodeReport) => { r.kind = 'NodeReport' }\n`,
  )
  t.match(await compiled(folder, 'write.ts'), /read-only/)
})

t.test('the types of the package and those of the programs are the same', async (t) => {
  const folder = await project(t.testdir({}))
  const names =
    `NodeReportSpec NetworkInterface InterfaceAddress UnreadableFact NodeReportStatus BoundVM ParentObject
    NodeAddress Condition`.split(/\s+/)
  const same = `import type * as theirs from 'rollcall-node-report'
import type * as ours from '${join(root, 'agent/shared/node-report.ts')}'
type Plain<T> = T extends object ? { readonly [Key in keyof T]: Plain<T[Key]> } : T
type Same<A, B> = [Plain<A>] extends [Plain<B>] ? ([Plain<B>] extends [Plain<A>] ? true : never) : never
${names.map((name) => `export const ${name}: Same<theirs.${name}, ours.${name}> = true`).join('\n')}
`
  await writeFile(join(folder, 'same.ts'), same)
  t.same(await compiled(folder, 'same.ts'), '')
  await writeFile(join(folder, 'other.ts'), same.replace('Same<theirs.BoundVM,', 'Same<theirs.NodeAddress,'))
  t.match(await compiled(folder, 'other.ts'), /not assignable to type 'never'/, 'and this would notice')
})

const IMPORT = "import type { NodeReport } from 'rollcall-node-report'\n"

async function packed(): Promise<ReadonlyMap<string, string>> {
  const { content } = await typesPackage({ version: '1.2.3' })
  const files = await readTar(await promisify(gunzip)(content), () => true)
  return new Map(
    files.flatMap((file) => (file.type === 'file' ? [[file.path, file.content.toString()] as const] : [])),
  )
}

/** A project that has the package installed, and the example of the docs. */
async function project(folder: string): Promise<string> {
  for (const [path, content] of await packed()) {
    const file = join(folder, 'node_modules/rollcall-node-report', path.replace('package/', ''))
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, content)
  }
  await writeFile(join(folder, 'package.json'), '{"type": "module"}')
  await copyFile(join(root, EXAMPLE), join(folder, 'example.ts'))
  return folder
}

/** What the compiler complains of. */
async function compiled(folder: string, file: string): Promise<string> {
  const options = {
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    target: 'es2024',
    lib: ['es2024'],
    module: 'nodenext',
    allowImportingTsExtensions: true,
    types: [] as string[],
    ...(file === 'example.ts' ? { types: ['node'], typeRoots: [join(root, 'node_modules/@types')] } : {}),
    ...(file === 'same.ts' || file === 'other.ts'
      ? { types: ['node'], typeRoots: [join(root, 'node_modules/@types')], skipLibCheck: true }
      : {}),
  }
  const config = join(folder, `tsconfig.${file}.json`)
  await writeFile(config, JSON.stringify({ compilerOptions: options, files: [file] }))
  try {
    // What tap preloads into each Node process by NODE_OPTIONS loses the exit code of this one.
    const command = ['-u', 'NODE_OPTIONS', join(root, 'node_modules/.bin/tsc'), '-p', config]
    await promisify(execFile)('env', command)
    return ''
  } catch (error) {
    return error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error)
  }
}
