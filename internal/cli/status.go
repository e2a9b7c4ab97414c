package cli

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/urfave/cli/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/display"
	"github.com/agentry-dev/agentry/internal/server"
)

func statusCommand(env Env) command.Command {
	return command.Command{
		Name:  "status",
		Args:  "[NAME]",
		Usage: "print the state of the pipelines of a running agentry serve",
		Description: `With NAME it shows what one pipeline holds, and why. The exit code is 0 if all are ready,
1 if one is not, or something is wrong with the configuration, and 3 if the service cannot
be reached. With -o json or -o yaml the answer is as the API has it.`,
		Example: "agentry status",
		Flags: append(serviceFlags(),
			command.FormatFlag("status"),
		),
		Run: func(ctx context.Context, flags *cli.Context, args []string) error {
			if len(args) > 1 {
				return command.Usagef("agentry status --help", "status takes one pipeline, but was given %d arguments",
					len(args))
			}
			return status(ctx, env, flags, args)
		},
	}
}

func status(ctx context.Context, env Env, flags *cli.Context, args []string) error {
	format, err := command.Format(flags)
	if err != nil {
		return err
	}
	a, err := newAsker(flags, addressFlag)
	if err != nil {
		return err
	}
	var all server.Pipelines
	if err := a.ask(ctx, http.MethodGet, "/api/v1/pipelines", nil, &all); err != nil {
		return err
	}
	if len(args) == 1 {
		return statusOf(env.Stdout, all.Items, args[0], format)
	}
	if command.IsData(format) {
		err = command.WriteData(env.Stdout, format, all)
	} else {
		err = errors.Join(display.Statuses(env.Stdout, all.Items), display.Problems(env.Stderr, all.Problems))
	}
	if err == nil && (len(all.Problems) > 0 || !allReady(all.Items)) {
		return command.ErrFindings
	}
	return err
}

// statusOf prints one pipeline. For a pipeline with forEach it prints those made from it.
func statusOf(w io.Writer, all []server.Pipeline, name, format string) error {
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
		if s.Name != name {
			continue
		}
		var err error
		if command.IsData(format) {
			err = command.WriteData(w, format, s)
		} else {
			err = errors.Join(display.Statuses(w, []server.Pipeline{s}), display.Details(w, s))
		}
		if err == nil && !allReady([]server.Pipeline{s}) {
			return command.ErrFindings
		}
		return err
	}
	return command.Usagef(diag.DidYouMean(name, names), "the service runs no pipeline %q", name)
}

// allReady reports whether no pipeline needs attention. It skips suspended pipelines and the pipelines of other
// replicas.
func allReady(all []server.Pipeline) bool {
	for _, s := range all {
		c := s.Condition(meta.ReadyCondition)
		if !s.Suspended && s.Owned && (c == nil || c.Status != metav1.ConditionTrue) {
			return false
		}
	}
	return true
}

// askPipeline asks a service about the pipeline that the flags name, or about the only one that it runs.
func askPipeline(ctx context.Context, flags *cli.Context, path func(pipeline string) string, into any) error {
	a, err := newAsker(flags, "server")
	if err != nil {
		return err
	}
	name := flags.String("pipeline")
	var all server.Pipelines
	if err := a.ask(ctx, http.MethodGet, "/api/v1/pipelines", nil, &all); err != nil {
		return err
	}
	var names []string
	for _, s := range all.Items {
		if s.ForEach == "" {
			names = append(names, s.Name)
		}
	}
	switch {
	case name != "" && !slices.Contains(names, name):
		return command.Usagef(diag.DidYouMean(name, names), "the service runs no pipeline %q", name)
	case name == "" && len(names) != 1:
		return command.Usagef("pick one with --pipeline", "the service runs %d pipelines", len(names))
	case name == "":
		name = names[0]
	}
	return a.ask(ctx, http.MethodGet, path(name), nil, into)
}
