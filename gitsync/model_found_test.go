package gitsync_test

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/test/history"
)

// TestModelFound repeats histories in which TestModel found something wrong.
func TestModelFound(t *testing.T) {
	t.Parallel()
	at := func(file, kind, ns, name string) history.Edit {
		return history.Edit{File: file, Doc: history.Doc{Kind: kind, Namespace: ns, Name: name}}
	}
	set := func(e history.Edit, field string, n int) history.Edit {
		e.Op, e.Field, e.N = "set", field, n
		return e
	}
	drop := func(e history.Edit) history.Edit { e.Op = "drop"; return e }
	a, b := at("in/a/agent.yaml", "GrafanaAgent", "a", "agent"), at("in/b/agent.yaml", "GrafanaAgent", "b", "agent")
	secret, secretB := at("more/jobs.yaml", "Secret", "a", "jobs"), at("more/secrets.yaml", "Secret", "b", "s")
	cache := at("in/a/cache.yaml", "Integration", "a", "cache")
	web := at("in/a/monitors.yaml", "ServiceMonitor", "a", "web")
	account := at("in/c.yaml", "ServiceAccount", "c", "agent")
	account.Source = 1
	db := at("in/a/monitors.yaml", "ServiceMonitor", "a", "db")
	other := at("in/new.yaml", "GrafanaAgent", "a", "other")
	other.Op, other.Doc.Sel = "add", 1
	plaintext, pass, orphan := history.Edit{Op: "stage", N: 1}, history.Edit{Op: "pass"}, history.Edit{Op: "orphan"}
	for name, edits := range map[string][]history.Edit{
		"a Secret that is left out is none of the unit's inputs": {orphan, set(secret, "fault", 4), pass,
			set(b, "rev", 1), pass},
		"a Secret that is left out is not copied": {plaintext, orphan, set(secret, "fault", 4), pass},
		"a Secret that is left out loses its key": {orphan, set(secret, "fault", 4), pass,
			set(secret, "nokey", 1), pass},
		"a Secret that is new and lacks a key that is not needed": {
			orphan, set(secretB, "fault", 3), pass, set(secretB, "fault", 0), set(secretB, "nokey", 1),
			set(b, "rev", 1), pass},
		"what vanished while nobody knows the base is not deleted later": {
			{Op: "force", N: 0, Field: "forget"}, set(db, "fault", 1), set(b, "rev", 1), pass, set(b, "rev", 2),
			pass},
		"a unit that is new when an object breaks that was wrong before": {
			set(cache, "fault", 4), set(a, "rev", 1), pass, set(cache, "fault", 1),
			other, pass},
		"a deletion while a path is missing for long": {
			{Op: "remove", File: "more/secrets.yaml"}, drop(secret), set(b, "rev", 1), pass, drop(cache), pass},
		"a unit that is paused keeps what is held for it": {
			set(web, "fault", 4), set(b, "rev", 1), pass, set(a, "paused", 1), set(b, "rev", 2), pass,
			set(b, "rev", 3), pass, set(a, "paused", 0), set(a, "rev", 4), pass},
		"a version that its source has lost keeps its record": {
			set(secret, "fault", 3), set(cache, "rev", 1), pass, {Op: "force", N: 1, Field: "forget"},
			set(account, "rev", 3), pass},
		"an agent that cannot be read and has lost its history": {
			{Op: "force", N: 0, Field: "forget"}, set(a, "fault", 1), set(b, "rev", 1), pass, set(b, "rev", 2), pass},
		"a new clone describes the repair of a file as an old one does": {
			{Op: "stage", N: 3}, {Op: "hand", N: 32517}, {Op: "replica"}, pass},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if wrong := newHistoryRunner(t).run(edits); len(wrong) > 0 {
				t.Error(strings.Join(wrong, "\n"))
			}
		})
	}
}
