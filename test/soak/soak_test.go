package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/test/history"
)

func TestMain(m *testing.M) {
	if code, ok := playRole(); ok {
		os.Exit(code)
	}
	os.Exit(isolated(m.Run))
}

// small returns the options of a testbed that takes a few seconds.
func small(t *testing.T) options {
	return options{
		remotes: 2, pipelines: 3, seed: 6, length: 4 * time.Second, round: 4 * time.Second,
		killEvery: 400 * time.Millisecond, still: 1500 * time.Millisecond,
		dir: t.TempDir(), say: func(line string) { t.Log(line) },
	}
}

// TestAShortSoak has few pipelines, commits and kills.
func TestAShortSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers and replicas for half a minute: make race runs it")
	}
	o := small(t)
	var said string
	o.say = func(line string) { said += line }
	if err := soak(t.Context(), o); err != nil {
		events, _ := os.ReadFile(filepath.Join(o.dir, "logs", "events.log"))
		t.Errorf("%v\n%s", err, events)
	}
	t.Log(said)
	for _, none := range []string{" 0 commits", ", 0 kills", ", 0 output branches", ", 0 units"} {
		if strings.Contains(said, none) {
			t.Errorf("there are%s", none)
		}
	}
}

// TestTheOracleFindsFaults does forbidden things to a testbed at rest.
func TestTheOracleFindsFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers and replicas for ten seconds: make race runs it")
	}
	o := small(t)
	o.remotes = 1
	w, err := newTestbed(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	if err := w.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.ask(t.Context(), true); err != nil {
		t.Fatalf("all is as it must be: %v", err)
	}
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	for name, test := range wrongs() {
		t.Run(name, func(t *testing.T) { test.hold(t, w) })
	}
}

// wrong is something that agentry must never do to a branch, with the oracle's answer.
type wrong struct {
	next bool // to a proposal
	file string
	text func(old string) edit
	want string
}

func wrongs() map[string]wrong {
	instead := func(old, new string) func(string) edit {
		return func(text string) edit { return write(regexp.MustCompile(old).ReplaceAllString(text, new)) }
	}
	unit := "a/agent/"
	return map[string]wrong{
		"a manifest is another": {file: unit + "agent.statefulset.yaml",
			text: instead("replicas: 1", "replicas: 2"), want: "should be rendered"},
		"a manifest is not there": {file: unit + "agent.statefulset.yaml", text: func(string) edit {
			return nil
		}, want: "should be rendered"},
		"a unit is not listed": {file: history.UnitsFile, text: instead(`,\s*"b/agent"`, ``), want: "list of units"},
		"a file of nobody": {file: "stale.yaml", text: instead("^", "left over"),
			want: "is in no inventory"},
		"a secret": {file: "README.md", text: instead("$", history.SecretBytes), want: "holds a secret"},
		"another base": {file: history.MetadataFile, text: instead(`"commit": "....`, `"commit": "0000`),
			want: "the bases are"},
		"a base of another pipeline": {file: history.InventoryFile, text: instead(`"pipeline": "p0`, `"pipeline": "p1`),
			want: "of pipeline"},
		"an object that was never there": {file: history.InventoryFile,
			text: instead(`"root"`, `"held": [{"object": "ServiceMonitor/a/web", "source": "x", "commit": "0"}], "root"`), want: "is none of the pipeline"},
		"an object left out": {file: history.InventoryFile,
			text: instead(`"root"`, `"held": [{"object": "ServiceMonitor/a/web"}], "root"`),
			want: "is left out"},
		"another drySha": {file: history.MetadataFile, text: instead(`"drySha": "....`, `"drySha": "0000`),
			want: "drySha"},
		"a proposal on another": {next: true, file: unit + "agent.statefulset.yaml",
			text: instead("replicas: 1", "replicas: 2"), want: "is on top of"},
	}
}

// hold does the wrong thing, asks the oracle, and undoes it.
func (test wrong) hold(t *testing.T, w *testbed) {
	r, p := w.repos[0], w.config.pipelines[0]
	if test.next {
		p = w.config.pipelines[2]
	}
	tip := r.tip(p.rendered())
	text, _ := r.show(tip, test.file)
	changed := test.text(text)
	if changed != nil && *changed == text {
		t.Fatalf("%s is as it was:\n%s", test.file, text)
	}
	commit, err := r.commit(strings.TrimPrefix(p.rendered(), "refs/heads/"), tip, map[string]edit{test.file: changed},
		"Something wrong", time.Unix(1_700_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	o := &oracle{testbed: w, renderer: history.NewRenderer()}
	found := o.pipeline(p)
	if found == nil {
		found = o.branches(r)
	}
	if found == nil || !strings.Contains(found.Error(), test.want) {
		t.Errorf("got %v, want that %s", found, test.want)
	}
	if err := r.move(p.rendered(), commit, tip); err != nil {
		t.Fatal(err)
	}
}

// TestTheOracleFindsLostCommits moves refs like a replica that loses commits.
func TestTheOracleFindsLostCommits(t *testing.T) {
	r, err := newRemote(filepath.Join(t.TempDir(), "r.git"))
	if err != nil {
		t.Fatal(err)
	}
	var commits []string
	for range 3 {
		tip := r.tip("refs/heads/main")
		commit, err := r.commit("main", tip, map[string]edit{"a": write(tip)}, "A commit", time.Unix(1_700_000_000, 0))
		if err != nil {
			t.Fatal(err)
		}
		commits = append(commits, commit)
	}
	w := &testbed{repos: []*remote{r},
		config: &configuration{pipelines: []*pipeline{{name: "direct", branch: "direct"},
			{name: "next", branch: "next", next: true}}}}
	for name, test := range map[string]struct {
		ref, old, new string
		want          string
	}{
		"forward by one commit":             {"refs/heads/direct", commits[0], commits[1], ""},
		"forward by two":                    {"refs/heads/direct", commits[0], commits[2], "its parents"},
		"back":                              {"refs/heads/direct", commits[1], commits[0], "its parents"},
		"a new branch":                      {"refs/heads/direct", zero, commits[2], ""},
		"a branch is deleted":               {"refs/heads/direct", commits[1], zero, "deletes nothing"},
		"a branch of others":                {"refs/heads/main", commits[0], commits[1], "none of agentry's"},
		"a branch that others promote to":   {"refs/heads/next", commits[0], commits[1], "promote to"},
		"a proposal takes another's place":  {"refs/heads/next-next", commits[2], commits[1], ""},
		"a note is lost":                    {notesRef, commits[1], commits[0], "its parents"},
		"the branch of inputs is continued": {inputsRef, commits[1], commits[2], ""},
	} {
		o := &oracle{testbed: w}
		err := o.move(r, transaction{byReplica, test.old, test.new, test.ref})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}
