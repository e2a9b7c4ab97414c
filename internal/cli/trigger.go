package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/display"
	"github.com/agentry-dev/agentry/internal/server"
)

// askAgain is the time between two requests that ask whether a pass has ended.
const askAgain = 200 * time.Millisecond

func triggerCommand(env Env) command.Command {
	return command.Command{
		Name:  "trigger",
		Args:  "[NAME]",
		Usage: "start a pass in a running agentry serve",
		Description: `It waits until the pass has ended and shows how the pipeline is then, as agentry status does,
with its exit code. With -o json or -o yaml it prints the pipelines in a list, items.`,
		Example: "agentry trigger quickstart",
		Flags: append(serviceFlags(),
			command.FormatFlag("trigger"),
			&cli.BoolFlag{Name: "all", Usage: "all pipelines, instead of one"},
			&cli.BoolFlag{Name: "no-wait", Usage: "do not wait until the pass has ended"},
			&cli.DurationFlag{Name: "timeout", Value: 5 * time.Minute, Usage: "`TIME` to wait"},
		),
		Run: func(ctx context.Context, flags *cli.Context, args []string) error {
			if (len(args) == 1) == flags.Bool("all") || len(args) > 1 {
				return command.Usagef("agentry trigger quickstart", "name one pipeline, or use --all")
			}
			return trigger(ctx, env, flags, append(args, "")[0])
		},
	}
}

func trigger(ctx context.Context, env Env, flags *cli.Context, name string) error {
	format, err := command.Format(flags)
	if err != nil {
		return err
	}
	a, err := newAsker(flags, addressFlag)
	if err != nil {
		return err
	}
	path := "/api/v1/reconcile"
	if name != "" {
		path = "/api/v1/pipelines/" + url.PathEscape(name) + "/reconcile"
	}
	request := server.Reconcile{RequestedAt: time.Now().UTC().Format(time.RFC3339Nano)}
	var answer server.Reconcile
	err = a.ask(ctx, http.MethodPost, path, request, &answer)
	if errors.Is(err, errUnknownPipeline) {
		return command.Usagef("agentry status", "the service runs no pipeline %q", name)
	}
	if err != nil || flags.Bool("no-wait") {
		return err
	}
	waiting, cancel := context.WithTimeoutCause(ctx, flags.Duration("timeout"),
		fmt.Errorf("no pass has ended within %s", flags.Duration("timeout")))
	defer cancel()
	defer env.progress("waiting for the pass")()
	all, err := a.handled(waiting, name, answer.RequestedAt)
	if err != nil {
		return err
	}
	if command.IsData(format) {
		err = command.WriteData(env.Stdout, format, map[string]any{"items": all})
	} else {
		err = display.Statuses(env.Stdout, all)
	}
	if err != nil {
		return err
	}
	if !allReady(all) {
		return command.ErrFindings
	}
	return nil
}

// handled waits until the passes that a token asked for have ended, and returns the status of the pipelines. It
// does not wait for pipelines of other replicas.
func (a *asker) handled(ctx context.Context, name, token string) ([]server.Pipeline, error) {
	ticker := time.NewTicker(askAgain)
	defer ticker.Stop()
	for {
		all, err := a.pipelines(ctx, name)
		switch {
		case ctx.Err() != nil:
			return nil, command.RepositoryError(context.Cause(ctx), "agentry status shows what it waits for")
		case err != nil:
			return nil, err
		case allHandled(all, token):
			return all, nil
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// pipelines returns the status of one pipeline, or of all if name is empty.
func (a *asker) pipelines(ctx context.Context, name string) ([]server.Pipeline, error) {
	if name == "" {
		var all server.Pipelines
		err := a.ask(ctx, http.MethodGet, "/api/v1/pipelines", nil, &all)
		return all.Items, err
	}
	var one server.Pipeline
	err := a.ask(ctx, http.MethodGet, "/api/v1/pipelines/"+url.PathEscape(name), nil, &one)
	return []server.Pipeline{one}, err
}

func allHandled(all []server.Pipeline, token string) bool {
	for _, s := range all {
		if s.Owned && !s.Suspended && s.LastHandledReconcileAt != token {
			return false
		}
	}
	return true
}
