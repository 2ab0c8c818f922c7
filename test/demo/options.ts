import { parseArgs } from 'node:util'

export interface DemoArguments {
  /** How many VMs become Nodes. */
  readonly nodes: number
  /** Whether everything goes on running at the end, to be looked at. */
  readonly keep: boolean
  /** The file for an SVG picture of what is shown. */
  readonly picture: string | undefined
}

export type DemoCommandLine =
  | { readonly kind: 'options'; readonly options: DemoArguments }
  | { readonly kind: 'help' }
  | { readonly kind: 'wrong'; readonly message: string }

/** One is destroyed, one powered off, one moved, and one is spared. */
const MIN_NODES = 4
/** Each is a process of its own beside the servers, so the machine sets the bound. */
const MAX_NODES = 50

export const HELP = `usage: npm run demo -- [options]

Starts a real Kubernetes API server and a simulated vCenter, runs Rollcall's controller and one agent for
each VM, and shows the Nodes being proven and initialized, and a forger among them being refused. Then it
destroys a VM, powers one off, moves one, and takes the privileges of the controller's account away for a
while, and shows what becomes of the Nodes. Leaves nothing running. The first time it builds the servers
(needs Go 1.26, takes minutes) and keeps them.

  --nodes N   how many VMs become Nodes, ${MIN_NODES} to ${MAX_NODES} (default 12); the forger is one more
  --keep      go on running at the end, to look around; Ctrl-C ends it
  --picture FILE  write what is shown to FILE as well, as SVG
  --help      print this text
`

/** Reads the command line. What is wrong comes back as one sentence. */
export function parseOptions(args: readonly string[]): DemoCommandLine {
  let values: ReturnType<typeof parse>
  try {
    values = parse(args)
  } catch (error) {
    // Thrown by parseArgs alone, whose first sentence names the option.
    const message = error instanceof Error ? firstSentence(error.message) : String(error)
    return { kind: 'wrong', message: `${message}; --help lists the options` }
  }
  if (values.help) return { kind: 'help' }
  const nodes = Number(values.nodes)
  if (!Number.isInteger(nodes) || nodes < MIN_NODES || nodes > MAX_NODES) {
    return {
      kind: 'wrong',
      message: `--nodes: expected a number from ${MIN_NODES} to ${MAX_NODES}, got ${values.nodes}`,
    }
  }
  return { kind: 'options', options: { nodes, keep: values.keep, picture: values.picture } }
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    options: {
      nodes: { type: 'string', default: '12' },
      keep: { type: 'boolean', default: false },
      picture: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  }).values
}

function firstSentence(text: string): string {
  return text.split(/\.\s|\n/)[0] ?? text
}
