import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { vsphereConf } from '../world/controller.ts'
import { openStage } from '../world/stage.ts'

const PASSWORD = 'correct-horse-7f3a'
const stage = await openStage(t, { vms: 1, password: PASSWORD })

// One for each kind of file; `controller/config/` has the words for each mistake.
t.test('a file with mistakes', async (t) => {
  const good = vsphereConf(stage.vcsim)
  const cases: Record<string, { config: string; says: readonly RegExp[] }> = {
    'INI with an open quote': {
      config: `[Global]\npassword = "${PASSWORD}\n`,
      says: [/:2:12: this is not INI, a closing quote is missing/],
    },
    'several mistakes, each in its line': {
      config: `${good.replace('server:', 'sever:')}lifecycle:\n  deletion: dryrum\n  absentFor: 300\ntopology: {onChange: x}\n`,
      says: [
        /:3:5: vcenter\.main\.sever: unknown key: did you mean "server"\?/,
        /:9:13: lifecycle\.deletion: expected on, dry-run, off, got text of 6 characters: did you mean "dry-run"\?/,
        /:10:14: lifecycle\.absentFor: expected a duration such as .*did you mean "300s"\?/,
        /:11:22: topology\.onChange: expected report, relabel, ignore/,
      ],
    },
    'CA that is not PEM': {
      config: good.replace(/caFile: .*/, 'caFile: ca.crt'),
      says: [
        /vcenter\.main\.caFile: .*ca\.crt contains .*instead of a PEM certificate.*-----BEGIN CERTIFICATE-----/,
      ],
    },
  }
  await writeFile(join(stage.dir, 'ca.crt'), 'this is no certificate')
  for (const [what, { config, says }] of Object.entries(cases)) {
    await t.test(what, async (t) => {
      const controller = await stage.controller({ config, until: 'started' })
      t.equal((await controller.ended).code, 1)
      t.equal(controller.stderr.length, says.length, controller.output())
      for (const [i, pattern] of says.entries()) t.match(controller.stderr[i], pattern)
      for (const line of controller.stderr) t.match(line, /^\/.*controller-0\.conf:/, 'the file is named')
      t.notMatch(controller.output(), PASSWORD)
      t.notMatch(controller.output(), /\n {4}at /, 'no stack')
    })
  }
})

t.test('missing file', async (t) => {
  const controller = await stage.controller({ until: 'started', configFile: '/nowhere/vsphere.conf' })
  t.equal((await controller.ended).code, 1)
  t.equal(controller.stderr.length, 1)
  t.match(controller.stderr[0], /^\/nowhere\/vsphere\.conf: does not exist: check the path/)
})

t.test('nothing was asked of vCenter', async (t) => {
  t.same(await stage.vcsim.calls(), { total: 0, operations: {} })
})
