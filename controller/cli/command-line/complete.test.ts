import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { SCRIPTS, SHELLS } from '../commands/completion.ts'
import { COMMANDS } from '../commands/table.ts'
import { complete } from './complete.ts'

/** The words of a line, of which the last is being typed. */
const words = (line: string) => {
  const found = complete(line.split(' '))
  return found.kind === 'words' ? found.words : found
}

t.test('commands, options and values come from the table', async (t) => {
  t.same(words(''), [...Object.keys(COMMANDS), '--cloud-config', '--help', '--version'])
  t.same(words('pl'), ['plan'])
  t.same(words('plan --ou'), ['--output'])
  t.same(words('plan --output '), ['table', 'json'])
  t.same(words('plan --output j'), ['json'])
  t.same(words('plan -o '), ['table', 'json'])
  t.same(words('status -o '), ['table', 'wide', 'json', 'html'])
  t.same(words('plan --output=j'), ['--output=json'])
  t.same(words('plan --output = j'), ['json'], 'as bash has it')
  t.same(words('plan --output ='), ['table', 'json'], 'as bash has it')
  t.same(words('plan --from-cpi --f'), [], 'once is enough')
  t.same(words('completion '), SHELLS)
  t.same(words('completion bash '), ['--help'])
  t.same(words('plan --config '), { kind: 'files' })
  t.same(words('plan --config=/e'), { kind: 'files' })
  t.same(words('status --context '), [])
  t.same(words('nothing '), [])
  t.same(words('plan --toString '), words('plan '))
})

t.test('a Node, once, wherever the options stand', async (t) => {
  const none = { kubeconfig: undefined, context: undefined }
  t.same(words('explain '), { kind: 'nodes', prefix: '', ...none })
  t.same(words('explain --output json wo'), { kind: 'nodes', prefix: 'wo', ...none })
  t.same(words('explain --kubeconfig /k --context=c w'), {
    kind: 'nodes',
    prefix: 'w',
    kubeconfig: '/k',
    context: 'c',
  })
  t.match(words('explain worker-1 '), ['--config', '--kubeconfig'])
  t.match(words('status worker-1 w'), { kind: 'nodes', prefix: 'w' }, 'or as many as one likes')
  t.match(words('explain --'), ['--config', '--kubeconfig'])
})

/** A program of that name that answers as `complete` does, for a script to ask. */
function stub(dir: string) {
  const asked = `${dir}/ask.mjs`
  const answer = `
import { complete } from '${import.meta.dirname}/complete.ts'
const found = complete(process.argv.slice(3))
const words = found.kind === 'words' ? found.words : found.kind === 'nodes' ? ['worker-1', 'worker-2'] : []
console.log([...words, found.kind === 'files' ? ':0' : ':4'].join('\\n'))`
  writeFileSync(asked, answer)
  const bin = `${dir}/bin`
  mkdirSync(bin)
  for (const name of ['rollcall-controller', 'kubectl-rollcall']) {
    writeFileSync(`${bin}/${name}`, `#!/bin/sh\nexec '${process.execPath}' '${asked}' "$@"\n`)
    chmodSync(`${bin}/${name}`, 0o755)
  }
  return bin
}

const inPath = (name: string) =>
  (process.env.PATH ?? '').split(':').some((dir) => existsSync(`${dir}/${name}`))

t.test('bash', { skip: inPath('bash') ? false : 'there is no bash' }, async (t) => {
  const bin = stub(t.testdir({ 'vsphere.conf': '', other: {} }))
  const script = `${bin}/script`
  writeFileSync(script, SCRIPTS.bash)
  const replies = (...line: string[]) => {
    const quoted = line.map((word) => `'${word}'`).join(' ')
    const run = `source '${script}'; cd '${bin}/..'; COMP_WORDS=(${quoted}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _rollcall_controller; printf '%s\\n' "\${COMPREPLY[@]}"`
    const env = { PATH: `${bin}:${process.env.PATH}` }
    return execFileSync('bash', ['--norc', '-c', run], { env, encoding: 'utf8' }).trim().split('\n')
  }
  t.same(replies('rollcall-controller', 'pl'), ['plan'])
  t.same(replies('kubectl-rollcall', 'explain', 'w'), ['worker-1', 'worker-2'])
  t.same(replies('rollcall-controller', 'plan', '--output', '=', 'j'), ['json'])
  t.same(replies('rollcall-controller', 'plan', '--config', 'vs'), ['vsphere.conf'])
  t.same(replies('rollcall-controller', 'status', '--context', ''), [''])
})

t.test('zsh', { skip: inPath('zsh') ? false : 'there is no zsh' }, async (t) => {
  const bin = stub(t.testdir({}))
  const script = `${bin}/script`
  writeFileSync(script, SCRIPTS.zsh)
  // As within its completion system: what is handed to it is printed.
  const system = `compdef() { }; compadd() { shift; print -l -- "$@" }; _files() { print files }`
  const replies = (...line: string[]) => {
    const run = `${system}; source '${script}'; words=("$@"); CURRENT=$#; _rollcall_controller`
    const env = { PATH: `${bin}:${process.env.PATH}` }
    return execFileSync('zsh', ['-fc', run, 'zsh', ...line], { env, encoding: 'utf8' })
      .trim()
      .split('\n')
  }
  t.same(replies('rollcall-controller', 'pl'), ['plan'])
  t.same(replies('kubectl-rollcall', 'explain', 'w'), ['worker-1', 'worker-2'])
  t.same(replies('rollcall-controller', 'plan', '--output=j'), ['--output=json'])
  t.same(replies('rollcall-controller', 'status', '--context', ''), [''])
})

t.test('fish', { skip: inPath('fish') ? false : 'there is no fish' }, async (t) => {
  const bin = stub(t.testdir({ 'vsphere.conf': '', other: {} }))
  const script = `${bin}/script`
  writeFileSync(script, SCRIPTS.fish)
  const replies = (line: string) => {
    const run = `source '${script}'; cd '${bin}/..'; complete -C '${line}'`
    const env = { PATH: `${bin}:${process.env.PATH}`, HOME: bin }
    return execFileSync('fish', ['-c', run], { env, encoding: 'utf8' }).trim().split('\n')
  }
  t.same(replies('rollcall-controller pl'), ['plan'])
  t.same(replies('kubectl-rollcall explain w'), ['worker-1', 'worker-2'])
  t.same(replies('rollcall-controller plan --output=j'), ['--output=json'])
  t.same(replies('rollcall-controller plan --config vs'), ['vsphere.conf'])
  t.same(replies('rollcall-controller plan --config=vs'), ['--config=vsphere.conf'])
  t.same(replies('rollcall-controller status --context '), [''])
})
