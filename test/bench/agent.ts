import { randomUUID } from 'node:crypto'
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { binary } from '../../build/binaries.ts'
import { writeRpctool } from '../servers/rpctool.ts'
import { startAgent } from '../world/agent.ts'
import { registerNode } from '../world/kubelet.ts'
import { writeMachine } from '../world/machine.ts'
import { watchUsage } from '../world/meters.ts'
import { type BenchStage, openBenchStage } from './stage.ts'

export interface AgentFigures {
  /** From exec until the API server had answered, milliseconds. */
  readonly reportMedian: number
  readonly reportWorst: number
  /** At rest after the first report, MB. */
  readonly anonymous: number
  readonly resident: number
  /** Of looks at the machine and nothing else, extrapolated. */
  readonly cpuSecondsPerHour: number
  readonly binaryMB: number
}

const RUNS = 15

/** One agent on a machine with nothing else to do. */
export async function benchAgent(restSeconds: number): Promise<AgentFigures> {
  await using stage = await openBenchStage(1)
  const { root, kubeconfig } = await machine(stage)
  const times: number[] = []
  for (let run = 0; run < RUNS; run++) {
    // Another boot each time, so that each report is another.
    await writeFile(join(root, 'proc/sys/kernel/random/boot_id'), randomUUID())
    await using agent = await startAgent({ kubeconfig, root })
    await agent.says(/"report sent"/)
    times.push(performance.now() - agent.startedAt)
  }
  times.sort((a, b) => a - b)

  await using agent = await startAgent({ kubeconfig, root })
  await agent.says(/"report sent"/)
  const watch = watchUsage(agent.pid)
  await sleep(10_000)
  const before = await watch.now()
  await sleep(restSeconds * 1000)
  const after = await watch.now()
  await watch.stop()
  return {
    reportMedian: times[Math.floor(RUNS / 2)] ?? 0,
    reportWorst: times.at(-1) ?? 0,
    anonymous: after.anonymous,
    resident: after.resident,
    cpuSecondsPerHour: ((after.cpuSeconds - before.cpuSeconds) * 3600) / restSeconds,
    binaryMB: (await stat(await binary('rollcall-agent'))).size / 1e6,
  }
}

async function machine({ cluster, vcsim, dir }: BenchStage): Promise<{ root: string; kubeconfig: string }> {
  const [vm] = await vcsim.vms()
  if (vm === undefined) throw new Error('the simulator has no virtual machine')
  const root = join(dir, 'machine')
  const nics = vm.vnics.map(({ mac }) => ({ name: 'ens192', mac, addresses: ['10.0.0.5/24'] }))
  await writeMachine(root, { vm, hostname: 'node-1', bootID: randomUUID(), nics })
  await writeRpctool(join(root, 'usr/bin'), { vcsim, vm: vm.ref })
  const { kubeconfig } = await registerNode(cluster, { name: 'node-1', biosUUID: vm.uuid })
  return { root, kubeconfig }
}
