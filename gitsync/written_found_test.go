package gitsync_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
)

const handEdited = "a/agent/agent.statefulset.yaml"

// TestDriftBehindAMerge holds that what agentry wrote is found at the second parent of a commit that somebody merged,
// so that the one file that they changed is reported and no other.
func TestDriftBehindAMerge(t *testing.T) {
	t.Parallel()
	r := newGitLab(t)
	r.input(twoTeams())
	r.pass()
	dir := r.repo.Checkout("env")
	dir.Git("checkout", "-q", "-b", "theirs")
	dir.Git("rm", "-q", "b/agent/README.md") // so neither the merge nor its first parent is what agentry wrote
	dir.Git("commit", "-q", "-m", "theirs")
	r.input(map[string]string{"in/b/web.yaml": monitor("b", "web", "other")})
	r.pass()
	before := r.repo.Git("rev-parse", "env:"+handEdited)
	dir.Git("fetch", "-q", "origin")
	dir.Git("merge", "-q", "--no-ff", "-m", "merge", "origin/env")
	dir.Git("push", "-q", "origin", "theirs:env")
	if parents := strings.Fields(r.repo.Git("log", "-1", "--format=%P", "env")); len(parents) != 2 {
		t.Fatalf("the tip is no merge: %v", parents)
	}
	r.repo.Commit("env", map[string]string{handEdited: "edited"})
	r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "third")})
	report := r.pass()
	if got := codes(report, diag.Warning); !slices.Equal(got, []string{"drift"}) || report.Diags[0].File != handEdited {
		t.Errorf("found %v", report.Diags)
	}
	if r.repo.Git("rev-parse", "env:"+handEdited) != before {
		t.Error("the file was not put back")
	}
}

// TestWhatWasWrittenIsNotFound holds that a changed file is put back, and a file of others stays, when no commit of the
// near history is what agentry wrote. Nothing can be said about drift then; after the next commit it can.
func TestWhatWasWrittenIsNotFound(t *testing.T) {
	t.Parallel()
	edit := func(files tree) {
		files[handEdited], files["theirs.txt"] = entry{text: "edited"}, entry{text: "theirs"}
	}
	for name, lose := range map[string]func(*lab){
		"forced push": func(l *lab) {
			files := l.remote.read("env")
			edit(files)
			delete(l.remote.refs, "refs/heads/env")
			l.remote.commit("env", files, 59, "squashed")
		},
		"many commits of others": func(l *lab) {
			l.tamper(edit)
			for n := range 51 {
				l.tamper(func(files tree) { files[fmt.Sprintf("theirs-%d.txt", n)] = entry{text: "theirs"} })
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := rendered(t)
			before := l.remote.read("env")[handEdited]
			lose(l)
			if report := l.pass(); report.Commit == "" || len(report.Diags) > 0 {
				t.Errorf("%q %v", report.Commit, report.Diags)
			}
			if files := l.remote.read("env"); files[handEdited] != before || files["theirs.txt"].text != "theirs" {
				t.Errorf("the file was not put back, or theirs did not stay: %+v", files[handEdited])
			}
			l.tamper(edit)
			if got := codes(l.pass(), diag.Warning); !slices.Equal(got, []string{"drift"}) {
				t.Errorf("drift after the next commit: %v", got)
			}
		})
	}
}

// TestAnImmutableFieldChangedByHandUnseen holds what docs say of a field that Kubernetes lets nobody change when what
// was written is not found: the unit is held, and removing the file is the way out.
func TestAnImmutableFieldChangedByHandUnseen(t *testing.T) {
	t.Parallel()
	l := rendered(t)
	files := l.remote.read("env")
	before := files[handEdited]
	files[handEdited] = entry{text: strings.Replace(before.text, "serviceName: ", "serviceName: not-", 1)}
	delete(l.remote.refs, "refs/heads/env")
	l.remote.commit("env", files, 59, "squashed")
	if report := l.pass(); !slices.Contains(codes(report, diag.Error), "immutable-field") {
		t.Errorf("found %v", report.Diags)
	}
	l.tamper(func(files tree) { delete(files, handEdited) })
	if report := l.pass(); len(codes(report, diag.Error)) > 0 || l.remote.read("env")[handEdited] != before {
		t.Errorf("the file was not written again: %v", report.Diags)
	}
}

// TestForgedRecordsOwnNothing holds that agentryTree and agentryDrift of whoever can write to the branch neither make
// agentry change a file of others nor keep it from putting back its own.
func TestForgedRecordsOwnNothing(t *testing.T) {
	t.Parallel()
	for name, drift := range map[string]func(l *lab) map[string]any{
		"none":         func(*lab) map[string]any { return nil },
		"a commit":     func(l *lab) map[string]any { return every(l.remote.tip("env").String()) },
		"an input":     func(l *lab) map[string]any { return every(l.remote.tip("main").String()) },
		"no object":    func(*lab) map[string]any { return every(strings.Repeat("12", 20)) },
		"not a hash":   func(*lab) map[string]any { return every("../../x") },
		"the empty id": func(*lab) map[string]any { return every(strings.Repeat("0", 40)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := rendered(t)
			before := l.remote.read("env")
			forged := drift(l)
			l.tamper(func(files tree) {
				files[handEdited] = entry{text: "edited"}
				files["theirs.txt"], files["a/agent/theirs.service.yaml"] = entry{text: "theirs"}, entry{text: "theirs"}
				editJSON(files, "hydrator.metadata", func(m map[string]any) {
					m["agentryTree"], m["agentryDrift"] = strings.Repeat("0", 40), forged
				})
			})
			l.input(map[string]string{"in/b/web.yaml": monitor("b", "web", "other")})
			l.pass()
			files := l.remote.read("env")
			if files[handEdited] != before[handEdited] {
				t.Errorf("what was changed is not put back: %q", files[handEdited].text)
			}
			for _, theirs := range []string{"theirs.txt", "a/agent/theirs.service.yaml"} {
				if files[theirs].text != "theirs" {
					t.Errorf("%s is %q", theirs, files[theirs].text)
				}
			}
			if text := files["hydrator.metadata"].text; strings.Contains(text, "agentryDrift") {
				t.Errorf("what was forged is kept: %s", text)
			}
		})
	}
	t.Run("a file in the way", func(t *testing.T) {
		t.Parallel()
		l := rendered(t)
		l.tamper(func(files tree) {
			files["c/agent/agent.statefulset.yaml"] = entry{text: "theirs"}
			editJSON(files, "hydrator.metadata", func(m map[string]any) {
				m["agentryDrift"] = map[string]any{"c/agent/agent.statefulset.yaml": strings.Repeat("12", 20)}
			})
		})
		l.input(map[string]string{"in/c/agent.yaml": agent("c")})
		l.refusedAt(diag.AdoptionCollision, "c/agent/agent.statefulset.yaml")
	})
}

// every names one object as what was written to files of agentry and of others, and to paths that lead elsewhere.
func every(hash string) map[string]any {
	return map[string]any{handEdited: hash, "theirs.txt": hash, "a/agent/theirs.service.yaml": hash, "../x": hash,
		"kustomization.yaml": hash}
}
