import { ok } from '../../../agent/shared/result.ts'
import { command } from './command.ts'

/**
 * The script that a shell reads, or the executable that kubectl asks. Each hands the words to the program itself (`__complete`),
 * which answers with a candidate a line and, as the last line, what else there is: `:0` files, `:4` nothing. kubectl reads the
 * same (cobra's ShellCompDirective).
 */
export const SCRIPTS = {
  bash: `# source <(rollcall-controller completion bash)
_rollcall_controller() {
  local -a found
  mapfile -t found < <("\${COMP_WORDS[0]}" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  COMPREPLY=()
  ((\${#found[@]})) || return
  if [[ "\${found[-1]}" == :0 ]]; then
    local word="\${COMP_WORDS[COMP_CWORD]}"
    [[ "$word" == = ]] && word=
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  else
    COMPREPLY=("\${found[@]:0:\${#found[@]}-1}")
  fi
}
complete -F _rollcall_controller rollcall-controller kubectl-rollcall
`,
  zsh: `#compdef rollcall-controller kubectl-rollcall
# source <(rollcall-controller completion zsh), or as _rollcall-controller in a folder of fpath
_rollcall_controller() {
  local -a found
  found=("\${(@f)$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ "\${found[-1]}" == :0 ]]; then
    [[ -prefix --*= ]] && compset -P '*='
    _files
  else
    compadd -- "\${(@)found[1,-2]}"
  fi
}
if [[ "\${funcstack[1]}" == _rollcall-controller ]]; then
  _rollcall_controller "$@"
else
  compdef _rollcall_controller rollcall-controller kubectl-rollcall
fi
`,
  fish: `# rollcall-controller completion fish | source
function __rollcall_controller
  set -l words (commandline -opc) (commandline -ct)
  set -l found ($words[1] __complete $words[2..-1] 2>/dev/null)
  test (count $found) -gt 0; or return
  if test "$found[-1]" = :0
    # Of --config=FILE a candidate is the whole.
    set -l option (string match -r '^--[a-z-]+=' -- (commandline -ct))
    for path in (__fish_complete_path (string replace -r '^--[a-z-]+=' '' -- (commandline -ct)))
      echo "$option$path"
    end
  else if test (count $found) -gt 1
    printf '%s\\n' $found[1..-2]
  end
end
complete -c rollcall-controller -f -a '(__rollcall_controller)'
complete -c kubectl-rollcall -f -a '(__rollcall_controller)'
`,
  kubectl: `#!/bin/sh
# As kubectl_complete-rollcall on PATH, beside kubectl-rollcall.
exec kubectl-rollcall __complete "$@"
`,
}

/** Whom completion is for. */
export const SHELLS = ['bash', 'zsh', 'fish', 'kubectl'] as const

export const COMPLETION = command({
  does: 'prints the completion script for a shell, or for kubectl the executable kubectl_complete-rollcall',
  operand: { name: 'SHELL', words: SHELLS },
  required: [],
  optional: [],
  parse: (values) => ok({ shell: SHELLS.find((known) => known === values.get('operand')) ?? 'bash' }),
  async start({ shell }, { stdout }) {
    stdout.write(SCRIPTS[shell])
    return 0
  },
})
