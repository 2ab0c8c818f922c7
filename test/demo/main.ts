/** The demo: `npm run demo`. The only reader of arguments, environment and signals. */
import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { parseArgs, stripVTControlCharacters } from 'node:util'
import { createRecorder, picture } from './picture.ts'
import { demo } from './scenario.ts'
import { createScreen } from './screen.ts'

/** One is destroyed, one powered off, one moved, and one is spared. */
const MIN_NODES = 4
/** Each is a process of its own beside the servers, so the machine sets the bound. */
const MAX_NODES = 50
const NODES = 12

const HELP = `usage: npm run demo -- [options]

Starts a real Kubernetes API server and a simulated vCenter, runs Rollcall's controller and one agent for
each VM, and shows the Nodes being proven and initialized, and a forger among them being refused. Then it
destroys a VM, powers one off, moves one, and takes the privileges of the controller's account away for a
while, and shows what becomes of the Nodes. Leaves nothing running. The first time it builds the servers
(needs Go 1.26, takes minutes) and keeps them.

  --nodes N   how many VMs become Nodes, ${MIN_NODES} to ${MAX_NODES} (default ${NODES}); the forger is one more
  --keep      go on running at the end, to look around; Ctrl-C ends it
  --picture FILE  write what is shown to FILE as well, as SVG
  --help      print this text
`

type Options = ReturnType<typeof parse>

/** Exit codes: 0 all as it should be, 1 not, 2 wrong options, 130 interrupted. */
async function main(args: readonly string[]): Promise<number> {
  let options: Options
  try {
    options = parse(args)
  } catch (error) {
    const [said] = error instanceof Error ? error.message.split(/\.\s|\n/) : [String(error)]
    process.stderr.write(`demo: ${said}; --help lists the options\n`)
    return 2
  }
  if (options.help) {
    process.stdout.write(HELP)
    return 0
  }
  // With a channel to its parent it is the one that was started by the line below.
  return process.connected ? show(options) : supervise(args)
}

function parse(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      nodes: { type: 'string', default: String(NODES) },
      keep: { type: 'boolean', default: false },
      picture: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  const nodes = Number(values.nodes)
  if (!values.help && (!Number.isInteger(nodes) || nodes < MIN_NODES || nodes > MAX_NODES))
    throw new Error(`--nodes: expected a number from ${MIN_NODES} to ${MAX_NODES}, got ${values.nodes}`)
  return { ...values, nodes }
}

/**
 * Runs the demo in a process group of its own, so that a Ctrl-C does not strike all that it starts at once and in no
 * order. A signal to this process, or its being killed, closes the channel, which ends the demo.
 */
function supervise(args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [import.meta.filename, ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    detached: true,
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // More than one may come, from the terminal and from npm; they all say the same.
    process.on(signal, () => {
      if (child.connected) child.disconnect()
    })
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 1))
  })
}

async function show(options: Options): Promise<number> {
  // Each program that is started listens for the end of this process.
  process.setMaxListeners(0)
  const ending = new AbortController()
  const { signal } = ending
  process.once('disconnect', () => ending.abort(new Error('the demo was interrupted')))
  // The reader of the pipe may close it, as `head` does: then there is nobody to tell.
  process.stdout.on('error', (error) => ending.abort(error))
  const plain = createScreen(process.stdout, process.env)
  const recorder =
    options.picture === undefined
      ? undefined
      : createRecorder((line) => plain.print(stripVTControlCharacters(line)))
  const screen = recorder ?? plain
  signal.addEventListener('abort', () => screen.print('', 'Stopping.'))
  try {
    const right = await demo({ ...options, screen, env: process.env, signal })
    if (recorder !== undefined && options.picture !== undefined)
      await writeFile(options.picture, picture(recorder.lines()))
    return right ? 0 : 1
  } catch (error) {
    // What breaks while all ends at once is no news.
    if (signal.aborted) return 130
    process.stderr.write(`demo: ${error instanceof Error ? error.message : String(error)}\n`)
    return 1
  }
}

process.exit(await main(process.argv.slice(2)))
