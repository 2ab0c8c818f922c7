import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import { type ConfigWatchScene, LOADED, open } from '../../test/fixtures/watched-config.ts'
import { createLogLines } from '../kubernetes/testing/log-lines.ts'
import { loadConfig } from './load.ts'
import { CERTIFICATE } from './testing/certificate.ts'
import { file, noFolder } from './testing/load.ts'
import { type ConfigWatch, createConfigWatch } from './watch.ts'

const userOf = ({ config }: ReturnType<ConfigWatch['current']>) => config.vCenters[0]?.user
const other = file().replace('ops@', 'new@')

await t.test('files that stay as they are: nothing is said', async (t) => {
  const { watch, looks, said, told } = await open(t)
  const { superseded } = watch.current()
  await looks(50)
  t.same(said(), [])
  t.equal(superseded.aborted, false)
  t.same(told, ['taken at 0 s'], 'at start')
})

await t.test('a change is loaded when two looks have found it, however it is made', async (t) => {
  const ways: Record<string, (folder: string) => void> = {
    'written over': (folder) => writeFileSync(join(folder, 'vsphere.conf'), other),
    'written over, time and size the same': (folder) => {
      writeFileSync(join(folder, 'vsphere.conf'), other)
      execFileSync('touch', ['-d', '2026-01-01', join(folder, 'vsphere.conf')])
    },
    renamed: (folder) => {
      writeFileSync(join(folder, 'vsphere.conf.new'), other)
      renameSync(join(folder, 'vsphere.conf.new'), join(folder, 'vsphere.conf'))
    },
    'removed and made anew': (folder) => {
      rmSync(join(folder, 'vsphere.conf'))
      writeFileSync(join(folder, 'vsphere.conf'), other)
    },
  }
  for (const [way, change] of Object.entries(ways)) {
    await t.test(way, async (t) => {
      const touch = (folder: string) =>
        execFileSync('touch', ['-d', '2026-01-01', join(folder, 'vsphere.conf')])
      const { watch, folder, looks, said, told, lines } = await open(t, undefined, touch)
      const before = watch.current()
      change(folder)
      await looks(1)
      t.equal(before.superseded.aborted, false)
      await looks(1)
      t.equal(before.superseded.aborted, true)
      t.equal(userOf(before), 'ops@vsphere.local')
      t.equal(userOf(watch.current()), 'new@vsphere.local')
      t.equal(watch.current().superseded.aborted, false)
      await looks(5)
      t.same(said(), [LOADED], 'once')
      t.same(lines[0]?.changed, ['vcenter.vc1.user'])
      t.same(told, ['taken at 0 s', 'taken at 4 s'])
    })
  }
})

await t.test('the kubelet swaps the link above all files: they are loaded together', async (t) => {
  const version = (folder: string, name: string, files: Record<string, string>) => {
    mkdirSync(join(folder, name))
    for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, name, file), text)
    symlinkSync(name, join(folder, '..data_tmp'))
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
  }
  const withCA = file('    caFile: ca.pem')
  const { watch, folder, looks, said, lines } = await open(t, {}, (folder) => {
    version(folder, '..1', { 'vsphere.conf': withCA, 'ca.pem': CERTIFICATE })
    for (const name of ['vsphere.conf', 'ca.pem']) symlinkSync(join('..data', name), join(folder, name))
  })
  version(folder, '..2', {
    'vsphere.conf': withCA.replace('ops@', 'new@'),
    'ca.pem': CERTIFICATE + CERTIFICATE,
  })
  rmSync(join(folder, '..1'), { recursive: true })
  await looks(2)
  t.same(said(), [LOADED])
  t.same(lines[0]?.changed, ['vcenter.vc1.user', 'vcenter.vc1.trust'])
  t.match(watch.current().config.vCenters, [
    { trust: { kind: 'ca', pem: `${CERTIFICATE}${CERTIFICATE}`.trim() } },
  ])
})

