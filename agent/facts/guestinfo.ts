import { accessSync, constants, existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Clock } from '../shared/clock.ts'
import { ok, type Result } from '../shared/result.ts'
import { runTool, type ToolOptions, type ToolResult } from '../shared/run-process.ts'
import { type AgentReason, type Unreadable, unreadable } from './files.ts'

/** The guest's side of the VM's guestinfo variables; one call at a time. */
export interface Guestinfo {
  /** The value of a variable; undefined where it is not set. */
  get(key: string): Promise<Result<string | undefined, Unreadable>>
  set(key: string, value: string): Promise<Result<undefined, Unreadable>>
  /** Starts another round of calls: looks for the tools again and gives one that hung another chance. */
  renew(): void
}

type Verb = 'info-get' | 'info-set'

/** A variable has at most 64 kB. */
const MAX_OUTPUT = 128 * 1024
const TIMEOUT = 5000
const ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }
/**
 * Milliseconds between two calls of vmtoolsd. While a host still cleans up the last channel, old versions wait two seconds,
 * or fall back to the plain channel and are refused (vmware/open-vm-tools#377, #692).
 */
const PAUSE = 100

/**
 * Talks to the host by `vmware-rpctool` or a tool with its command line, and where the host answers "Permission denied" by
 * `vmtoolsd --cmd`: a VM's settings may require the privileged channel, which the former does not support
 * (vmware/open-vm-tools#690). Which of the two a command needs is remembered while it works. The whole command is one
 * argument, there is no shell, and the environment only contains what makes messages English. After a call that hung, all
 * others of the round fail at once.
 *
 * Failures are returned as facts: `ToolMissing`, `NotVMware`, `Disabled`, `TimedOut`, `Failed`; `PermissionDenied` (it
 * needs the privileged channel, and vmtoolsd is not there), `PrivilegedChannelRefused`, `PrivilegedChannelFailed`.
 */
export function createGuestinfo(options: {
  /** Called once in each round. */
  readonly findTools: () => RpcTools
  readonly clock: Pick<Clock, 'sleep'>
  /** Ends a call that is under way. */
  readonly signal: AbortSignal
  /** Milliseconds for one call. */
  readonly timeout?: number
}): Guestinfo {
  const { signal, timeout = TIMEOUT } = options
  const limits = { env: ENVIRONMENT, timeout, maxOutput: MAX_OUTPUT, signal }
  const needsPrivilege = new Set<Verb>()
  let round: Round | undefined
  let pause = 0
  let last: Promise<unknown> = Promise.resolve()

  const run = async (
    of: Round,
    tool: string,
    args: readonly string[],
  ): Promise<Result<string, Unreadable>> => {
    const result = await runTool(tool, args, limits)
    if (result.kind === 'late') of.hung = true
    return judgeAnswer(tool, result, limits)
  }
  const runPrivileged = async (
    of: Round,
    tool: string,
    command: string,
  ): Promise<Result<string, Unreadable>> => {
    for (let retries = 1; ; retries--) {
      await options.clock.sleep(pause, signal)
      pause = PAUSE
      const answer = await run(of, tool, ['--cmd', command])
      if (!isDenied(answer) || retries === 0) return answer
    }
  }
  const ask = async (of: Round, verb: Verb, command: string): Promise<Result<string, Unreadable>> => {
    const { plain, privileged } = of.tools
    if (plain !== undefined && !needsPrivilege.has(verb)) {
      const answer = await run(of, plain, [command])
      if (!isDenied(answer)) return answer
    }
    if (privileged === undefined) return explainMissing(verb, of.tools)
    const answer = await runPrivileged(of, privileged, command)
    if (answer.ok || answer.reason === NO_VALUE) needsPrivilege.add(verb)
    else needsPrivilege.delete(verb)
    return answer.ok ? answer : explainPrivileged(verb, answer, of.tools)
  }
  const call = (verb: Verb, operands: string): Promise<Result<string, Unreadable>> => {
    const turn = last.then(async () => {
      round ??= { tools: options.findTools(), hung: false, answer: undefined }
      const of = round
      if (of.answer !== undefined) return of.answer
      const answer = await ask(of, verb, `${verb} ${operands}`)
      if (of.hung) of.answer = answer
      return answer
    })
    last = turn
    return turn
  }
  return {
    async get(key) {
      const answer = await call('info-get', key)
      if (!answer.ok && answer.reason === NO_VALUE) return ok(undefined)
      return answer
    },
    async set(key, value) {
      const answer = await call('info-set', `${key} ${value}`)
      return answer.ok ? ok(undefined) : answer
    },
    renew() {
      round = undefined
    },
  }
}

