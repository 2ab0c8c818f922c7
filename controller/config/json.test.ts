/** JSON is read as the YAML that it is: what differs between the two comes out right all the same. */
import t from 'tap'
import { loaded, refusal } from './testing/load.ts'

t.test('what a file in JSON becomes', async (t) => {
  const text = JSON.stringify({
    global: { user: 'u', password: 'a/b "c" \\ \t\n# é 😀: {x}', port: 8443, insecureFlag: true },
    vcenter: { main: { server: 'vc.example.com', datacenters: ['a', 'b'], thumbprint: null } },
    labels: { zone: 'k8s-zone', region: null },
  })
  const expected = {
    vCenter: { user: 'u', password: 'a/b "c" \\ \t\n# é 😀: {x}', port: 8443, datacenters: ['a', 'b'] },
    labels: { zone: 'k8s-zone', region: undefined },
    warnings: [],
  }
  for (const space of [undefined, 2, '\t', '\t \t'])
    t.match(await loaded(JSON.stringify(JSON.parse(text), undefined, space)), expected)
  t.match(
    await loaded(text.replace('a/b', String.raw`a\/b`).replace('😀', String.raw`\ud83d\ude00`)),
    expected,
  )
})

t.test('what is wrong is told with its place, and keys in quotes by their names', async (t) => {
  const text = `{
	"global": {"user": "u", "password": "p", "prot": 1, "unheard": 2},
	"vcenter": {
		"main": {"server": "https://x",
			"port": "x", "port": 1},
		"main": {"server": "y"}
	},
	"lables": {}
}`
  t.same(
    (await refusal(text)).map((line) => line.split(', ')[0]),
    [
      'vsphere.conf:2:43: global.prot: unknown key: did you mean "port"?',
      'vsphere.conf:2:54: global.unheard: unknown key: known here are server',
      'vsphere.conf:4:22: vcenter.main.server: expected a host name or IP address',
      'vsphere.conf:5:12: vcenter.main.port: expected a number from 1 to 65535',
      'vsphere.conf:5:17: vcenter.main.port: is given twice',
      'vsphere.conf:6:3: vcenter.main: is given twice: keep one',
      'vsphere.conf:8:2: lables: unknown key: did you mean "labels"?',
    ],
  )
})

t.test('text in braces that is no JSON is told so, with its place', async (t) => {
  const wrong: readonly (readonly [string, string])[] = [
    ['{"vcenter": {"main": {"server": "vc" "user": "u"}}}', '1:38'],
    ['{\n\t"global": {"port": 1}\n\t"vcenter": {}\n}', '3:2'],
    ['{\n\t"global": {\n\t\t"port": 1\n\t\t"user": "u"\n\t}\n}', '3:11'],
    ['{"vcenter": {"main": {"server": "vc"}}', '1:39'],
    ['\n {"vcenter": {"main": {"server": "vc}}}', '2:40'],
    ['{"vcenter": {"main": {"datacenters": ["a"}}}', '1:42'],
    ['{"vcenter": {}}}', '1:16'],
    ['{"vcenter" {}}', '1:12'],
  ]
  for (const [text, place] of wrong)
    t.match(
      await refusal(text),
      [`vsphere.conf:${place}: this is neither JSON nor YAML: look here and above`],
      text,
    )
  t.match(await refusal('{"global": {"password": "a\\q"}}'), [/1:27: this backslash means nothing/])
})

t.test('a comma that is missing in braces within YAML', async (t) => {
  t.match(await refusal('global: {port: 1 "user": u}'), [
    /1:16: this is not YAML: a comma is missing in braces/,
  ])
})
