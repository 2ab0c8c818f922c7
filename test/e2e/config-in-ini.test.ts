// A cluster that still has the CPI's older form of vsphere.conf, with a section of the provider before it.
import t from 'tap'
import { isInitialized } from './objects.ts'
import { openStage } from './stage.ts'

const stage = await openStage(t, { vms: 1, password: 'semi;colon # "quote" \\' })
const { vcsim, nodes } = stage
const password = vcsim.password.replaceAll(/[\\"]/g, '\\$&')

const controller = await stage.controller({
  config: `; as gcfg has it
[Global]
user = ${vcsim.username}
password = "${password}" # escaped
port = "${vcsim.port}"

[VirtualCenter "${vcsim.host}"]
ca-file = "${vcsim.certificateFile}"

[Workspace]
server = "${vcsim.host}"
`,
})
const member = await stage.member('worker-1')
await member.agent()

t.test('its Nodes are initialised', async (t) => {
  await nodes.until('it is initialised', () => isInitialized(nodes.last(member.name)))
  t.equal(nodes.last(member.name)?.spec.providerID, `vsphere://${member.vm.uuid}`)
})

t.test('what is for another program is told', async (t) => {
  t.match(
    controller.output(),
    /controller-0\.conf:10:1: workspace: has no effect, it is for the in-tree provider/,
  )
  t.notMatch(controller.output(), 'semi;colon')
})