interface Round {
  readonly tools: RpcTools
  hung: boolean
  /** The result of all calls after one that hung. */
  answer: Result<string, Unreadable> | undefined
}

function isDenied(answer: Result<string, Unreadable>): boolean {
  return !answer.ok && answer.reason === DENIED
}

function explainMissing(verb: Verb, { plain }: RpcTools): Result<never, Unreadable> {
  if (plain === undefined) {
    const message = 'no guest RPC tool was found: install open-vm-tools or name one with --rpctool'
    return unreadable('ToolMissing', message)
  }
  return unreadable(
    'PermissionDenied',
    `the host takes ${verb} only through the privileged channel (guest_rpc.rpci.auth.cmd.${verb} in the VM's settings), and there is no vmtoolsd: install open-vm-tools and run the agent on the host`,
  )
}

function explainPrivileged(verb: Verb, failure: Unreadable, { plain }: RpcTools): Result<never, Unreadable> {
  if (failure.reason === DENIED) {
    return unreadable(
      'PrivilegedChannelRefused',
      `the host refuses ${verb} to vmtoolsd too: run the agent as root with CAP_NET_BIND_SERVICE and vsock; if it already runs so, check guest_rpc.rpci.auth.cmd.${verb} and isolation.tools.setinfo.disable in the VM's settings`,
    )
  }
  // Where vmtoolsd is the only tool nobody has asked for the privileged channel; the others are what the host said.
  if (plain === undefined || [NO_VALUE, 'NotVMware', 'Disabled'].includes(failure.reason))
    return unreadable(failure.reason, failure.message)
  return unreadable(
    'PrivilegedChannelFailed',
    `${verb} needs vmtoolsd (guest_rpc.rpci.auth.cmd.${verb} in the VM's settings), and ${failure.message}`,
  )
}

/** The variable is not set: not a failure, and not reported. */
const NO_VALUE = 'NoValue'
/** The host refuses this channel; another one may work. */
const DENIED = 'Denied'

/**
 * Messages of the tools and the host, in the order in which they are checked, from open-vm-tools' sources: the tools' are in
 * `rpctool/rpctool.c` and `services/vmtoolsd/cmdLine.c`, those of its channels in `lib/rpcOut` and `lib/rpcChannel` ("NULL"
 * where there is no text), the host's in `lib/include/vmware/tools/guestrpc.h` (RPCCHANNEL_SEND_PERMISSION_DENIED) and `lib/include/vmware/guestrpc/tclodefs.h` (RPCI_UNKNOWN_COMMAND, its answer
 * to a command that it does not take), and those of `rollcall-guestinfo` in `message/message.go` and `rpcout/rpcout.go` of vmware/vmw-guestinfo. The
 * host's refusals go to stderr as they are, with exit code 1.
 */
