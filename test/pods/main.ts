/**
 * Rollcall's Pods under real kubelets, from the shipped manifests and the chart, with the images of a release: `npm run
 * test:pods`. Where the machine cannot run them it says why, and ends well.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { runAsProgram } from '../../build/entry.ts'
import { type ServerName, serverBinary } from '../servers/build.ts'
import { compileCache } from '../servers/compile-cache.ts'
import { containerRuntime, imageArchives } from './images.ts'
import { whyNot } from './requirements.ts'

const SERVERS: readonly ServerName[] = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
  'kubectl',
  'containerd',
  'containerd-shim-runc-v2',
  'ctr',
  'vcsim',
  'helm',
]

async function main(): Promise<void> {
  const reason = whyNot()
  if (reason !== undefined) return skip(reason)
  // Within the namespaces there is no network to fetch anything by.
  for (const name of SERVERS) await serverBinary(name)
  const archives = await imageArchives()
  const runc = await containerRuntime().catch((error: Error) => skip(`there is no runc: ${error.message}`))
  if (runc === undefined) return
  // Not where TMPDIR says: what lies below /etc, /run or /var is not seen by a machine.
  const folder = await mkdtemp('/tmp/rollcall-pods-')
  const [keeper, test] = ['keeper.ts', 'pods.ts'].map((file) => join(import.meta.dirname, file))
  const given = JSON.stringify({ folder, archives, runc })
  const shell = ['sh', '-c', 'mount -t tmpfs tmpfs "$1" && shift && "$@"; exit $?', 'sh', folder]
  const args = [keeper ?? '', folder, ...shell, process.execPath, test ?? '', given]
  const child = spawn(process.execPath, args, {
    // In a group of its own, a Ctrl-C comes to it by the end of its input alone.
    detached: true,
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { ...compileCache(process.env), TMPDIR: folder },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => child.stdin.end())
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error('the Pods did not do as they should')
}

function skip(reason: string): undefined {
  process.stdout.write(`test:pods is SKIPPED: ${reason}\n`)
}

runAsProgram(main)
