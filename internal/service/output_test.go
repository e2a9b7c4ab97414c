package service

import (
	"strings"
	"testing"
)

// TestWhatOthersDoToOutputs: others protect, delete, edit or rewrite output branches, and rewrite the history of
// inputs. Each case has its own pipeline for one repository. A trigger starts its pass, like a webhook or a poll.
func TestWhatOthersDoToOutputs(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	r := overHTTP(t)
	names := []string{"protected", "deleted", "edited", "rewritten", "untouched"}
	r.Commit("main", input("first"))
	for _, name := range names {
		w.pipeline(name, r.url, "")
	}
	w.start()
	w.ready(r.Repo, "first", names...)

	// The forge protects a branch: nothing is lost, the status says what to do, and after that the next commit is
	// pushed.
	r.Hook("update", `case $1 in refs/heads/env/protected) echo "GH006: Protected branch update failed"; exit 1;; esac`)
	before := r.Head("env/protected")
	r.Commit("main", input("second"))
	w.trigger(names...)
	w.ready(r.Repo, "second", names[1:]...)
	s := w.says("protected", "Failed", "env/protected", "GH006: Protected branch update failed",
		"let the credential of spec.output.auth push there, or choose another branch")
	if s.Condition("Stalled") == nil || r.Head("env/protected") != before {
		t.Errorf("a protected branch: %+v", s.Conditions)
	}
	r.Hook("update", "exit 0")
	r.Commit("main", input("third"))
	w.trigger("untouched") // lists the repository, where a ref has moved
	w.ready(r.Repo, "third", names...)

	// A change of the output by somebody else is corrected, and no other file changes.
	want := r.Files("env/untouched")
	tip := r.Head("env/edited")
	r.Git("update-ref", "-d", "refs/heads/env/deleted")
	r.Commit("env/edited", map[string]string{"shop/agent/agent.statefulset.yaml": "",
		"shop/agent/agent-config.secret.yaml": "theirs", "CODEOWNERS": "* @team"})
	r.Git("update-ref", "refs/heads/env/rewritten", "env/rewritten~2")
	w.trigger("untouched")
	w.ready(r.Repo, "third", names...)
	for _, name := range names {
		got := r.Files("env/" + name)
		for file, text := range want {
			// Files that describe the commit differ by the pipeline's name and the base.
			if strings.HasSuffix(file, ".yaml") && got[file] != text {
				t.Errorf("%s: %s is\n%s", name, file, got[file])
			}
		}
	}
	if r.Files("env/edited")["CODEOWNERS"] != "* @team" || r.Git("merge-base", "env/edited", tip) != tip {
		t.Error("the file or the history of others is gone")
	}
	if s := w.states()["edited"]; s.Findings.Warnings == 0 ||
		!strings.Contains(s.Findings.First[0].Message+s.Findings.First[0].Hint, "change the custom resources instead") {
		t.Errorf("nobody is told of the edit by hand: %+v", s.Findings)
	}

	// The history of the inputs is rewritten: the new inputs are rendered, on top of the old output.
	tip = r.Head("env/untouched")
	r.Git("update-ref", "refs/heads/main", "main~2")
	r.Commit("main", input("rewritten"))
	w.trigger("untouched")
	w.ready(r.Repo, "rewritten", names...)
	if r.Git("merge-base", "env/untouched", tip) != tip {
		t.Error("the history of the output was rewritten as well")
	}
	r.Fsck()
	w.end()
}

// TestACommitThatIsRefusedSaysTheRemedy: nothing is written, and the condition alone says what to do. After that the
// pipeline continues.
func TestACommitThatIsRefusedSaysTheRemedy(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	r := overHTTP(t)
	r.Commit("main", map[string]string{"in/a.yaml": team("a"), "in/b.yaml": team("b"), "in/c.yaml": team("c")})
	r.Commit("env/theirs", map[string]string{"index.html": "a page"})
	w.pipeline("guarded", r.url, "")
	w.pipeline("theirs", r.url, "")
	w.start()
	s := w.says("theirs", "BuildFailed", "branch env/theirs of "+r.url[:len(r.url)-len(".git")], "nothing is written",
		"set output.adopt: true")
	if s.Condition("Stalled") == nil {
		t.Errorf("%+v", s.Conditions)
	}
	w.until("it is ready", func() bool { return w.isReady("guarded") })

	tip := r.Head("env/guarded")
	head := r.Commit("main", map[string]string{"in/a.yaml": "", "in/b.yaml": ""})
	w.trigger("guarded")
	s = w.says("guarded", "BuildFailed", "would delete 2 of 3 units", "nothing is written", "--allow-deletions "+head,
		"limits.allowFor", "Agentry-Allow-Deletions: true")
	if s.Condition("Stalled") == nil || r.Head("env/guarded") != tip {
		t.Errorf("%+v", s.Conditions)
	}
	r.Commit("main", map[string]string{"in/a.yaml": team("a")})
	w.trigger("guarded")
	w.until("it is ready again", func() bool { return w.isReady("guarded") })
	w.end()
}

// team returns a GrafanaAgent in its own namespace.
func team(name string) string {
	return strings.ReplaceAll(input("push")["in/agent.yaml"], "namespace: shop", "namespace: "+name)
}
