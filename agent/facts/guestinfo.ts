import { type Fact, known, unreadable } from './fact.ts'
import { runTool, type ToolResult } from './run-tool.ts'

/** The guest's side of the VM's guestinfo variables; one call at a time. */
export interface Guestinfo {
  /** The value of a variable; undefined where it is not set. */
  get(key: string): Promise<Fact<string | undefined>>
  set(key: string, value: string): Promise<Fact<undefined>>
}

export interface GuestinfoOptions {
  /** The tool, or undefined where none was found. */
  readonly tool: string | undefined
  /** Ends a call that is under way. */
  readonly signal: AbortSignal
  /** Milliseconds for one call. */
  readonly timeout?: number
}

/** A variable has at most 64 kB. */
const MAX_OUTPUT = 128 * 1024
const TIMEOUT = 5000

/**
 * Speaks to the host by `vmware-rpctool` or a tool with its command line: the whole command is one argument, no shell
 * is between, the environment is empty but for what makes messages English. Failures come back as facts:
 * `ToolMissing`, `NotVMware`, `PermissionDenied`, `Disabled`, `TimedOut`, `Failed`.
 */
export function createGuestinfo({ tool, signal, timeout = TIMEOUT }: GuestinfoOptions): Guestinfo {
  let last: Promise<unknown> = Promise.resolve()
  const call = (command: string): Promise<Fact<string>> => {
    if (tool === undefined) {
      const message = 'no guest RPC tool was found: install open-vm-tools or name one with --rpctool'
      return Promise.resolve(unreadable('ToolMissing', message))
    }
    const turn = last.then(() => run(tool, command, timeout, signal))
    last = turn
    return turn
  }
  return {
    async get(key) {
      const answer = await call(`info-get ${key}`)
      if (!answer.ok && answer.reason === NO_VALUE) return known(undefined)
      return answer
    },
    async set(key, value) {
      const answer = await call(`info-set ${key} ${value}`)
      return answer.ok ? known(undefined) : answer
    },
  }
}

const NO_VALUE = 'NoValue'

/**
 * What the tools and the host say, as open-vm-tools' sources have it (`rpctool.c`, `tclodefs.h`) and as seen in the
 * field, in the order of judgement.
 */
const ANSWERS: readonly [RegExp, string, string][] = [
  [/no value found/i, NO_VALUE, ''],
  [
    /must be run inside a virtual machine|not in a vmware vm|sending message to vmware/i,
    'NotVMware',
    'no VMware hypervisor answers: this machine is no vSphere VM, or its guest RPC is restricted',
  ],
  [
    /permission denied/i,
    'PermissionDenied',
    "the host refuses guest RPC: see guest_rpc.rpci.auth.cmd.info-set and info-get in the VM's settings",
  ],
  [
    /unknown command|disabled/i,
    'Disabled',
    "the host has turned this off: see isolation.tools.setinfo.disable in the VM's settings",
  ],
]

async function run(
  tool: string,
  command: string,
  timeout: number,
  signal: AbortSignal,
): Promise<Fact<string>> {
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }
  const result = await runTool(tool, [command], { env, timeout, maxOutput: MAX_OUTPUT, signal })
  if (result.kind === 'ended' && result.code === 0) return known(result.stdout.replace(/\n$/, ''))
  return explain(tool, result, timeout)
}

function explain(tool: string, result: ToolResult, timeout: number): Fact<never> {
  switch (result.kind) {
    case 'not-started':
      return notStarted(tool, result.code)
    case 'too-long':
      return unreadable('Failed', `${tool} answered with more than ${MAX_OUTPUT} bytes`)
    case 'late':
      return unreadable('TimedOut', `${tool} gave no answer within ${timeout / 1000} s`)
    case 'ended':
      return judge(tool, result)
  }
}

function notStarted(tool: string, code: string): Fact<never> {
  if (code === 'ENOENT')
    return unreadable('ToolMissing', `${tool} is not there: name the tool with --rpctool`)
  if (code === 'EACCES') return unreadable('ToolMissing', `${tool} may not be executed: look at its mode`)
  return unreadable('Failed', `${tool} cannot be started: ${code}`)
}

function judge(tool: string, result: Extract<ToolResult, { kind: 'ended' }>): Fact<never> {
  const output = `${result.stderr}\n${result.stdout}`.slice(0, 1000)
  for (const [pattern, reason, message] of ANSWERS) {
    if (pattern.test(output)) return unreadable(reason, message)
  }
  const how = result.signal ? `signal ${result.signal}` : `code ${result.code}`
  return unreadable('Failed', `${tool} ended with ${how} and an answer that is not known`)
}