const ANSWERS: readonly [RegExp, AgentReason, string][] = [
  [/no value found/i, NO_VALUE, ''],
  [
    /must be run inside a virtual machine|not in a vmware vm|(sending message|send command) to vmware/i,
    'NotVMware',
    'no VMware hypervisor answers: this machine is not a vSphere VM, or its guest RPC is restricted',
  ],
  [
    /could not open channel|unable to (open the communication channel|create the Rpc\w+ object)|^NULL$/im,
    'Failed',
    "the hypervisor answers and opens no channel for guest RPC: all of this VM's are in use for now, or it only looks like VMware's",
  ],
  [
    /(unable to (send|receive)|invalid format) .*RPCI|could not close channel/i,
    'Failed',
    'the channel for guest RPC broke during the call: the agent tries again; if this lasts, restart open-vm-tools and look at the load of the ESXi host',
  ],
  [/permission denied/i, DENIED, ''],
  [
    /unknown command|disabled/i,
    'Disabled',
    "the host has turned this off: see isolation.tools.setinfo.disable in the VM's settings",
  ],
]

/** Turns a tool's result into a fact: its answer, or a reason and what to do. Never quotes the tool's output. */
function judgeAnswer(
  tool: string,
  result: ToolResult,
  { timeout, maxOutput }: Pick<ToolOptions, 'timeout' | 'maxOutput'>,
): Result<string, Unreadable> {
  switch (result.kind) {
    case 'not-started':
      return notStarted(tool, result.code)
    case 'too-long':
      return unreadable('Failed', `${tool} answered with more than ${maxOutput} bytes`)
    case 'late':
      return unreadable('TimedOut', `${tool} gave no answer within ${timeout / 1000} s`)
    case 'ended':
      return result.code === 0 ? ok(result.stdout.replace(/\n$/, '')) : refusal(tool, result)
  }
}

function notStarted(tool: string, code: string): Result<never, Unreadable> {
  if (code === 'ENOENT')
    return unreadable('ToolMissing', `${tool} is not there: install it or name another with --rpctool`)
  if (code === 'EACCES')
    return unreadable('ToolMissing', `permission denied executing ${tool}: check its mode`)
  return unreadable('Failed', `${tool} cannot be started: ${code}`)
}

function refusal(tool: string, result: Extract<ToolResult, { kind: 'ended' }>): Result<never, Unreadable> {
  const output = `${result.stderr}\n${result.stdout}`.slice(0, 1000)
  for (const [pattern, reason, message] of ANSWERS) {
    if (pattern.test(output)) return unreadable(reason, message)
  }
  const how = result.signal ? `signal ${result.signal}` : `code ${result.code}`
  return unreadable('Failed', `${tool} ended with ${how} and an answer that is not known`)
}

/** The installed programs by which this machine can talk to its host. */
export interface RpcTools {
  /** By the backdoor port: fast, and without any privilege. */
  readonly plain: string | undefined
  /** open-vm-tools' daemon, whose `--cmd` takes the privileged channel; slower. */
  readonly privileged: string | undefined
}

/**
 * Finds the guest RPC tools: the plain one is the host's own, else the helper `rollcall-guestinfo` beside this program,
 * as in the image. Costs only a few system calls, so it can be repeated: packages may be installed at any time.
 *
 * @param program path of the running program
 * @param named the plain tool from the command line, if any; used as it is
 */
export function findTools(root: string, program: string, named?: string): RpcTools {
  const helper = join(dirname(program), 'rollcall-guestinfo')
  return {
    plain: named ?? [join(root, 'usr/bin/vmware-rpctool'), helper].find(isExecutable),
    privileged: [join(root, 'usr/bin/vmtoolsd')].find(isExecutable),
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    // Missing or not executable.
    return false
  }
}

/**
 * The version of open-vm-tools' daemon, as `12.3.5.46049`; undefined where it is not installed or prints something else,
 * which does not matter to anything else. Takes one short process; the version changes only with the package.
 */
export async function readToolsVersion(root: string, signal: AbortSignal): Promise<string | undefined> {
  const tool = join(root, 'usr/bin/vmtoolsd')
  if (!existsSync(tool)) return undefined
  const env = { LC_ALL: 'C' }
  const result = await runTool(tool, ['--version'], { env, timeout: 5000, maxOutput: 4096, signal })
  if (result.kind !== 'ended') return undefined
  return /version (\d+(?:\.\d+){1,4})\b/.exec(result.stdout)?.[1]?.slice(0, 64)
}
