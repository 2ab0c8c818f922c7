import t from 'tap'
import { ConfigError } from './findings.ts'
import { LIFECYCLE } from './settings/lifecycle.ts'
import { file, load } from './testing/load.ts'

await t.test('no password is ever in an error or a warning', async (t) => {
  const marker = 'hunter2marker'
  const settings = [
    'server',
    'port',
    'user',
    'insecureFlag',
    'datacenters',
    'caFile',
    'thumbprint',
    'ipFamily',
  ]
  const shapes = [
    marker,
    `"${marker}`,
    `'${marker}`,
    `*${marker}`,
    `&${marker}`,
    `!${marker} x`,
    `@${marker}`,
    `%${marker}`,
  ]
  shapes.push(
    `${marker}: x`,
    `x: ${marker}`,
    `[${marker}`,
    `{a: ${marker}}`,
    `{${marker}: a}`,
    `,"${marker}"`,
    `|x ${marker}`,
    `"\\q${marker}"`,
  )
  shapes.push(
    `https://u:${marker}@vc.example.com/sdk`,
    `u:${marker}@vc`,
    `x\n${marker}`,
    `x\n    ${marker}`,
    `\`${marker}`,
  )
  const texts: string[] = []
  for (const value of shapes) {
    texts.push(
      file().replace('pw', value),
      file('', `global: {password: ${value}}`),
      file('', `nsxt: {password: ${value}}`),
    )
    // A password that has slipped into another setting is still one.
    for (const key of settings.filter((name) => name !== 'caFile')) texts.push(file(`    ${key}: ${value}`))
    texts.push(file(`    pasword: ${value}`))
    for (const key of Object.keys(LIFECYCLE.rows)) texts.push(file('', `lifecycle: {${key}: ${value}}`))
    texts.push(file('', `topology: {onChange: ${value}}`))
    // In the place of a key at the top it is a key, not a value.
    if (!value.startsWith(`${marker}:`)) texts.push(value, `${value}\n${file()}`)
  }
  for (const lost of [
    `password:${marker}`,
    `password ${marker}`,
    `password=${marker}`,
    `password:\n${marker}`,
    `- ${marker}`,
  ]) {
    texts.push(file(`    ${lost}`), file('', lost), `${lost}\n`)
  }
  texts.push(`vcenter: {vc1: {server: a, user: b, password: c,${marker}}}`)
  const ini = (line: string, rest = '') =>
    `[Global]\nuser = u\n${line}\n[VirtualCenter "vc"]\nserver = vc.example.com\n${rest}`
  for (const lost of [
    `password = "${marker}`,
    `password = "\\q${marker}"`,
    `password = a\\${marker}`,
    `password ${marker}`,
    `password: ${marker}`,
    `password = "a\n${marker}"`,
    `password = a ${marker}\n${marker}`,
    `"${marker}"`,
    `[${marker}`,
    `[Global "${marker}`,
    `password\n= ${marker}`,
    `port = ${marker}`,
    `insecure-flag = ${marker}`,
    `pasword = ${marker}`,
  ]) {
    texts.push(ini(lost), ini('password = p', lost), `${lost}\n`)
  }
  // In JSON a key stands in quotes, and may be told; what is in its place without is not.
  for (const lost of [marker, `"password": ${marker}`, `"password": "${marker}`, `"port": "${marker}"`]) {
    texts.push(`{"vcenter": {"vc1": {"server": "a", ${lost}}}}`, `{${lost}}`)
  }
  let refused = 0
  for (const text of texts) {
    const said = await load(text).then(
      ({ warnings, config }) => [...warnings, String(config.vCenters[0]?.password)].join('\n'),
      (error: unknown) => {
        refused++
        return error instanceof ConfigError
          ? `${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`
          : String(error)
      },
    )
    t.notMatch(said, marker, `${text} -> ${said}`)
  }
  t.ok(refused > texts.length / 2, `${refused} of ${texts.length} texts are wrong`)
})
