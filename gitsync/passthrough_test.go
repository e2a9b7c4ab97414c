package gitsync_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
)

// newPassingLab is a lab with one agent, whose pipeline passes kinds through.
func newPassingLab(t *testing.T, kinds ...string) *lab {
	t.Parallel()
	l := newLab(t)
	l.pipeline.Spec.PassThrough.Kinds = kinds
	l.input(map[string]string{"in/agent.yaml": agent("m"), "in/web.yaml": monitor("m", "web", "http")})
	return l
}

// passed are the files of what is passed through to a namespace, without the kustomization.
func (l *lab) passed(ns string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(l.payload(ns+"/_passthrough"))), func(name string) bool {
		return strings.HasSuffix(name, "kustomization.yaml")
	})
}

// TestPassedThroughIsAdopted: output.adopt overwrites no file that somebody else wrote in the place of one that is
// passed through.
func TestPassedThroughIsAdopted(t *testing.T) {
	l := newPassingLab(t, "ServiceAccount")
	l.input(map[string]string{"in/a.yaml": account("shop", "a", "one")})
	const theirs = "shop/_passthrough/a.serviceaccount.yaml"
	l.remote.commit("env", plain(map[string]string{theirs: "theirs\n", "README.md": "theirs too\n"}), 1, "by hand")
	l.pipeline.Spec.Output.Adopt = true
	l.refusedAt(diag.AdoptionCollision, theirs)
	l.remote.commit("env", plain(map[string]string{"shop/_passthrough/notes.txt": "theirs\n"}), 2, "by hand")
	report := l.pass()
	if diff := cmp.Diff([]string{"a.serviceaccount.yaml"}, l.passed("shop")); diff != "" || report.Commit == "" {
		t.Errorf("%s %v", diff, report.Refused)
	}
	if l.file("shop/_passthrough/notes.txt") != "theirs\n" {
		t.Error("a file of somebody else is changed")
	}
}
