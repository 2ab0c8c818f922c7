import { ok, type Result } from '../shared/result.ts'
import type { ToolOptions, ToolResult } from '../shared/run-process.ts'
import { type AgentReason, type Unreadable, unreadable } from './unreadable.ts'

/** The variable is not set: not a failure, and not reported. */
export const NO_VALUE = 'NoValue'
/** The host refuses this channel; another one may work. */
export const DENIED = 'Denied'

/**
 * Messages of the tools and the host, in the order in which they are checked, from open-vm-tools' sources: the tools' are in
 * `rpctool/rpctool.c` and `services/vmtoolsd/cmdLine.c`, the host's in `lib/include/vmware/tools/guestrpc.h`
 * (RPCCHANNEL_SEND_PERMISSION_DENIED) and `lib/include/vmware/guestrpc/tclodefs.h` (RPCI_UNKNOWN_COMMAND, its answer
 * to a command that it does not take), and those of `rollcall-guestinfo` in `message/message.go` of vmware/vmw-guestinfo. The
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
    /could not open channel/i,
    'Failed',
    "the hypervisor answers and opens no channel for guest RPC: all of this VM's are in use for now, or it only looks like VMware's",
  ],
  [/permission denied/i, DENIED, ''],
  [
    /unknown command|disabled/i,
    'Disabled',
    "the host has turned this off: see isolation.tools.setinfo.disable in the VM's settings",
  ],
]

/** Turns a tool's result into a fact: its answer, or a reason and what to do. Never quotes the tool's output. */
export function judgeAnswer(
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
  if (code === 'EACCES') return unreadable('ToolMissing', `${tool} may not be executed: look at its mode`)
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
