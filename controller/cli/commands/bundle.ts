import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { attempt, ok } from '../../../agent/shared/result.ts'
import { gatherBundle } from '../../inspect/bundle/bundle.ts'
import { connect, findConfiguration, nodesAndReports, prepareToAsk } from '../../inspect/doctor/prepare.ts'
import { printRecording, recordVCenter, uuidsToFollow } from '../../inspect/recording/record-vcenter.ts'
import { ALL_NODES, printStatus } from '../../inspect/status/print-status.ts'
import { listed } from '../../lib/format.ts'
import { command, type Surroundings } from './command.ts'
import { INSPECTION_OPTIONS, inspectionFlags, inspectionParts } from './doctor.ts'
import { look } from './status.ts'

/** The file name that means standard output; nobody is asked then. */
const STDOUT = '-'

/**
 * Writes one file for a bug report; or, of a vCenter, what it answers, with names, addresses and identifiers replaced.
 * These are two files: beside the names of the first, those of the second could be guessed.
 */
export const BUNDLE = command({
  does: 'writes one file for a bug report, without credentials; with --vcenter instead what that vCenter answers, with names, addresses and identifiers replaced',
  required: [],
  optional: ['vcenter', 'file', 'yes', ...INSPECTION_OPTIONS],
  parse(values) {
    const flags = inspectionFlags(values)
    if (!flags.ok) return flags
    const vCenter = values.get('vcenter')
    const file =
      values.get('file') ?? (vCenter === undefined ? 'rollcall-bundle.txt' : 'rollcall-recording.json')
    return ok({ ...flags.value, vCenter, file, yes: values.has('yes') })
  },
  async start(flags, surroundings, signal) {
    const { stdout, warn } = surroundings
    const { file, vCenter, yes } = flags
    if (file !== STDOUT && existsSync(file))
      throw new Error(`${file} is there already: remove it, or name another file with --file`)
    if (file !== STDOUT && !yes && !surroundings.stdin().isTTY)
      throw new Error(
        'nobody can be asked whether to write the file: give --yes, or --file=- for standard output',
      )
    const options = inspectionParts(flags, surroundings)
    const text =
      vCenter === undefined
        ? await gatherBundle(
            {
              ...options,
              status: async (client, signal) =>
                printStatus(await look({ ...options, client, filter: ALL_NODES }, signal)),
            },
            signal,
          )
        : await record(vCenter, options, warn, signal)
    if (file === STDOUT || !yes) stdout.write(text)
    if (file === STDOUT) return 0
    if (!yes && !(await confirms(`Read the above. Write it to ${file}? [y/N] `, surroundings, signal))) {
      warn('nothing was written')
      return 1
    }
    // Only its owner may read the file, and an existing file is never overwritten.
    await writeFile(file, text, { flag: 'wx', mode: 0o600 })
    warn(`${file} is written`)
    return 0
  },
})

async function record(
  name: string,
  options: Omit<Parameters<typeof gatherBundle>[0], 'status'>,
  warn: Surroundings['warn'],
  signal: AbortSignal,
): Promise<string> {
  const client = connect(options)
  try {
    const { configured } = await findConfiguration(options, client, signal)
    if (!configured.ok) throw new Error(configured.problems.join('; '))
    const { vCenters, labels, around } = await prepareToAsk(configured.value, client, options, signal)
    const config = vCenters.find((each) => each.name === name)
    if (config === undefined)
      throw new Error(`--vcenter: the configuration has ${listed(vCenters.map((each) => each.name))}`)
    // Without a cluster it follows some VM.
    const cluster = await attempt(() => nodesAndReports(client, signal))
    const uuids = cluster.ok ? uuidsToFollow(cluster.value, name) : []
    return printRecording(
      await recordVCenter({ config, labels, around, uuids, version: options.version, warn }, signal),
    )
  } finally {
    if (client.ok) await client.value.close()
  }
}

/** Asks a person; without an answer nothing is written. */
async function confirms(
  question: string,
  { stdin, stdout }: Pick<Surroundings, 'stdin' | 'stdout'>,
  signal: AbortSignal,
): Promise<boolean> {
  stdout.write(question)
  const lines = createInterface({ input: stdin() })
  const end = () => lines.close()
  signal.addEventListener('abort', end, { once: true })
  try {
    for await (const line of lines) return /^\s*y(es)?\s*$/i.test(line)
    return false
  } finally {
    signal.removeEventListener('abort', end)
    lines.close()
  }
}
