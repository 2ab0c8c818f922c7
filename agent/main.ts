/** The agent's entry, and the only reader of arguments, environment, clock, randomness and the system's addresses. */
import { randomBytes } from 'node:crypto'
import { writeSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { inClusterCredential, kubeconfigCredential } from './api/credential.ts'
import { createGuestinfo, findTools } from './facts/guestinfo.ts'
import { readGuestFacts, readLocalFacts } from './gather.ts'
import { kubeletArgs } from './kubelet-args.ts'
import { fileFingerprint, signOfKubeletStart } from './kubelet-start.ts'
import { createLogger, describe } from './log.ts'
import { HELP, type Options, parseOptions } from './options.ts'
import { run, runOnce } from './report-loop.ts'
import { createReporter, renderReport } from './send-report.ts'
import { systemClock } from './shared/clock.ts'
import { hasFailed, linesJSON, printLines } from './shared/diagnosis.ts'
import { escapeUnprintable } from './shared/printable.ts'
import { returnFreePages, SERVICE_ACCOUNT_FOLDER } from './shared/program.ts'
import { VERSION } from './shared/version.ts'

/** Says on stderr what keeps it from going on. */
function tell(message: string): void {
  writeSync(2, `rollcall-agent: ${escapeUnprintable(message)}\n`)
}

/** Exit codes: 0 done or asked to end, 1 failed, 2 wrong options. */
async function main(args: readonly string[]): Promise<number> {
  const line = parseOptions(args)
  switch (line.kind) {
    case 'help':
      writeSync(1, HELP)
      return 0
    case 'version':
      writeSync(1, `${VERSION}\n`)
      return 0
    case 'wrong':
      tell(line.message)
      return 2
    case 'options':
      return start(line.options)
  }
}

async function start(options: Options): Promise<number> {
  const ending = new AbortController()
  const end = () => ending.abort()
  process.on('SIGTERM', end)
  process.on('SIGINT', end)
  const { signal } = ending
  const { root, refresh, look } = options
  if (options.mode === 'kubelet-args') {
    const printed = kubeletArgs(root, networkInterfaces)
    if (printed.ok) writeSync(1, `${printed.value}\n`)
    else tell(printed.message)
    return printed.ok ? 0 : 1
  }
  const { env } = process
  const log = createLogger({ level: options.logLevel, now: Date.now, write: (text) => writeSync(2, text) })
  const guestinfo = createGuestinfo({
    findTools: () => findTools(root, process.execPath, options.rpctool),
    clock: systemClock,
    signal,
  })
  const { kubeconfigs } = options
  const hasFile = kubeconfigs.length > 0
  const sign = signOfKubeletStart(root, { inPod: !hasFile })
  const parts = {
    agentVersion: VERSION,
    refresh,
    credential: hasFile
      ? kubeconfigCredential(kubeconfigs)
      : inClusterCredential({
          host: env.KUBERNETES_SERVICE_HOST,
          port: env.KUBERNETES_SERVICE_PORT,
          folder: SERVICE_ACCOUNT_FOLDER,
        }),
    client: { userAgent: `rollcall-agent/${VERSION}`, signal },
    guestinfo,
    readLocal: () => readLocalFacts(root, networkInterfaces),
    readGuest: () => readGuestFacts(root, guestinfo, signal),
    readFingerprint: () => fileFingerprint(sign),
  }
  if (options.mode === 'print') {
    writeSync(1, await renderReport({ ...parts, log }))
    return 0
  }
  if (options.mode === 'doctor') {
    // Loaded for this alone: an agent that runs holds as little memory as it can.
    const { doctor } = await import('./doctor/doctor.ts')
    const lines = await doctor({
      ...parts,
      root,
      rpctool: () => findTools(root, process.execPath, options.rpctool),
      uid: process.getuid?.(),
      inPod: env.KUBERNETES_SERVICE_HOST !== undefined,
      now: Date.now,
    })
    writeSync(1, options.output === 'json' ? linesJSON(lines) : printLines(lines))
    return hasFailed(lines) ? 1 : 0
  }
  const reporter = createReporter({
    ...parts,
    drawNonce: () => randomBytes(16).toString('hex'),
    now: Date.now,
  })
  if (options.mode === 'once') return (await runOnce({ reporter, log })) || signal.aborted ? 0 : 1
  log.info({ version: VERSION }, 'the agent has started')
  await run(
    { reporter, clock: systemClock, random: Math.random, log, refresh, look, trim: returnFreePages },
    signal,
  )
  log.info({}, 'the agent ends')
  return 0
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    tell(describe(error))
    process.exit(1)
  },
)
