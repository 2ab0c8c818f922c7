import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type ConfigWatchScene, LOADED, open, REFUSED, SAME } from '../../test/fixtures/watched-config.ts'
import { CERTIFICATE } from './testing/certificate.ts'
import { file } from './testing/load.ts'

await t.test('refused whole, said once, and the one before stays in force', async (t) => {
  const withCA = { 'vsphere.conf': file('    caFile: ca.pem'), 'ca.pem': CERTIFICATE }
  const huge = (folder: string, name: string) => {
    writeFileSync(join(folder, name), '')
    truncateSync(join(folder, name), 5e9)
  }
  const folderAt = (folder: string, name: string) => {
    rmSync(join(folder, name))
    mkdirSync(join(folder, name))
  }
  const pipe = (folder: string, name: string) => {
    rmSync(join(folder, name))
    execFileSync('mkfifo', [join(folder, name)])
  }
  const cases: Record<string, [(scene: ConfigWatchScene) => void, ...RegExp[]]> = {
    'a mistake': [({ put }) => put('vsphere.conf', file('    prot: 1')), /:6:5: vcenter.vc1.prot: .*"port"/],
    'two mistakes': [
      ({ put }) => put('vsphere.conf', file('    prot: 1\n    port: x')),
      /vc1.prot: /,
      /vc1.port: /,
    ],
    empty: [({ put }) => put('vsphere.conf', ''), /is empty/],
    'not YAML': [({ put }) => put('vsphere.conf', 'vcenter: ['), /this is not YAML/],
    'INI without a vCenter': [({ put }) => put('vsphere.conf', '[Global]\nuser = "x"'), /no vCenter/],
    binary: [({ folder }) => writeFileSync(join(folder, 'vsphere.conf'), Buffer.of(255, 0, 254)), /UTF-8/],
    gone: [({ folder }) => rmSync(join(folder, 'vsphere.conf')), /does not exist/],
    huge: [({ folder }) => huge(folder, 'vsphere.conf'), /has more than 262144 bytes/],
    'a folder': [({ folder }) => folderAt(folder, 'vsphere.conf'), /is a folder/],
    'a pipe': [({ folder }) => pipe(folder, 'vsphere.conf'), /not a regular file/],
    'the CA is gone': [({ folder }) => rmSync(join(folder, 'ca.pem')), /ca.pem does not exist/],
    'the CA is none': [({ put }) => put('ca.pem', 'x'), /ca.pem contains .*instead of a PEM certificate/],
    'the CA is huge': [({ folder }) => huge(folder, 'ca.pem'), /ca.pem has more than 1048576 bytes/],
    'the CA is a folder': [({ folder }) => folderAt(folder, 'ca.pem'), /ca.pem is a folder/],
  }
  for (const [what, [change, ...problems]] of Object.entries(cases)) {
    await t.test(what, async (t) => {
      const scene = await open(t, withCA)
      const { watch, folder, put, looks, said, told, lines } = scene
      const before = watch.current()
      change(scene)
      await looks(20)
      t.same(said(), [REFUSED], 'one line')
      t.match(lines[0], { level: 50, problems })
      t.equal(watch.current().config, before.config)
      t.equal(before.superseded.aborted, false)
      t.same(told, ['taken at 0 s', 'refused'])

      for (const name of ['vsphere.conf', 'ca.pem'])
        rmSync(join(folder, name), { recursive: true, force: true })
      for (const [name, text] of Object.entries(withCA)) put(name, text)
      await looks(2)
      t.same(said(), [SAME], 'as it was')
      t.equal(before.superseded.aborted, false, 'nothing begins anew')
      t.match(told.at(-1), /^taken at 44 s/)
      put('vsphere.conf', withCA['vsphere.conf'].replace('ops@', 'new@'))
      await looks(2)
      t.same(said(), [LOADED])
    })
  }
})

await t.test('one mistake after the other: a line for each', async (t) => {
  const { put, looks, said } = await open(t)
  put('vsphere.conf', file('    prot: 1'))
  await looks(3)
  put('vsphere.conf', file('    prt: 1'))
  await looks(3)
  t.same(said(), [REFUSED, REFUSED])
})

await t.test('other words that say the same', async (t) => {
  const { watch, put, looks, said, told } = await open(t)
  const { superseded } = watch.current()
  put('vsphere.conf', `# a comment\n${file('    port: 443')}`)
  await looks(5)
  t.same(said(), [SAME])
  t.equal(superseded.aborted, false)
  t.same(told, ['taken at 0 s', 'taken at 4 s'])
})

await t.test(
  'with the arguments of the CPI trust is lowered by a word, not by a word that goes',
  async (t) => {
    const given = { initializes: true, endsNodes: true, nodeLabels: {} }
    const saying = (level: string) => ({ 'vsphere.conf': file('', `identity: {require: ${level}}`) })
    const { watch, put, looks, said, lines } = await open(t, saying('proven'), undefined, given)
    const level = () => watch.current().config.identity.require
    put('vsphere.conf', file())
    await looks(5)
    t.same(said(), [REFUSED])
    t.match(lines.at(-1)?.problems, [
      /identity\.require: is no longer set, .* less than proven: write it again/,
    ])
    t.equal(level(), 'proven')
    put('vsphere.conf', saying('asserted')['vsphere.conf'])
    await looks(5)
    t.equal(level(), 'asserted')
    t.ok(said().includes(LOADED))
    put('vsphere.conf', file())
    await looks(5)
    t.ok(said().includes(SAME), 'which is what it means then')
  },
)

await t.test('so it is without them, where the default is less than what is in force', async (t) => {
  const saying = (level: string) => ({ 'vsphere.conf': file('', `identity: {require: ${level}}`) })
  const { watch, put, looks, said, lines } = await open(t, saying('proven'))
  const level = () => watch.current().config.identity.require
  put('vsphere.conf', file())
  await looks(5)
  t.same(said(), [REFUSED])
  t.match(lines.at(-1)?.problems, [
    /identity\.require: is no longer set, which means reported, less than proven: .*"require: reported"/,
  ])
  t.equal(level(), 'proven')
  put('vsphere.conf', saying('provn')['vsphere.conf'])
  await looks(5)
  t.match(lines.at(-1)?.problems, { length: 1 }, 'a slip is told once')
  put('vsphere.conf', saying('reported')['vsphere.conf'])
  await looks(5)
  t.equal(level(), 'reported')
  put('vsphere.conf', saying('asserted')['vsphere.conf'])
  await looks(5)
  t.equal(level(), 'asserted')
  put('vsphere.conf', file())
  await looks(5)
  t.equal(level(), 'reported', 'what raises it needs no word')
})
