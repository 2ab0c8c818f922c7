import { attempt } from '../../../agent/shared/result.ts'
import { type CredentialFlags, operatorCredentials } from '../../kubernetes/credentials.ts'
import { readAll } from '../../kubernetes/list.ts'
import { parseNode } from '../../kubernetes/parse-node.ts'
import { type Surroundings, withClient } from '../commands/command.ts'
import { COMMANDS, type CommandName, isCommand, optionsOf, wordsOf } from '../commands/table.ts'
import { OPTIONS, type OptionName, type OptionRow, optionRow, takesValue } from './options.ts'

/** What may stand at the end of a command line. */
type Completion =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'files' }
  /** The names of Nodes that begin with this. */
  | ({ readonly kind: 'nodes'; readonly prefix: string } & CredentialFlags)

/**
 * Completes the last of these words, which may be empty, by the table.
 *
 * @param words without the program's own name, as a shell has them: bash makes three of `--output=json`
 */
export function complete(words: readonly string[]): Completion {
  const [name = '', ...rest] = words.filter((word, index) => word !== '=' || index === words.length - 1)
  if (rest.length === 0)
    return beginning(name, [...Object.keys(COMMANDS), '--cloud-config', '--help', '--version'])
  return isCommand(name) ? completeFor(name, rest) : beginning('', [])
}

function completeFor(command: CommandName, words: readonly string[]): Completion {
  const known = optionsOf(command)
  const word = words.at(-1)?.replace(/^=$/, '') ?? ''
  const before = words.slice(0, -1).map(inFull)
  const option = before.at(-1)?.replace(/^--/, '') ?? ''
  if (before.at(-1)?.startsWith('--') && takesValue(option)) return valuesOf(command, option, word, '')
  const [, assigned, value] = /^--([a-z-]+)=(.*)$/.exec(word) ?? []
  if (assigned !== undefined && value !== undefined)
    return valuesOf(command, assigned, value, `--${assigned}=`)
  const { operand } = COMMANDS[command]
  if (operand !== undefined && !word.startsWith('-') && (operand.many || !hasOperand(before))) {
    return operand.words === undefined
      ? {
          kind: 'nodes',
          prefix: word,
          kubeconfig: givenFor('kubeconfig', before),
          context: givenFor('context', before),
        }
      : beginning(word, operand.words)
  }
  const given = new Set(before.map((each) => each.split('=')[0]))
  return beginning(
    word,
    [...known.map((each) => `--${each}`), '--help'].filter((each) => !given.has(each)),
  )
}

/** An option of one letter by its name. */
function inFull(word: string): string {
  const row = Object.entries<OptionRow>(OPTIONS).find(([, { short }]) => word === `-${short}`)
  return row === undefined ? word : `--${row[0]}`
}

function valuesOf(command: CommandName, name: string, begun: string, prefix: string): Completion {
  if (optionRow(name)?.value === 'FILE') return { kind: 'files' }
  return beginning(
    `${prefix}${begun}`,
    (wordsOf(command, name) ?? []).map((word) => `${prefix}${word}`),
  )
}

function givenFor(name: OptionName, words: readonly string[]): string | undefined {
  const assigned = words.find((word) => word.startsWith(`--${name}=`))
  if (assigned !== undefined) return assigned.slice(name.length + 3)
  const index = words.indexOf(`--${name}`)
  return index === -1 ? undefined : words[index + 1]
}

function hasOperand(words: readonly string[]): boolean {
  return words.some((word, index) => {
    const option = words[index - 1]
    const isValue = option?.startsWith('--') === true && !option.includes('=') && takesValue(option.slice(2))
    return !word.startsWith('-') && !isValue
  })
}

function beginning(begun: string, words: readonly string[]): Completion {
  return { kind: 'words', words: words.filter((word) => word.startsWith(begun)) }
}

/** What the API server lets be a name; a shell is shown nothing else. */
const NAME = /^[a-z0-9.-]+$/

/**
 * Candidates for the end of a command line, in the format that the shells' scripts read: one a line, then `:0` for files or
 * `:4` for nothing else. Errors would only be in the way of what is being typed, so there are fewer candidates instead.
 */
export async function candidates(
  words: readonly string[],
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<string> {
  const found = complete(words)
  switch (found.kind) {
    case 'files':
      return ':0\n'
    case 'words':
      return lines(found.words)
    case 'nodes': {
      const names = await attempt(() => listNodeNames(found, surroundings, signal))
      return lines(names.ok ? names.value.filter((name) => name.startsWith(found.prefix)) : [])
    }
  }
}

const lines = (candidates: readonly string[]) => `${[...candidates, ':4'].join('\n')}\n`

async function listNodeNames(
  flags: CredentialFlags,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const nodes = await withClient(
    operatorCredentials(flags, surroundings.environment),
    surroundings,
    (client) => readAll(client, { path: '/api/v1/nodes' }, parseNode, signal),
  )
  return [...nodes.keys()].filter((name) => NAME.test(name))
}
