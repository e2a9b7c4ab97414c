package gitsync_test

import (
	"strings"
	"testing"
)

// TestModelFound repeats histories in which TestModel found something wrong.
func TestModelFound(t *testing.T) {
	t.Parallel()
	const agentA, agentB, jobs = "in/a/agent.yaml", "in/b/agent.yaml", "more/jobs.yaml"
	at := func(file string, d doc) edit { return edit{file: file, doc: d} }
	set := func(e edit, field string, n int) edit {
		e.op, e.field, e.n = "set", field, n
		return e
	}
	drop := func(e edit) edit { e.op = "drop"; return e }
	a, b := at(agentA, doc{kind: "GrafanaAgent", ns: "a", name: "agent"}), at(agentB,
		doc{kind: "GrafanaAgent", ns: "b", name: "agent"})
	secret, cache := at(jobs, doc{kind: "Secret", ns: "a", name: "jobs"}), at("in/a/cache.yaml",
		doc{kind: "Integration", ns: "a", name: "cache"})
	secretB := at("more/secrets.yaml", doc{kind: "Secret", ns: "b", name: "s"})
	web, db := at("in/a/monitors.yaml", doc{kind: "ServiceMonitor", ns: "a", name: "web"}), at("in/a/monitors.yaml",
		doc{kind: "ServiceMonitor", ns: "a", name: "db"})
	plaintext, pass, orphan := edit{op: "stage", n: 1}, edit{op: "pass"}, edit{op: "orphan"}
	for name, edits := range map[string][]edit{
		"a Secret that is left out is none of the unit's inputs": {orphan, set(secret, "fault", 4), pass,
			set(b, "rev", 1), pass},
		"a Secret that is left out is not copied": {plaintext, orphan, set(secret, "fault", 4), pass},
		"a Secret that is left out loses its key": {orphan, set(secret, "fault", 4), pass,
			set(secret, "nokey", 1), pass},
		"a Secret that is new and lacks a key that is not needed": {
			orphan, set(secretB, "fault", 3), pass, set(secretB, "fault", 0), set(secretB, "nokey", 1),
			set(b, "rev", 1), pass},
		"what vanished while nobody knows the base is not deleted later": {
			edit{op: "force", n: 0, field: "forget"}, set(db, "fault", 1), set(b, "rev", 1), pass, set(b, "rev", 2),
			pass},
		"a unit that is new when an object breaks that was wrong before": {
			set(cache, "fault", 4), set(a, "rev", 1), pass, set(cache, "fault", 1),
			{op: "add", file: "in/new.yaml", doc: fresh[0]}, pass},
		"a deletion while a path is missing for long": {
			{op: "remove", file: "more/secrets.yaml"}, drop(secret), set(b, "rev", 1), pass, drop(cache), pass},
		"a unit that is paused keeps what is held for it": {
			set(web, "fault", 4), set(b, "rev", 1), pass, set(a, "paused", 1), set(b, "rev", 2), pass,
			set(b, "rev", 3), pass, set(a, "paused", 0), set(a, "rev", 4), pass},
		"a new clone describes the repair of a file as an old one does": {
			{op: "stage", n: 3}, {op: "hand", n: 32517}, {op: "replica"}, pass},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if wrong := newHistoryRunner(t).run(edits); len(wrong) > 0 {
				t.Error(strings.Join(wrong, "\n"))
			}
		})
	}
}
