package preview

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/forge"
)

// merge adds a commit to the base, and makes the fleet render it.
func (l *lab) merge(files map[string]string) (commit string) {
	l.t.Helper()
	commit = l.git.Commit("main", files)
	l.pass(func(o *fleet.Outcome) { o.After.Sources = []fleet.SourceStatus{{Commit: commit}} })
	return commit
}

// only returns the only watch of a lab.
func (l *lab) only() *watch {
	l.t.Helper()
	for _, w := range l.p.schedule.watches {
		return w
	}
	l.t.Fatal("nothing is watched")
	return nil
}

func TestPreviewsAreUpdatedWhenTheirBaseMoves(t *testing.T) {
	l := newLab(t, nil)
	first := l.merge(map[string]string{"README.md": "start\n"})
	head := l.open(1, "main", false, map[string]string{"monitor.yaml": monitor("metrics")})
	l.round()
	if text := l.comment(1); !strings.Contains(text, "compared with `"+first[:7]+"`") {
		t.Errorf("the comment does not name its base:\n%s", text)
	}
	l.take()

	// A base with the same output changes no preview.
	l.merge(map[string]string{"README.md": "words\n"})
	l.round()
	if statuses, calls := l.take(); len(statuses) != 0 || calls != 1 {
		t.Errorf("the base renders to the same: %q, %d calls", statuses, calls)
	}

	// The same change is merged from elsewhere.
	second := l.merge(map[string]string{"monitor.yaml": monitor("metrics")})
	l.round()
	statuses, _ := l.take()
	check(t, "statuses", statuses, head[:7]+" agentry/prod-eu/preview success: No changes")
	if text := l.comment(1); !strings.Contains(text,
		"**No changes** with `"+head[:7]+"`, compared with `"+second[:7]+"`") {
		t.Errorf("the comment is out of date:\n%s", text)
	}

	// The next update has to wait for its turn, however it is triggered, and gets it.
	l.merge(map[string]string{"monitor.yaml": monitor("http")})
	l.round()
	if statuses, _ := l.take(); len(statuses) != 0 {
		t.Errorf("twice in an interval: %q", statuses)
	}
	if w := l.only(); !w.due.Equal(w.nextRefresh) {
		t.Errorf("the next round is at %s, and previews may be made anew at %s", w.due, w.nextRefresh)
	}
	l.only().nextRefresh = time.Time{}
	l.round()
	statuses, _ = l.take()
	check(t, "statuses", statuses, head[:7]+" agentry/prod-eu/preview success: 1 object changed")
}

// TestAPassOverOtherInputsStartsARound without the wait for the interval.
func TestAPassOverOtherInputsStartsARound(t *testing.T) {
	l := newLab(t, nil)
	l.merge(map[string]string{"README.md": "start\n"})
	l.round()
	w := l.only()
	before := w.due
	l.pass(func(o *fleet.Outcome) { o.After.Sources = []fleet.SourceStatus{{Commit: w.inputs}} })
	if !w.due.Equal(before) {
		t.Error("nothing has moved")
	}
	l.merge(map[string]string{"README.md": "words\n"})
	if !w.due.Equal(w.last.Add(minGap)) {
		t.Errorf("the next round is in %s", time.Until(w.due))
	}
	w.due, w.nextRefresh = before, before.Add(-time.Minute)
	l.merge(map[string]string{"README.md": "more words\n"})
	if !w.due.Equal(w.nextRefresh) {
		t.Errorf("the next round is in %s", time.Until(w.due))
	}
}

// TestPreviewsAreMadeAnewInTurns: a base with many pull requests does not occupy the machine.
func TestPreviewsAreMadeAnewInTurns(t *testing.T) {
	l := newLab(t, nil)
	commit := l.merge(map[string]string{"README.md": "start\n"})
	l.round()
	due := turn{source: l.only().source, key: watchKey{"prod-eu", 0}, def: &l.def, interval: DefaultInterval,
		inputs: commit + " moved"}
	var pulls []forge.PullRequest
	due.previews = map[int]published{}
	for n := range MaxRefreshed + 5 {
		pulls = append(pulls, forge.PullRequest{Number: n + 1, Head: commit})
		due.previews[n+1] = published{head: commit, base: "another", at: time.Unix(int64(1000-n), 0)}
	}
	pulls = append(pulls, forge.PullRequest{Number: 100, Head: commit}) // has no preview
	r := &round{turn: due, options: l.p.options, log: slog.New(slog.DiscardHandler),
		renderer: &renderer{options: l.p.options, def: &l.def}}
	defer r.renderer.close()
	old := r.outdated(t.Context(), &l.p.schedule, pulls)
	if len(old) != MaxRefreshed || old[0].Number != MaxRefreshed+5 || old[MaxRefreshed-1].Number != 6 {
		t.Errorf("%d, from %d to %d", len(old), old[0].Number, old[len(old)-1].Number)
	}
}
