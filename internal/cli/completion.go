package cli

import (
	"context"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/internal/cli/command"
)

func completionCommand(env Env) command.Command {
	return command.Command{
		Name:  "completion",
		Args:  "bash|zsh|fish",
		Usage: "print a script that completes commands and flags in a shell",
		Description: `Load it in the shell's start-up file:
  bash  source <(agentry completion bash)
  zsh   source <(agentry completion zsh)
  fish  agentry completion fish | source`,
		Example: "agentry completion bash",
		Run: func(_ context.Context, flags *cli.Context, args []string) error {
			if len(args) != 1 {
				return command.Usagef("agentry completion bash", "one of bash, zsh and fish is required")
			}
			script, err := completionScript(flags.App, args[0])
			if err != nil {
				return err
			}
			_, err = io.WriteString(env.Stdout, script)
			return err
		},
	}
}

func completionScript(app *cli.App, shell string) (string, error) {
	switch shell {
	case "bash":
		return bashCompletion, nil
	case "zsh":
		return zshCompletion, nil
	case "fish":
		return app.ToFishCompletion()
	}
	return "", command.Usagef("use bash, zsh or fish", "no completion for shell %q", shell)
}

// The scripts ask the program for completions. They work like those of the library, but do not use eval on what
// the user typed.
const (
	bashCompletion = `_agentry() {
  local cur="${COMP_WORDS[COMP_CWORD]}" words=("${COMP_WORDS[@]:0:COMP_CWORD}")
  if [[ $cur == -* ]]; then words+=("$cur"); fi
  COMPREPLY=($(compgen -W "$("${words[@]}" --generate-bash-completion 2>/dev/null)" -- "$cur"))
}
complete -o bashdefault -o default -F _agentry agentry
`
	zshCompletion = `#compdef agentry
_agentry() {
  local -a opts line
  line=("${(@)words[1,CURRENT-1]}")
  if [[ "${words[CURRENT]}" == -* ]]; then line+=("${words[CURRENT]}"); fi
  opts=("${(@f)$("${line[@]}" --generate-bash-completion 2>/dev/null)}")
  if [[ -n "${opts[1]}" ]]; then _describe agentry opts; else _files; fi
}
compdef _agentry agentry
`
)
