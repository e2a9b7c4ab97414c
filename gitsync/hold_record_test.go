package gitsync_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

const heldDir = ".agentry/held/"

// heldTexts are the texts on the branch of what is held.
func (l *lab) heldTexts() []string {
	var out []string
	for name, e := range l.remote.read("env") {
		if strings.HasPrefix(name, heldDir) {
			out = append(out, e.text)
		}
	}
	return out
}

// rootInventory is what the branch says of itself.
func (l *lab) rootInventory() (inv struct {
	Held   []map[string]any
	HeldIn []string
}) {
	l.t.Helper()
	if err := json.Unmarshal([]byte(l.remote.read("env")[".agentry/inventory"].text), &inv); err != nil {
		l.t.Fatal(err)
	}
	return inv
}

// elsewhere lets the other team change, so that there is a commit.
func elsewhere(round int, more ...string) map[string]string {
	out := map[string]string{"in/b/web.yaml": monitor("b", "web", fmt.Sprint("b", round))}
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}

func TestRecord(t *testing.T) {
	t.Parallel()
	l := rendered(t)
	l.input(elsewhere(2, webA, bad("a")))
	l.pass()
	text := monitor("a", "web", "http")
	if diff := cmp.Diff([]string{text}, l.heldTexts()); diff != "" {
		t.Error(diff)
	}
	inv := l.rootInventory()
	want := map[string]any{
		"object": "ServiceMonitor/a/web", "units": []any{"a/agent"}, "source": l.remote.url, "ref": "branch main",
		"commit": l.inputs[0], "date": "2026-01-02T03:01:00Z", "path": webA,
		"blob":  plumbing.ComputeHash(plumbing.BlobObject, []byte(text)).String(),
		"file":  heldDir + sum(text)[:16],
		"since": map[string]any{"commit": l.inputs[1], "date": "2026-01-02T03:02:00Z"},
		"reason": "in/a/web.yaml:6:42: spec.endpoints[0].scrapeTimeout: the timeout 2s is longer than the scrape " +
			"interval 1s",
	}
	if diff := cmp.Diff([]map[string]any{want}, inv.Held); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a/agent"}, inv.HeldIn); diff != "" {
		t.Error(diff)
	}
	l.input(map[string]string{webA: monitor("a", "web", "fixed")})
	l.pass()
	if texts, inv := l.heldTexts(), l.rootInventory(); len(texts)+len(inv.Held)+len(inv.HeldIn) > 0 {
		t.Errorf("%v %v is held still", texts, inv)
	}
}

// TestRecordAlone holds that what is held makes no commit.
func TestRecordAlone(t *testing.T) {
	t.Parallel()
	l := rendered(t)
	for _, text := range []string{bad("a"), badField("a", "web"), noYAML} {
		l.input(map[string]string{webA: text})
		if report := l.pass(); report.Commit != "" || len(report.Held) != 1 {
			t.Errorf("commit %q, held %v", report.Commit, report.Held)
		}
	}
}

// TestHeldSince holds that an object is held since the commit that broke it, whatever else was committed and pushed
// since, and whoever asks.
func TestHeldSince(t *testing.T) {
	t.Parallel()
	l := rendered(t)
	first := l.syncer()
	broken := l.input(map[string]string{webA: bad("a"), "in/a/new.yaml": badField("a", "new")})
	for i, text := range []string{"", "one", "two"} {
		if text != "" {
			l.input(elsewhere(i, "README.md", text))
		}
		for _, s := range []*gitsync.Syncer{first, l.syncer()} {
			held := l.passOf(s).Held
			if len(held) != 2 {
				t.Fatalf("held: %v", held)
			}
			for _, h := range held {
				if h.Since.Commit != broken {
					t.Errorf("after %d commits %s is held since %s, not %s", i, h.ID, h.Since.Commit, broken)
				}
			}
		}
	}
	// A record of the first pass that saw it says more than a later change of what is broken.
	l.input(map[string]string{webA: bad("a") + "# still\n"})
	l.input(map[string]string{webA: bad("a") + "# and still\n"})
	if h := l.pass().Held[1]; h.Since.Commit == l.inputs[len(l.inputs)-1] || h.Reason.Changed == nil {
		t.Errorf("%s is held since its last change", h.ID)
	}
}

