// An agent that falls silent while its machine runs on.
import { scenario } from '../scenario.ts'

scenario(
  'an agent that misses three reports is said to be silent, once, until it reports again',
  { nodes: ['quiet', 'well', 'off'], refresh: 180_000 },
  async (scene, t) => {
    const { quiet, off } = scene.cast
    await scene.settled('quiet', 'well', 'off')
    quiet.agent = false
    scene.silence(off)
    const last = scene.world.timeline.now
    const silent = {
      status: 'False',
      reason: 'AgentSilent',
      message: /^its agent has not reported since /,
    } as const
    await scene.said('quiet', silent, 'AgentReports')
    t.ok(scene.world.timeline.now - last >= 7 * 60_000, 'not after two')
    await scene.told('quiet', 'AgentSilent')
    await scene.counted(
      'rollcall_node_conditions{condition="AgentReports",status="False",reason="AgentSilent"}',
      1,
    )
    await scene.nextLeader()
    await scene.pass(900_000)
    t.equal(scene.events('quiet', 'AgentSilent').length, 1, 'by the next leader, too')
    t.equal(scene.condition('well', 'AgentReports'), undefined)
    t.equal(scene.condition('off', 'AgentReports'), undefined, 'a machine of which nothing is heard')
    quiet.agent = true
    await scene.said('quiet', { status: 'True' }, 'AgentReports')
  },
)
