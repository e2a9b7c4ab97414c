package initialize

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/internal/applied"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/scaffold"
)

const (
	// maxAnswersBytes limits what is typed in all.
	maxAnswersBytes = 64 << 10
	// maxTries limits how often one question is asked.
	maxTries = 3
)

// questions asks for values that no flag has. The first error ends it.
type questions struct {
	flags *cli.Context
	in    *bufio.Reader // nil if nobody is there
	out   io.Writer
	err   error
}

// ask returns the value of a flag or, if it is not set, the answer to a question, which is the default if it is empty.
func (q *questions) ask(flag, question, otherwise string, check func(string) error) string {
	if q.err != nil {
		return ""
	}
	if q.flags.IsSet(flag) || q.in == nil {
		value := otherwise
		if q.flags.IsSet(flag) {
			value = q.flags.String(flag)
		} else if value == "" {
			q.err = command.Usagef("agentry init --help", "--%s is required", flag)
			return ""
		}
		if err := check(value); err != nil {
			q.err = command.Usagef("", "--%s: %v", flag, err)
		}
		return value
	}
	return q.typed(flag, question, otherwise, check)
}

// choose is like ask, for a flag that takes one of a few words.
func (q *questions) choose(flag, question, otherwise string, words ...string) string {
	if q.err == nil && q.flags.IsSet(flag) {
		var value string
		value, q.err = command.Choice(q.flags, flag, words)
		return value
	}
	return q.ask(flag, question, otherwise, oneOf(words))
}

func oneOf(words []string) func(string) error {
	return func(value string) error {
		if slices.Contains(words, value) {
			return nil
		}
		return errors.New("write " + diag.Alternatives(words))
	}
}

// typed asks on the terminal.
func (q *questions) typed(flag, question, otherwise string, check func(string) error) string {
	for range maxTries {
		fmt.Fprint(q.out, question)
		if otherwise != "" {
			fmt.Fprintf(q.out, " [%s]", otherwise)
		}
		fmt.Fprint(q.out, ": ")
		line, err := q.in.ReadString('\n')
		value := strings.TrimSpace(line)
		if value == "" {
			value = otherwise
		}
		if err != nil && !errors.Is(err, io.EOF) {
			q.err = err
			return ""
		}
		problem := check(value)
		if problem == nil {
			return value
		}
		fmt.Fprintf(q.out, "%v\n", problem)
		if err != nil {
			break // nobody types any more
		}
	}
	q.err = command.Usagef("agentry init --help", "--%s is required", flag)
	return ""
}

// deployer returns what applies the output: as flags say, else what the repository shows, or somebody answers.
func (q *questions) deployer(applies []applied.Folder) scaffold.Deployer {
	flux, argocd := q.flags.Bool("flux"), q.flags.Bool("argocd")
	switch {
	case flux && argocd:
		q.err = command.Usagef("leave out one of them", "--flux and --argocd are given")
	case flux:
		return scaffold.Flux
	case argocd:
		return scaffold.ArgoCD
	case q.flags.IsSet("flux") || q.flags.IsSet("argocd"):
		return scaffold.NoDeployer
	}
	otherwise := scaffold.NoDeployer
	for _, f := range applies {
		otherwise = scaffold.Deployer(f.Tool)
		if f.IsBootstrap {
			break
		}
	}
	if q.err != nil || q.in == nil {
		return otherwise
	}
	words := []string{string(scaffold.Flux), string(scaffold.ArgoCD), string(scaffold.NoDeployer)}
	return scaffold.Deployer(q.typed("flux", "What applies the output: flux, argocd or none", string(otherwise),
		oneOf(words)))
}
