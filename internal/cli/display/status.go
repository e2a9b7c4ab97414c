package display

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/delivery"
	"github.com/agentry-dev/agentry/internal/server"
)

// Statuses writes a table in the style of `flux get`.
func Statuses(w io.Writer, all []server.Pipeline) error {
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
		printf(table, "%s\t%s\t%s\t%s\t%s\n", s.Name, revision(s.Status), suspended, ready, oneLine(message))
	}
	return table.Flush()
}

// revision returns the tip of the output branch.
func revision(s fleet.Status) string {
	if s.Output == nil || s.Output.Commit == "" {
		return ""
	}
	return s.Output.Branch + "@sha1:" + shortCommit(s.Output.Commit)
}

func shortCommit(commit string) string { return commit[:min(8, len(commit))] }

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Details writes what the table does not show about a pipeline.
func Details(w io.Writer, s server.Pipeline) error {
	var b strings.Builder
	for _, src := range s.Sources {
		printf(&b, "from   %s %s %s", src.URL, src.Ref, shortCommit(src.Commit))
		if src.Stale {
			b.WriteString(" (cannot be reached)")
		}
		b.WriteString("\n")
	}
	if s.Output != nil {
		printf(&b, "to     %s %s %s\n", s.Output.URL, s.Output.Branch, s.Output.Path)
	}
	if len(s.Pipelines) > 0 {
		printf(&b, "makes  %s\n", strings.Join(s.Pipelines, ", "))
	}
	if p := s.LastPass; p != nil {
		printf(&b, "pass   %s, for %s (%s)\n", p.Began.UTC().Format("2006-01-02 15:04:05"),
			p.Took.Round(time.Millisecond), p.Trigger)
		if p.Error != "" {
			printf(&b, "       %s\n", oneLine(p.Error))
		}
	}
	if s.Delivery != nil {
		delivered(&b, s.Delivery)
	}
	for _, u := range s.Units {
		if u.IsWithheld() {
			printf(&b, "%s %s\n       %s\n", stateText(u.State), u.Name, oneLine(u.Reason))
		}
	}
	for _, h := range s.Held {
		as := stateText(h.State)
		if h.As.Commit != "" {
			as = "held as of " + shortCommit(h.As.Commit)
		}
		printf(&b, "%s %s\n       %s: %s\n", as, h, h.Reason.Position(), oneLine(h.Reason.Problem()))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// delivered writes how far the newest commit has come in clusters.
func delivered(b *strings.Builder, d *delivery.Status) {
	printf(b, "in     %s\n", d.Summary())
	for _, r := range d.Rows {
		printf(b, "       %s %s %s", r.ClusterName(), r.Reconciler, r.State)
		if r.Unit != "" {
			printf(b, " %s", r.Unit)
		}
		if after := cmp.Or(r.HealthyAfter, r.AppliedAfter); after != nil {
			printf(b, " after %s", after.Round(time.Second))
		}
		if r.Current != "" {
			printf(b, ", has %s", shortCommit(r.Current))
		}
		if r.Message != "" {
			printf(b, ": %s", r.Message)
		}
		b.WriteString("\n")
	}
}

// Problems writes the errors in a service's configuration.
func Problems(w io.Writer, problems diag.List) error {
	var b strings.Builder
	for _, p := range problems {
		printf(&b, "%s: %s[%s]: %s\n", p.Position(), p.Severity, p.Code, p.Problem())
	}
	_, err := io.WriteString(w, b.String())
	return err
}
