import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { until } from '../fixtures/until.ts'
import { type Program, startProgram } from '../world/program.ts'

const NOTHING = { files: [], processes: [] }

/** Starts the demo with few Nodes and no terminal. By its own temporary folder all that is its own can be found. */
async function startDemo(t: Test, ...args: string[]) {
  const temporary = await mkdtemp(join(tmpdir(), 'rollcall-demo-test-'))
  const { PATH = '', HOME = '', XDG_CACHE_HOME = '', KUBEBUILDER_ASSETS = '' } = process.env
  const program = startProgram({
    command: process.execPath,
    args: [fileURLToPath(import.meta.resolve('./main.ts')), '--nodes=4', ...args],
    env: { PATH, HOME, XDG_CACHE_HOME, KUBEBUILDER_ASSETS, TMPDIR: temporary },
  })
  t.teardown(async () => {
    await program.stop()
    await rm(temporary, { recursive: true, force: true })
  })
  const left = async () => ({ files: await readdir(temporary), processes: await processesOf(temporary) })
  return { program, left }
}

/** Number and command line of processes that have this text in it or in their environment. */
async function processesOf(text: string): Promise<{ pid: number; command: string }[]> {
  const found: { pid: number; command: string }[] = []
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue
    const read = (file: string) => readFile(join('/proc', pid, file), 'utf8').catch(() => '')
    const command = await read('cmdline')
    if (command.includes(text) || (await read('environ')).includes(text))
      found.push({ pid: Number(pid), command })
  }
  return found
}

async function endsWith(t: Test, program: Program, code: number): Promise<void> {
  if (!t.equal((await program.ended).code, code)) t.comment(program.output())
}

function linesOf({ stdout }: Program, name: string): string[] {
  return stdout.filter((line) => line.includes(`  ${name}  `))
}

/** What the forger tried, what came of it, and that its victim was left alone. */
const FORGERY = [
  /^ .* forger {2}refused {2}ClaimedByAnotherNode$/m,
  /Node forger runs in a VM of its own.*\n.* MAC addresses of DC0_C0_RP0_VM0, the VM of worker-1\./,
  /^\$ kubectl describe nodereport forger \|.*\n.*\n *Message: .* Node worker-1.*\n.*\n *Reason: +ClaimedByAnotherNode\n *Status: +False\n *Type: +IdentityVerified\n/m,
  /^\$ kubectl events .*\n.*\n.* Warning +ClaimedByAnotherNode +Node\/forger .*Node worker-1/m,
  /forger keeps its taint .* worker-1 are the same, byte for byte/,
]

/** What became of the Nodes whose VMs went, were off, moved, and were not to be seen; in the words of Rollcall. */
const ENDING = [
  /A VM is destroyed: \S+, that of worker-4\./,
  /DeletionPending is True, NotConfirmed: VM "\S+" \(vm-\d+\) in vCenter main is gone, and the Node is kept/,
  /Node worker-4 is deleted\. Event NodeDeleted: VM/,
  /powered off: \S+, that of worker-3, .* Node worker-3 has the taint .*shutdown:NoSchedule\. Event VMShutDown: VM/,
  /moved \(vMotion\): \S+, that of worker-2, .* TopologyResolved is False, TopologyChanged: label/,
  /All 3 Nodes are kept, .* the account lacks .*System\.Read on Folder "vm"/,
  /3 of 3 Nodes are there\. .* each VM is found again\. Only worker-4 was deleted/,
  /The 4 other Nodes are as they were, byte for byte/,
]

t.test('ends green by itself, a forger refused, in plain lines, and leaves nothing', async (t) => {
  const { program, left } = await startDemo(t)
  await endsWith(t, program, 0)
  t.notMatch(program.output(), '\x1b', 'no control sequences')
  for (const name of ['worker-1', 'worker-2', 'worker-3', 'worker-4']) {
    const lines = linesOf(program, name)
    t.match(lines.at(0), /tainted$/)
    t.match(lines.at(-1), /initialized {2}proven {2}DC0_C\d_RP0_VM\d {2}DC0_C\d_H\d {2}zone-[ab] {2}10\.20\./)
  }
  const said = program.stdout.join('\n')
  for (const words of [
    /^\$ kubectl get nodes -o wide\nNAME +STATUS.*\nforger .*\n(worker-\d +Ready .* 10\.20\..*\n){4}/m,
    /^\$ kubectl get nodereports\nNAME +VM.*\nforger .*\n(worker-\d .* proven +True .*\n){4}/m,
    /^Nodes +all 4 proven, .*; 1 forger refused/m,
    /^initialized +the first \d.* s after its registration, the last \d/m,
    /^vCenter calls +\d+ until .*(\n {15}.*)*\d REST GET tagging\/tag\/\*/m,
    /1 Node deleted \d.* s after its VM, 1 tainted \d.* s after power-off/,
    /sessions +1 SOAP, 1 REST/,
    /^time +(\d+ min )?\d+ s in all, \d.* s of it/m,
    ...FORGERY,
  ])
    t.match(said, words)
  for (const words of ENDING) t.match(said.replaceAll(/\s+/g, ' '), words)
  t.same(await left(), NOTHING)
})