// TestRecordIsDamaged holds that what somebody makes of the records harms nobody.
func TestRecordIsDamaged(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(files tree, file string){
		"the text is gone": func(files tree, file string) { delete(files, file) },
		"the text is another": func(files tree, file string) {
			files[file] = entry{text: monitor("a", "web", "theirs")}
		},
		"the inventory is":        func(files tree, _ string) { files[".agentry/inventory"] = entry{text: "garbage"} },
		"it names another's file": func(files tree, file string) { rename(files, file, "../theirs") },
		"it names another file of the branch": func(files tree, file string) {
			rename(files, file, "README.md")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := rendered(t)
			l.input(elsewhere(2, webA, bad("a")))
			l.pass()
			before := l.payload("a/agent")
			l.tamper(func(files tree) { damage(files, heldDir+sum(monitor("a", "web", "http"))[:16]) })
			l.input(elsewhere(3))
			l.pass()
			l.input(elsewhere(4))
			l.pass()
			if diff := cmp.Diff(before, l.payload("a/agent")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// rename lets the inventory name another file for a text.
func rename(files tree, from, to string) {
	const at = ".agentry/inventory"
	files[at] = entry{text: strings.ReplaceAll(files[at].text, from, to)}
}

// jobs is a Secret of hand-written jobs, and usingJobs an agent's input that has them.
func jobs(text string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: jobs, namespace: a}\ndata: {j: " +
		base64.StdEncoding.EncodeToString([]byte(text)) + "}\n"
}

func usingJobs() string {
	return strings.Replace(agent("a"), "  remoteWrite",
		"  additionalScrapeConfigs: {name: jobs, key: j}\n  remoteWrite", 1)
}

// TestNoSecretInRecords looks for bytes of a Secret in all that is written about what is held.
func TestNoSecretInRecords(t *testing.T) {
	t.Parallel()
	const file = "in/a/jobs.yaml"
	for name, text := range map[string]string{
		"it is gone": "", "it is broken": noYAML,
		"it is invalid": strings.Replace(jobs("[]"), "data: {j: ", "data: {j: ?", 1),
		"it is one of a List": list(strings.Replace(jobs("[]"), "data: {", "data: 5 # {", 1),
			monitor("a", "db", "sql")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			maps := twoTeams()
			maps[agentA], maps[file] = usingJobs(), jobs("[{job_name: hunter2}]")
			l.input(maps)
			l.pass()
			l.input(elsewhere(2, file, text, webA, bad("a")))
			report := l.pass()
			if len(report.Held) != 2 || len(l.heldTexts()) != 1 {
				t.Fatalf("held are %v, texts %v", report.Held, l.heldTexts())
			}
			for name, e := range l.remote.read("env") {
				about := strings.HasPrefix(name, ".agentry/") || path.Base(name) == "README.md" ||
					path.Base(name) == "inventory"
				if about && (strings.Contains(e.text, "hunter2") || strings.Contains(e.text, "aHVudGVyMg") ||
					strings.Contains(e.text, "eJob")) {
					t.Errorf("%s:\n%s", name, e.text)
				}
			}
		})
	}
}

// TestRecordsHoldNoTextThatThePolicyForbids keeps a text off the branch that the policy would not let be rendered:
// that it was at the base does not make it good.
func TestRecordsHoldNoTextThatThePolicyForbids(t *testing.T) {
	t.Parallel()
	l := rendered(t)
	withToken := strings.Replace(agent("a"), `mimir/push"`, `mimir/push", bearerToken: hunter2`, 1)
	for i, text := range []string{withToken, strings.Replace(withToken, "remoteWrite: [", "remoteWrite: 5 # [", 1),
		noYAML} {
		l.input(elsewhere(i, agentA, text))
		report := l.pass()
		if report.Commit == "" || len(report.Held) == 0 {
			t.Errorf("commit %q, held %v", report.Commit, report.Held)
		}
		for name, e := range l.remote.read("env") {
			if strings.Contains(e.text, "hunter2") {
				t.Errorf("%s after %d commits:\n%s", name, i+1, e.text)
			}
		}
	}
}

// TestHeldReport holds what the report, the condition and the README.md of a unit say.
func TestHeldReport(t *testing.T) {
	t.Parallel()
	l := rendered(t)
	l.input(elsewhere(2, webA, bad("a"), "in/a/new.yaml", badField("a", "new")))
	report := l.pass()
	at := func(i int) branch.CommitRef {
		return branch.CommitRef{Commit: l.inputs[i], Date: time.Date(2026, 1, 2, 3, i+1, 0, 0, time.UTC)}
	}
	id := func(name string) manifest.ID { return manifest.ID{Kind: "ServiceMonitor", Namespace: "a", Name: name} }
	want := []plan.HeldObject{
		{ID: id("new"), Units: []string{}, State: plan.UnitLeftOut, Since: at(1),
			Reason: diag.Diagnostic{Code: diag.InvalidField}},
		{ID: id("web"), Units: []string{"a/agent"}, State: plan.UnitHeld, As: at(0), Since: at(1),
			Reason:  diag.Diagnostic{Code: "timeout-above-interval"},
			Waiting: []string{"spec.endpoints[0].interval", "spec.endpoints[0].scrapeTimeout"}},
	}
	for i := range report.Held {
		report.Held[i].Reason = diag.Diagnostic{Code: report.Held[i].Reason.Code}
	}
	if diff := cmp.Diff(want, report.Held, cmpopts.IgnoreFields(plan.HeldObject{}, "Origin")); diff != "" {
		t.Error(diff)
	}
	if message := report.Ready().Message; !strings.HasPrefix(message,
		"1 object is held at its last good version, 1 object is left out; first: in/a/") {
		t.Error(message)
	}
	const readme = "a/agent/README.md"
	row := fmt.Sprintf("| `ServiceMonitor/a/web` | %s of 2026-01-02 | %s of 2026-01-02 | "+
		"`spec.endpoints[0].interval, spec.endpoints[0].scrapeTimeout` | `in/a/web.yaml:6:42: "+
		"spec.endpoints[0].scrapeTimeout: the timeout 2s is longer than the scrape interval 1s` |\n",
		l.inputs[0][:7], l.inputs[1][:7])
	if text := l.remote.read("env")[readme].text; !strings.Contains(text, row) {
		t.Errorf("no row %s\n%s", row, text)
	}
	// Its payload is what it was, but not what is to be said of it.
	l.input(elsewhere(3, webA, monitor("a", "web", "http")))
	sees(t, l.pass(), unitStates{"a/agent": "unchanged", "b/agent": "changed"})
	if text := l.remote.read("env")[readme].text; !strings.Contains(text, "Nothing, as of the last change") {
		t.Errorf("%s", text)
	}
	l.forget()
	l.input(elsewhere(4, webA, bad("a")))
	sees(t, l.pass(), unitStates{"a/agent": "held", "b/agent": "changed"})
	if text := l.remote.read("env")[readme].text; !strings.Contains(text, "The whole folder stays as it was") {
		t.Errorf("%s", text)
	}
}

// TestReadmeOfOthers leaves a README.md alone that was in a unit's folder before us.
func TestReadmeOfOthers(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.pipeline.Spec.Output.Adopt = true
	l.remote.commit("env", tree{"a/agent/README.md": {text: "theirs"}}, 1, "theirs")
	l.input(twoTeams())
	l.pass()
	l.input(elsewhere(2, webA, bad("a")))
	l.pass()
	l.input(map[string]string{agentA: "", webA: ""})
	l.pass()
	if diff := cmp.Diff(tree{"README.md": {text: "theirs"}}, below(l.remote.read("env"), "a/agent"),
		cmp.AllowUnexported(entry{})); diff != "" {
		t.Error(diff)
	}
}

// TestHoldTwoSources holds objects of two repositories.
func TestHoldTwoSources(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	other := l.remote.host.add("other")
	l.pipeline.Spec.Sources = append(l.pipeline.Spec.Sources,
		pipeline.Source{URL: other.url, Ref: pipeline.Ref{Branch: "main"}})
	l.input(twoTeams())
	other.commit("main", tree{"x.yaml": {text: monitor("a", "db", "sql")}}, 1, "one")
	l.pass()
	before := l.payload("a/agent")
	check := func(what string, commit bool, held int) {
		t.Helper()
		report := l.pass()
		if diff := cmp.Diff(before, l.payload("a/agent")); diff != "" || (report.Commit != "") != commit ||
			len(report.Held) != held {
			t.Errorf("%s: commit %q, held %v\n%s", what, report.Commit, report.Held, diff)
		}
	}
	l.input(map[string]string{webA: ""})
	other.commit("main", tree{"x.yaml": {text: monitor("a", "db", "sql")},
		"web.yaml": {text: monitor("a", "web", "http")}}, 2, "moved")
	check("moved", false, 0)
	other.commit("main", tree{"x.yaml": {text: monitor("a", "db", "sql")}, "web.yaml": {text: bad("a")}}, 3, "bad")
	check("bad at its new place", false, 1)
	l.input(elsewhere(4))
	check("and the base moves on", true, 1)
	other.commit("main", tree{"x.yaml": {text: noYAML}}, 5, "broken, and the other gone")
	check("broken", false, 2)
	l.input(elsewhere(6))
	check("broken, and the base moves on", true, 2)
	l.input(map[string]string{"in/a/broken.yaml": noYAML, "in/b/web.yaml": monitor("b", "web", "b7")})
	other.commit("main", tree{"x.yaml": {text: monitor("a", "db", "sql")},
		"web.yaml": {text: monitor("a", "web", "http")}}, 7, "mended")
	check("a broken file of one source hides nothing of the other", true, 0)
	l.input(elsewhere(8))
	other.commit("main", tree{"x.yaml": {text: monitor("a", "db", "sql")}}, 8, "gone")
	l.pass() // what only the other source had goes, although this one has a broken file
	if text := l.payload("a/agent")["agent-config.secret.yaml"]; strings.Contains(text, "a/web") ||
		!strings.Contains(text, "a/db") {
		t.Errorf("%s", text)
	}
	delete(l.remote.host.remote, "other")
	l.input(map[string]string{webA: bad("a")})
	if report := l.pass(); !report.Sources[1].Stale || len(report.Held) != 1 {
		t.Errorf("%+v %v", report.Sources, report.Diags)
	}
}
