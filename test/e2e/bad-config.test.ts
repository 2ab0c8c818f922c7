import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { vsphereConf } from '../fixtures/controller.ts'
import { openStage } from './stage.ts'

const PASSWORD = 'correct-horse-7f3a'
const stage = await openStage(t, { vms: 1, password: PASSWORD })
const good = vsphereConf(stage.vcsim)

/** Starts the controller with this text as its configuration, and expects it to end by itself. */
async function refuses(config: string) {
  const controller = await stage.controller({ config, until: 'started' })
  const { code } = await controller.ended
  return { code, lines: controller.stderr, output: controller.output() }
}

const cases: Record<string, { config: string; says: readonly RegExp[] }> = {
  'empty file': { config: '', says: [/: is empty: write it as in "vcenter:/] },
  'only comments': { config: '# nothing\n\n', says: [/: is empty/] },
  'not YAML': { config: `${good}\n\t]: [\n`, says: [/:\d+:\d+: this is not YAML/] },
  binary: { config: '\u0000\u0001\u0002', says: [/./] },
  'INI without a vCenter': { config: '[Global]\nuser = "u"\n', says: [/: vcenter: no vCenter: write/] },
  'INI with an open quote': {
    config: `[Global]\npassword = "${PASSWORD}\n`,
    says: [/:2:12: this is not INI, a closing quote is missing/],
  },
  'unknown key': {
    config: good.replace('server:', 'sever:'),
    says: [/:3:5: vcenter\.main\.sever: unknown key: did you mean "server"\?/],
  },
  'unknown section': {
    config: `${good}lables:\n  zone: k8s-zone\n`,
    says: [/:8:1: lables: .*did you mean "labels"\?/],
  },
  'no vCenter': { config: 'labels:\n  zone: k8s-zone\n', says: [/: vcenter: no vCenter: write "vcenter:"/] },
  'bad port': {
    config: good.replace(/port: \d+/, 'port: 70000'),
    says: [/:4:11: vcenter\.main\.port: expected a number/],
  },
  'no password': {
    config: good.replace(/ +password: .*\n/, ''),
    says: [/vcenter\.main\.password: is missing/],
  },
  'a URL as server': {
    config: good.replace(/server: .*/, 'server: https://127.0.0.1:8989/sdk'),
    says: [/write "server: 127\.0\.0\.1" and "port: 8989"/],
  },
  'CA that is not PEM': {
    config: good.replace(/caFile: .*/, 'caFile: ca.crt'),
    says: [
      /vcenter\.main\.caFile: .*ca\.crt contains .*instead of a PEM certificate.*-----BEGIN CERTIFICATE-----/,
    ],
  },
  'CA that is not there': {
    config: good.replace(/caFile: .*/, 'caFile: /nowhere/ca.crt'),
    says: [/vcenter\.main\.caFile: .*\/nowhere\/ca\.crt/],
  },
  'mistakes in the lifecycle': {
    config: `${good}lifecycle:\n  deletion: dryrum\n  absentFor: 300\n  maxAbsentShare: 20\ntopology: {onChange: x}\n`,
    says: [
      /:9:13: lifecycle\.deletion: expected on, dry-run, off, got text of 6 characters: did you mean "dry-run"\?/,
      /:10:14: lifecycle\.absentFor: expected a duration such as .*did you mean "300s"\?/,
      /:11:19: lifecycle\.maxAbsentShare: expected a share .*did you mean "20%"\?/,
      /:12:22: topology\.onChange: expected report, relabel, ignore/,
    ],
  },
  'malformed thumbprint': {
    config: good.replace(/caFile: .*/, 'thumbprint: "AB:CD"'),
    says: [/vcenter\.main\.thumbprint: /],
  },
}

await writeFile(join(stage.dir, 'ca.crt'), 'this is no certificate')

for (const [what, { config, says }] of Object.entries(cases)) {
  t.test(what, async (t) => {
    const { code, lines, output } = await refuses(config)
    t.equal(code, 1)
    t.equal(lines.length, says.length, output)
    for (const [i, pattern] of says.entries()) t.match(lines[i], pattern)
    for (const line of lines) t.match(line, /^\/.*controller-0\.conf:/, 'the file is named')
    t.notMatch(output, PASSWORD)
    t.notMatch(output, /\n {4}at /, 'no stack')
  })
}

t.test('missing file, and a folder', async (t) => {
  const folder = join(stage.dir, 'a-folder')
  await mkdir(folder)
  for (const [path, pattern] of [
    ['/nowhere/vsphere.conf', /^\/nowhere\/vsphere\.conf: does not exist: check the path/],
    [folder, /a-folder: is a folder/],
  ] as const) {
    const controller = await stage.controller({ until: 'started', configFile: path })
    t.equal((await controller.ended).code, 1)
    t.equal(controller.stderr.length, 1)
    t.match(controller.stderr[0], pattern)
  }
})

t.test('nothing was asked of vCenter', async (t) => {
  t.same(await stage.vcsim.calls(), { total: 0, operations: {} })
})
