package gitsync_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/test/history"
)

// match compares what the pass did with the verdict.
func (m *model) match(v *history.Verdict, report *gitsync.Report, after tree) {
	if diff := m.diff(v, report, after); diff != "" {
		m.fail("payload: %s\n%s", diff, outcome(report))
	}
}

// outcome is what a pass says.
func outcome(report *gitsync.Report) string {
	var b strings.Builder
	b.WriteString("the pass reports:\n")
	for _, u := range report.Units {
		fmt.Fprintf(&b, "  %s %s %s\n", u.Name, u.State, u.Reason)
	}
	for _, h := range report.Held {
		fmt.Fprintf(&b, "  held: %s in %v\n", h, h.Units)
	}
	for _, d := range report.Diags {
		if d.Severity == diag.Error {
			fmt.Fprintf(&b, "  %s %v\n", d, d.Units)
		}
	}
	return b.String()
}

// diff compares the payload on the branch with a verdict.
func (m *model) diff(v *history.Verdict, report *gitsync.Report, after tree) string {
	if v.Refused {
		if report.Commit != "" || !slices.Contains(codes(report, diag.Error), string(diag.SecretsHeld)) {
			return fmt.Sprintf("a commit that leaves old secrets is not refused: %q", report.Commit)
		}
		return ""
	}
	return v.Differs(m.Before, texts(after), func(name string) bool { _, theirs := m.foreign[name]; return theirs })
}

// check checks what holds of every pass.
func (m *model) check(v *history.Verdict, report *gitsync.Report, after tree, tip plumbing.Hash) {
	m.checkCommit(report, after, tip)
	m.checkMessages(report)
	m.checkHeld(v, report)
	m.checkCost(v)
}

// checkCommit checks that there is a commit if the payload changed, on top of what was there.
func (m *model) checkCommit(report *gitsync.Report, after tree, before plumbing.Hash) {
	output := m.stage.remotes[0]
	now := output.tip("env")
	if report.Commit == "" {
		if now != before {
			m.fail("branch: it moved to %s and no commit is reported", now)
		}
		return
	}
	parents := slices.DeleteFunc([]plumbing.Hash{before}, plumbing.Hash.IsZero)
	if c := output.head("env"); now.String() != report.Commit || !slices.Equal(parents, c.ParentHashes) {
		m.fail("parents: %s has %v; want %s on %v", now, c.ParentHashes, report.Commit, parents)
	}
	if !before.IsZero() && maps.Equal(manifests(m.before), manifests(after)) {
		m.fail("commit: there is no change in %s: %v", report.Commit, report.Changes)
	}
}

// checkBranch checks what the branch says of itself after a commit.
func (m *model) checkBranch(after map[string]string) {
	b, err := history.ReadBranch(after)
	if err != nil {
		m.fail("branch: %v", err)
		return
	}
	owned, err := b.Owned(func(string) bool { return false })
	if err == nil {
		err = history.CheckOwners(after, owned, texts(m.foreign))
	}
	st, wrong := b.State(func(source int, commit string) history.Files { return m.commits[source][commit] })
	err = errors.Join(err, wrong, b.CheckMetadata(), b.CheckUnits(), history.CheckSecrets(after, m.Plain))
	if err != nil {
		m.fail("branch: %v", err)
	} else if diff := m.State.Differs(st); diff != "" {
		m.fail("state: %s", diff)
	}
}

// manifests are the files for which a commit is made.
func manifests(files tree) tree {
	out := tree{}
	for name, e := range files {
		if ext := path.Ext(name); ext == ".yaml" || ext == ".txt" {
			out[name] = e
		}
	}
	return out
}

// checkMessages looks for secrets in what the pass says.
func (m *model) checkMessages(report *gitsync.Report) {
	for _, d := range report.Diags {
		if strings.Contains(d.String()+d.Hint, history.SecretBytes) {
			m.fail("secret: its bytes are in a message: %s", d)
		}
	}
}

// checkCost checks that history is read only if something is wrong.
func (m *model) checkCost(v *history.Verdict) {
	if v.IsGood() && !m.in.away && m.host.asked.Load() > 0 {
		m.fail("cost: %d commits were fetched though all is good", m.host.asked.Load())
	}
}

// again checks that nothing is left to do, and reports whether that is so.
func (m *model) again(v *history.Verdict, report *gitsync.Report) bool {
	second, err := m.long.Pass(context.Background())
	if err != nil || second.Commit != "" {
		m.fail("again: a second pass made commit %q: %v %v", second.Commit, second.Changes, err)
		return false
	}
	was, is := heldBy(report), heldBy(second)
	for id, units := range was { // what a unit does not have is new the next time
		if len(units) == 1 && v.Units[units[0]].Gone {
			delete(was, id)
			delete(is, id)
		}
	}
	for id := range v.Vague {
		delete(was, id.String())
		delete(is, id.String())
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(was)), slices.Sorted(maps.Keys(is))); diff != "" {
		m.fail("again: a second pass holds something else: %s", diff)
	}
	return true
}

// replica checks that one that remembers nothing would have made the same commit.
func (m *model) replica(report *gitsync.Report, fork *remote) {
	options := m.stage.options
	options.CacheDir = m.cache()
	s := m.open(options)
	defer func() {
		s.Close()
		_ = os.RemoveAll(options.CacheDir)
	}()
	m.host.serve(fork)
	defer m.host.serve(m.stage.remotes[0])
	first, err := s.Pass(context.Background())
	if err != nil || first.Commit != report.Commit {
		m.fail("replica: without memory the pass makes commit %q, not %q: %v\n%s", first.Commit, report.Commit, err,
			outcome(first))
	}
}

// checkHeld compares what is reported as held with the verdict.
func (m *model) checkHeld(v *history.Verdict, report *gitsync.Report) {
	want, got := map[string][]string{}, heldBy(report)
	for id, units := range v.Held {
		want[id.String()] = slices.Sorted(maps.Keys(units))
	}
	for id := range v.Vague {
		delete(want, id.String())
		delete(got, id.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		m.fail("held: -want +got:\n%s\n%s", diff, outcome(report))
	}
}

// heldBy are the units of each object that is held.
func heldBy(report *gitsync.Report) map[string][]string {
	out := map[string][]string{}
	for _, h := range report.Held {
		name := h.String()
		out[name] = slices.Compact(slices.Sorted(slices.Values(append(out[name], h.Units...))))
	}
	return out
}
