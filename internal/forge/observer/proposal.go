package observer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/internal/forge"
	"github.com/agentry-dev/agentry/internal/outbox"
)

// DefaultTitle is the default of promotion.title.
const DefaultTitle = `Render {{ .Pipeline }}: {{ (index .Sources 0).Subject }}`

// Limits of a pull request's text, in addition to the forge's.
const (
	maxUnits       = 100
	maxHeld        = 50
	maxObjectBytes = 30 << 10
)

// reportProposal opens, updates or closes the pull request of a pipeline.
func (o *Observer) reportProposal(out fleet.Outcome) {
	d, r := out.Definition, out.Report
	if d.Spec.Output.Promotion.Mode != pipeline.PromotePullRequest || r == nil || out.Err != nil || r.DryRun ||
		r.Proposed == nil || r.Proposed.Commit == "" {
		return // the proposal is unknown
	}
	name := out.After.Name
	want := forge.Proposal{Head: r.Proposed.Branch, Base: r.Output.Branch, Labels: d.Spec.Output.Promotion.Labels}
	f := report{commit: r.Proposed.Commit, state: forge.Success}
	if r.Proposed.Open() {
		want.Title, want.Body = title(d.Spec.Output.Promotion.Title, r), body(r)
		f.state, f.text = forge.Pending, want.Title
	}
	o.put(target{name, proposal}, f, func(old, now report) bool { return old == now }, outbox.Job{
		Recipient: "pull request " + r.Output.URL, Key: name, What: "pull request",
		Do: func(ctx context.Context) error { return o.propose(ctx, d, want, f.state == forge.Pending) },
	})
}

func (o *Observer) propose(ctx context.Context, d *fleet.Definition, want forge.Proposal, open bool) error {
	f, err := o.connect(d, proposal)
	if err != nil || f == nil {
		return err
	}
	found, err := f.FindPullRequest(ctx, want.Head, want.Base)
	if err != nil {
		return err
	}
	switch {
	case !open && found == nil:
		return nil
	case !open:
		return f.ClosePullRequest(ctx, found.Number)
	case found == nil:
		_, err := f.OpenPullRequest(ctx, want)
		if errors.Is(err, forge.ErrExists) { // another replica opened it first
			return errors.New("another replica opened the pull request")
		}
		if errors.Is(err, forge.ErrNothing) { // it was merged in the meantime
			return nil
		}
		return err
	case found.Title == want.Title && sameText(found.Body, want.Body):
		return nil
	}
	return f.UpdatePullRequest(ctx, found.Number, want.Title, want.Body)
}

// sameText reports whether two texts are equal apart from the changes that forges make when they store them.
func sameText(a, b string) bool {
	plain := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	return plain(a) == plain(b)
}

// title executes the pipeline's title template. If the template fails, it returns a fixed title: a title must not stop
// a change.
func title(template string, r *gitsync.Report) string {
	if template == "" {
		template = DefaultTitle
	}
	text, err := pipeline.FormatMessage(template, r.Proposed.Data)
	if err != nil {
		text = "Render " + r.Pipeline
	}
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// body describes the proposal. The most important parts come first, because the end is cut if it is too long for the
// forge.
func body(r *gitsync.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Merging this updates %s to the output rendered from:\n\n", forge.Code(r.Output.Branch))
	for _, s := range r.Sources {
		stale := ""
		if s.Stale {
			stale = " (not reachable now; as of the last pass)"
		}
		fmt.Fprintf(&b, "- %s %s at %s%s\n", forge.Code(s.URL), forge.Code(s.Ref), forge.Code(s.Commit), stale)
	}
	if r.Difference != nil {
		fmt.Fprintf(&b, "\n**%s**\n", r.Difference.Summary())
		forge.Effects(&b, r.Difference)
	}
	writeUnits(&b, r.Units, maxUnits)
	forge.Held(&b, r.Held, maxHeld)
	if r.Difference != nil {
		b.WriteString(forge.Objects(r.Difference, maxObjectBytes))
	}
	fmt.Fprintf(&b, "\nThis pull request follows the pipeline %s: its branch is rebuilt when the inputs change, and "+
		"it is closed when there is nothing to merge.\n", forge.Code(r.Pipeline))
	return b.String()
}

// writeUnits lists the units that change or are held.
func writeUnits(b *strings.Builder, units []gitsync.UnitStatus, limit int) {
	var lines []string
	for _, u := range units {
		switch u.State {
		case plan.UnitUnchanged, plan.UnitPaused:
		case plan.UnitHeld, plan.UnitLeftOut:
			lines = append(lines, fmt.Sprintf("%s: %s, %s", forge.Code(u.Name),
				map[plan.UnitState]string{plan.UnitHeld: "is left unchanged", plan.UnitLeftOut: "is left out"}[u.State],
				forge.Code(u.Reason)))
		default:
			lines = append(lines, fmt.Sprintf("%s %s", forge.Code(u.Name), u.State))
		}
	}
	forge.Section(b, "Units", lines, limit)
}