t.test('an interrupt half-way leaves nothing either', async (t) => {
  const { program, left } = await startDemo(t)
  await program.says(/worker-\d {2}tainted/)
  program.kill('SIGINT')
  await endsWith(t, program, 130)
  t.notMatch(program.output(), /error/i)
  t.same(await left(), NOTHING)
})

t.test('nor does a kill of the process that was started', async (t) => {
  const { program, left } = await startDemo(t)
  await program.says(/worker-\d {2}tainted/)
  program.kill('SIGKILL')
  await until('no process is left', async () => (await left()).processes.length === 0)
  t.same(await left(), NOTHING)
})

t.test('--keep goes on until it is interrupted, and says how to look around', async (t) => {
  const file = join(t.testdir(), 'demo.svg')
  const { program, left } = await startDemo(t, '--keep', `--picture=${file}`)
  await program.says(/Ctrl-C ends it\./)
  const [, kubeconfig = ''] = /export KUBECONFIG=(\S+)/.exec(program.output()) ?? []
  t.match(await readFile(kubeconfig, 'utf8'), 'clusters:')
  const [, kubectl = ''] = /alias kubectl=(\S+)/.exec(program.output()) ?? []
  const commands = [...program.output().matchAll(/^ {2}kubectl (.*?)(?: {3}#.*)?$/gm)].map(
    ([, args = '']) => args,
  )
  t.ok(commands.includes('describe nodereport forger'))
  for (const args of commands) {
    const { stdout } = await promisify(execFile)(kubectl, args.split(' '), {
      env: { KUBECONFIG: kubeconfig },
    })
    t.match(stdout, args.includes('worker') ? 'Proven' : 'ClaimedByAnotherNode', args)
  }
  const [, metrics = ''] = /curl (\S+)/.exec(program.output()) ?? []
  t.match(await (await fetch(metrics)).text(), 'rollcall_')
  program.kill('SIGINT')
  await endsWith(t, program, 0)
  const picture = await readFile(file, 'utf8')
  t.match(picture, /worker-4 .*initialized<.*fill="#ff8389">refused<.*Node worker-4 is deleted/s)
  t.notMatch(picture, /\$ kubectl|OS-IMAGE/, 'without what commands say')
  t.same(await left(), NOTHING)
})

t.test("what goes wrong is said, with the end of the controller's log", async (t) => {
  const { program, left } = await startDemo(t)
  await program.says(/worker-\d {2}tainted/)
  const controller = (await left()).processes.find(({ command }) => command.includes('rollcall-controller'))
  if (!controller) throw new Error('no controller runs')
  process.kill(controller.pid, 'SIGKILL')
  await endsWith(t, program, 1)
  const said = program.stdout.join('\n')
  t.match(said, 'the controller ended with SIGKILL')
  t.match(said, /worker-3: (still has the taint|the Node is not there)/)
  t.match(said, /"msg":"leadership begins"/)
  t.same(await left(), NOTHING)
})

t.test('a wrong option is named in one line before anything starts', async (t) => {
  for (const arg of ['--nodes=3', '--nodes=51', '--nodes=many', '--nodes=2.5', '--nodse=3', 'more']) {
    const named = arg.replace(/=.*/, '')
    const { program } = await startDemo(t, arg)
    t.equal((await program.ended).code, 2, arg)
    t.equal(program.stderr.length, 1, 'in one line')
    t.match(program.stderr[0], /^demo: /)
    t.ok(program.stderr[0]?.includes(named), `names ${named}`)
  }
  const { program } = await startDemo(t, '--help', '--nodes=1')
  t.equal((await program.ended).code, 0)
  t.match(program.output(), /--nodes N .* \(default 12\)/)
})