await t.test('what lasts for one look is never judged', async (t) => {
  const half = `${file()}  vc2:\n    server: vc2.example.com\n    user: ops@vsphere.local\n    password: pw\n`
  const moments: Record<string, (scene: ConfigWatchScene) => void> = {
    'half of it, which is valid': ({ put }) => put('vsphere.conf', file()),
    'half of it, which is not': ({ put }) => put('vsphere.conf', half.slice(0, -20)),
    empty: ({ put }) => put('vsphere.conf', ''),
    gone: ({ folder }) => rmSync(join(folder, 'vsphere.conf')),
  }
  for (const [what, moment] of Object.entries(moments)) {
    await t.test(what, async (t) => {
      const scene = await open(t, { 'vsphere.conf': half })
      const { watch, put, looks, said, told } = scene
      const before = watch.current()
      moment(scene)
      await looks(1)
      put('vsphere.conf', half)
      await looks(5)
      t.equal(watch.current().config, before.config)
      t.same(said(), [])
      t.same(told, ['taken at 0 s'])
    })
  }
  await t.test('a file that is written without end is loaded when it rests', async (t) => {
    const { watch, put, looks, said } = await open(t)
    for (let i = 0; i < 10; i++) {
      put('vsphere.conf', file().replace('ops@', `n${i}@`))
      await looks(1)
    }
    t.same(said(), [])
    await looks(1)
    t.same(said(), [LOADED])
    t.equal(userOf(watch.current()), 'n9@vsphere.local')
  })
})

await t.test('a CA file that is no longer named does not count, a new one does', async (t) => {
  const { watch, put, looks, said } = await open(t, {
    'vsphere.conf': file('    caFile: old.pem'),
    'old.pem': CERTIFICATE,
    'new.pem': CERTIFICATE + CERTIFICATE,
  })
  put('vsphere.conf', file('    caFile: new.pem'))
  await looks(2)
  t.same(said(), [LOADED])
  put('old.pem', 'x')
  await looks(3)
  t.same(said(), [])
  put('new.pem', CERTIFICATE)
  await looks(2)
  t.same(said(), [LOADED])
  t.match(watch.current().config.vCenters, [{ trust: { pem: CERTIFICATE.trim() } }])
})

await t.test('a password alone is a change, and never said', async (t) => {
  const { watch, put, looks, lines } = await open(t)
  put('vsphere.conf', file().replace('pw', 'hunter2marker'))
  await looks(2)
  t.match(lines, [{ msg: LOADED, changed: ['vcenter.vc1.password'] }])
  t.equal(watch.current().config.vCenters[0]?.password.reveal(), 'hunter2marker')
  put('vsphere.conf', file('    prot: hunter2marker').replace('pw', '"hunter3marker'))
  await looks(2)
  t.equal(lines.length, 2)
  t.notMatch(JSON.stringify(lines), /hunter/)
})

await t.test('warnings are logged for what is loaded', async (t) => {
  const { put, looks, lines } = await open(t)
  put('vsphere.conf', file('', 'identity: {require: asserted}'))
  await looks(2)
  t.match(lines, [{ level: 40, warning: /identity.require: is for migration/ }, { changed: ['identity'] }])
})

await t.test('a defect is no refusal', async (t) => {
  const { logger } = createLogLines()
  const clock = createHandClock()
  let broken = false
  const readFile = async () => {
    if (broken) throw new TypeError('a defect')
    return new TextEncoder().encode(file())
  }
  const watch = createConfigWatch({
    path: 'c',
    readFile,
    readFolder: noFolder,
    loaded: await loadConfig({ path: 'c', readFile, readFolder: noFolder }),
    clock,
    logger,
    metrics: { configTaken() {}, configRefused() {} },
  })
  const running = t.rejects(watch.run(new AbortController().signal), { message: 'a defect' })
  broken = true
  await clock.turn(4_000)
  await running
})
