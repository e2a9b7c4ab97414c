package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/urfave/cli/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/server"
)

func statusCommand(env Env) command {
	return command{
		name:  "status",
		args:  "[NAME]",
		usage: "ask a running agentry serve how its pipelines are",
		description: `With NAME it shows what one pipeline holds, and why. The exit code is 0 if all are ready,
1 if one is not, or something is wrong with the configuration, and 3 if the service cannot
be reached.`,
		example: "agentry status",
		flags: append(serviceFlags(),
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT` of the answer: text, or json as the API has it"},
		),
		run: func(ctx context.Context, flags *cli.Context, args []string) error {
			if len(args) > 1 {
				return usagef("agentry status --help", "status takes one pipeline, but was given %d arguments", len(args))
			}
			return status(ctx, env, flags, args)
		},
	}
}

func status(ctx context.Context, env Env, flags *cli.Context, args []string) error {
	format, err := choice(flags, "format", []string{"text", "json"})
	if err != nil {
		return err
	}
	a, err := newAsker(flags)
	if err != nil {
		return err
	}
	var all server.Pipelines
	if err := a.ask(ctx, http.MethodGet, "/api/v1/pipelines", nil, &all); err != nil {
		return err
	}
	if len(args) == 1 {
		return env.statusOf(all.Items, args[0], format)
	}
	if format == "json" {
		err = printJSON(env.Stdout, all)
	} else {
		err = errors.Join(printStatuses(env.Stdout, all.Items), printProblems(env.Stderr, all.Problems))
	}
	if err == nil && (len(all.Problems) > 0 || !allReady(all.Items)) {
		return errFindings
	}
	return err
}

// statusOf prints one pipeline, with those that it makes if it has forEach.
func (e Env) statusOf(all []fleet.Status, name, format string) error {
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
		if s.Name != name {
			continue
		}
		var err error
		if format == "json" {
			err = printJSON(e.Stdout, s)
		} else {
			err = errors.Join(printStatuses(e.Stdout, []fleet.Status{s}), printDetails(e.Stdout, s))
		}
		if err == nil && !allReady([]fleet.Status{s}) {
			return errFindings
		}
		return err
	}
	return usagef(diag.DidYouMean(name, names), "the service runs no pipeline %q", name)
}

func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// allReady reports whether nobody needs to look. What is suspended was meant to be, and what
// another replica runs is for that one to say.
func allReady(all []fleet.Status) bool {
	for _, s := range all {
		c := s.Condition(meta.ReadyCondition)
		if !s.Suspended && s.Owned && (c == nil || c.Status != metav1.ConditionTrue) {
			return false
		}
	}
	return true
}

// printStatuses writes a table like that of flux get.
func printStatuses(w io.Writer, all []fleet.Status) error {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tREVISION\tSUSPENDED\tREADY\tMESSAGE")
	for _, s := range all {
		ready, message := "Unknown", ""
		if c := s.Condition(meta.ReadyCondition); c != nil {
			ready, message = string(c.Status), c.Message
		}
		if c := s.Condition(meta.StalledCondition); c != nil && c.Status == metav1.ConditionTrue {
			message = "stalled: " + c.Message
		}
		suspended := "False"
		if s.Suspended {
			suspended = "True"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", s.Name, revision(s), suspended, ready, oneLine(message))
	}
	return table.Flush()
}

// revision is the tip of the output branch.
func revision(s fleet.Status) string {
	if s.Output == nil || s.Output.Commit == "" {
		return ""
	}
	return s.Output.Branch + "@sha1:" + shortCommit(s.Output.Commit)
}

func shortCommit(commit string) string { return commit[:min(8, len(commit))] }

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// printDetails writes what there is to know of one pipeline besides the table.
func printDetails(w io.Writer, s fleet.Status) error {
	var b strings.Builder
	for _, src := range s.Sources {
		fmt.Fprintf(&b, "from   %s %s %s", src.URL, src.Ref, shortCommit(src.Commit))
		if src.Stale {
			b.WriteString(" (cannot be reached)")
		}
		b.WriteString("\n")
	}
	if s.Output != nil {
		fmt.Fprintf(&b, "to     %s %s %s\n", s.Output.URL, s.Output.Branch, s.Output.Path)
	}
	if len(s.Pipelines) > 0 {
		fmt.Fprintf(&b, "makes  %s\n", strings.Join(s.Pipelines, ", "))
	}
	if p := s.LastPass; p != nil {
		fmt.Fprintf(&b, "pass   %s, for %s (%s)\n", p.Began.UTC().Format("2006-01-02 15:04:05"), p.Took.Round(time.Millisecond), p.Trigger)
		if p.Error != "" {
			fmt.Fprintf(&b, "       %s\n", oneLine(p.Error))
		}
	}
	for _, u := range s.Units {
		if u.Reason != "" {
			fmt.Fprintf(&b, "%s %s\n       %s\n", u.State, u.Name, oneLine(u.Reason))
		}
	}
	for _, h := range s.Held {
		as := "left out"
		if h.As != "" {
			as = "held as of " + shortCommit(h.As)
		}
		fmt.Fprintf(&b, "%s %s\n       %s: %s\n", as, h.Object, position(h.Reason), oneLine(h.Reason.Message))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func printProblems(w io.Writer, problems []fleet.Finding) error {
	var errs []error
	for _, p := range problems {
		_, err := fmt.Fprintf(w, "%s: %s[%s]: %s\n", position(p), p.Severity, p.Code, p.Message)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func position(f fleet.Finding) string {
	return diag.Diagnostic{File: f.File, Line: f.Line, Column: f.Column}.Position()
}
