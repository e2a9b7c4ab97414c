package gitsync_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
)

// TestPassedThroughOfFluxAndArgoCD: what custom resources lead to is passed through to the namespace that they say,
// keeps what it gave when one breaks, and goes with it.
func TestPassedThroughOfFluxAndArgoCD(t *testing.T) {
	t.Parallel()
	for build, resource := range map[string]func(url, path string) string{
		"flux": func(_, path string) string { return fluxKustomization("shop", path, "targetNamespace: shop") },
		"argocd": func(url, path string) string {
			return argoApplication("shop", fmt.Sprintf("source: {repoURL: %s, path: %s}", url, path), "shop")
		},
	} {
		t.Run(build, func(t *testing.T) {
			l := newPassingLab(t, "ServiceAccount", "ConfigMap")
			l.pipeline.Spec.Limits.AllowEmpty = true
			url := l.pipeline.Spec.Sources[0].URL
			l.pipeline.Spec.Sources[0].Build = "plain"
			l.pass()
			without := func(text string) string { return strings.ReplaceAll(text, ", namespace: x", "") }
			l.input(map[string]string{"apps/web.yaml": without(account("x", "web", "one")),
				"apps/a.yaml": without(agent("x")), "apps/b.yaml": without(account("x", "b", "one")),
				"other/no.yaml": account("shop", "no", "one"),
				"in/agent.yaml": "", "in/web.yaml": "", "in/shop.yaml": resource(url, "apps")})
			if build == "flux" {
				l.pipeline.Spec.Sources[0].Build = "flux"
			} else {
				l.pipeline.Spec.Sources[0].Build = "argocd"
			}
			l.pipeline.Spec.Limits.AllowFor = l.inputs[len(l.inputs)-1]
			both := []string{"b.serviceaccount.yaml", "web.serviceaccount.yaml"}
			report := l.pass()
			if diff := cmp.Diff(both, l.passed("shop")); diff != "" {
				t.Fatalf("%s: %s %v", build, diff, report.Diags)
			}
			l.input(map[string]string{"in/shop.yaml": resource(url, "nowhere")})
			report = l.pass()
			if diff := cmp.Diff(both, l.passed("shop")); diff != "" || len(codes(report, diag.Error)) == 0 {
				t.Errorf("%s: it breaks: %s %v", build, diff, report.Diags)
			}
			l.input(map[string]string{"in/shop.yaml": resource(url, "apps"), "apps/b.yaml": ""})
			if report = l.pass(); len(codes(report, diag.Error)) > 0 ||
				!strings.Contains(l.file("shop/_passthrough/web.serviceaccount.yaml"), "team: one") {
				t.Errorf("%s: it goes on: %v", build, report.Diags)
			}
			if diff := cmp.Diff(both[1:], l.passed("shop")); diff != "" {
				t.Errorf("%s: one is removed: %s", build, diff)
			}
		})
	}
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
