package gitsync_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs"
)

// TestNoGrafanaAgentIsAMistake has inputs without a GrafanaAgent at a first pass, and after a single one.
func TestNoGrafanaAgentIsAMistake(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	refused := func() {
		t.Helper()
		if report := l.pass(); report.Commit != "" || report.Refused == nil || report.Refused.Code != diag.NoAgent ||
			report.Ready().Status != "False" {
			t.Errorf("commit %q, refused %v, %v", report.Commit, report.Refused, report.Diags)
		}
	}
	l.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "http")})
	refused()
	l.input(map[string]string{agentA: agent("a")})
	l.pass()
	_, instance, _ := strings.Cut(agent("a"), "---\n")
	l.input(map[string]string{agentA: instance})
	refused()
	l.pipeline.Spec.Limits.AllowEmpty = true
	if report := l.pass(); report.Commit == "" {
		t.Errorf("limits.allowEmpty does not allow it: %v", report.Diags)
	}
	l.pipeline.Spec.Limits.AllowEmpty = false
	if report := l.pass(); report.Refused != nil {
		t.Errorf("nothing is left that could be lost: %v", report.Diags)
	}
}

// TestAPathWithoutAManifestDeletesNothing empties one of two folders, so that only a README is left in it.
func TestAPathWithoutAManifestDeletesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.pipeline.Spec.Sources[0].Paths = []string{"in", "more"}
	l.input(map[string]string{agentA: agent("a"), "in/a/web.yaml": monitor("a", "web", "http"),
		"more/README.md": "Monitors go here.\n"})
	if report := l.pass(); !slices.Equal(codes(report, diag.Error), []string{"empty-input"}) {
		t.Errorf("at a first pass: %v", report.Diags)
	}
	l.input(map[string]string{"more/db.yaml": monitor("a", "db", "http")})
	l.pass()
	l.input(map[string]string{"more/db.yaml": "", "in/a/web.yaml": monitor("a", "web", "metrics")})
	report := l.pass()
	if text := l.remote.read("env")["a/agent/agent-config.secret.yaml"].text; report.Commit == "" ||
		!strings.Contains(text, "serviceMonitor/a/db") || !strings.Contains(text, "metrics") {
		t.Errorf("what was in the folder is gone: %v", report.Diags)
	}
	if !slices.Equal(codes(report, diag.Error), []string{"empty-input"}) || report.Ready().Status != "False" {
		t.Errorf("%v", report.Diags)
	}
	l.pipeline.Spec.Limits.AllowEmpty = true
	report = l.pass()
	if text := l.remote.read("env")["a/agent/agent-config.secret.yaml"].text; strings.Contains(text,
		"serviceMonitor/a/db") || len(report.Diags) > 0 {
		t.Errorf("limits.allowEmpty does not allow it: %v", report.Diags)
	}
}

// TestAPathWithoutAManifestDeletesNothingWithBuilds empties a folder in all ways, in the modes that build.
func TestAPathWithoutAManifestDeletesNothingWithBuilds(t *testing.T) {
	t.Parallel()
	kustomized := map[string]string{"in/kustomization.yaml": "resources: [agent.yaml]\n", "in/agent.yaml": agent("a")}
	deep := map[string]string{"more/deep.yaml": fluxKustomization("deep", "./deep", ""),
		"deep/apps.yaml": fluxKustomization("apps", "./apps", ""), "apps/db.yaml": monitor("a", "db", "http")}
	for name, c := range map[string]struct {
		build        inputs.Mode
		path         string
		files, empty map[string]string
	}{
		"auto, a README": {inputs.Auto, "more", map[string]string{"more/db.yaml": monitor("a", "db", "http")},
			map[string]string{"more/db.yaml": "", "more/README.md": "Monitors go here.\n"}},
		"flux, a README": {inputs.Flux, "more", map[string]string{"more/db.yaml": monitor("a", "db", "http")},
			map[string]string{"more/db.yaml": "", "more/README.md": "Monitors go here.\n"}},
		"flux, values": {inputs.Flux, "more", map[string]string{"more/db.yaml": monitor("a", "db", "http")},
			map[string]string{"more/db.yaml": "", "more/values.yaml": "replicas: 2\n"}},
		"flux, a hidden folder": {inputs.Flux, "more", map[string]string{"more/x/db.yaml": monitor("a", "db", "http")},
			map[string]string{".sourceignore": "/more\n"}},
		"flux, a hidden file": {inputs.Flux, "more", map[string]string{"more/x/db.yaml": monitor("a", "db", "http")},
			map[string]string{".sourceignore": "db.yaml\n"}},
		"flux, a file": {inputs.Flux, "more/db.yaml", map[string]string{"more/db.yaml": monitor("a", "db", "http")},
			map[string]string{"more/db.yaml": "# Nothing is left.\n"}},
		"flux, what leads to more": {inputs.Flux, "more", deep,
			map[string]string{"more/deep.yaml": "", "more/README.md": "Nothing is left.\n"}},
		"argocd, a README": {inputs.ArgoCD, "more", map[string]string{"more/app.yaml": "APP",
			"apps/db.yaml": monitor("a", "db", "http")},
			map[string]string{"more/app.yaml": "", "more/README.md": "Applications go here.\n"}},
		"argocd, a file": {inputs.ArgoCD, "more/app.yaml", map[string]string{"more/app.yaml": "APP",
			"apps/db.yaml": monitor("a", "db", "http")},
			map[string]string{"more/app.yaml": "# Nothing is left.\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			from := &l.pipeline.Spec.Sources[0]
			from.Build, from.Paths = c.build, []string{"in", c.path}
			l.input(kustomized)
			for name, text := range c.files {
				if text == "APP" {
					c.files[name] = argoApplication("shop", "source: {repoURL: "+from.URL+", path: apps}", "a")
				}
			}
			l.input(c.files)
			has := func() bool {
				text := l.remote.read("env")["a/agent/agent-config.secret.yaml"].text
				return strings.Contains(text, "serviceMonitor/a/db")
			}
			if report := l.pass(); !has() || len(report.Diags) > 0 {
				t.Fatalf("before: %v", report.Diags)
			}
			l.input(c.empty)
			for range 2 {
				report := l.pass()
				if !has() || !slices.Equal(codes(report, diag.Error), []string{"empty-input"}) {
					t.Errorf("held %t, %v", has(), report.Diags)
				}
				l.input(map[string]string{"in/README.md": "Agents go here.\n"})
			}
			l.pipeline.Spec.Limits.AllowEmpty = true
			if report := l.pass(); has() || len(codes(report, diag.Error)) > 0 {
				t.Errorf("limits.allowEmpty does not allow it: %v", report.Diags)
			}
		})
	}
}

// TestAPathInAPathIsBuiltWithIt, and is missing if the path above builds nothing of it.
func TestAPathInAPathIsBuiltWithIt(t *testing.T) {
	t.Parallel()
	for _, mode := range []inputs.Mode{inputs.Auto, inputs.Flux, inputs.Plain} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			from := &l.pipeline.Spec.Sources[0]
			from.Build, from.Paths = mode, []string{"in", "in/sub"}
			l.input(map[string]string{agentA: agent("a"), "in/sub/db.yaml": monitor("a", "db", "http")})
			if report := l.pass(); len(report.Diags) > 0 || report.Commit == "" {
				t.Errorf("%v", report.Diags)
			}
			l.input(map[string]string{"in/sub/db.yaml": "", "in/sub/README.md": "Monitors go here.\n"})
			report := l.pass()
			if text := l.remote.read("env")["a/agent/agent-config.secret.yaml"].text; !strings.Contains(text,
				"serviceMonitor/a/db") || !slices.Equal(codes(report, diag.Error), []string{"empty-input"}) ||
				!strings.HasPrefix(report.Diags[0].Message, "is a part of the path in, which builds nothing of it") {
				t.Errorf("emptied: %v", report.Diags)
			}
		})
	}
}

// TestAnEmptyKustomizationIsADeletion empties the kustomization of a path, which does not hold what it gave.
func TestAnEmptyKustomizationIsADeletion(t *testing.T) {
	t.Parallel()
	for _, mode := range []inputs.Mode{inputs.Auto, inputs.Flux, inputs.ArgoCD} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			from := &l.pipeline.Spec.Sources[0]
			from.Build, from.Paths = mode, []string{"in", "more"}
			l.input(map[string]string{"in/kustomization.yaml": "resources: [agent.yaml]\n", "in/agent.yaml": agent("a"),
				"more/kustomization.yaml": "resources: [db.yaml]\n", "more/db.yaml": monitor("a", "db", "http")})
			l.pass()
			l.input(map[string]string{"more/kustomization.yaml": "resources: []\n"})
			report := l.pass()
			if text := l.remote.read("env")["a/agent/agent-config.secret.yaml"].text; report.Commit == "" ||
				strings.Contains(text, "serviceMonitor/a/db") || len(codes(report, diag.Error)) > 0 ||
				!slices.Contains(codes(report, diag.Warning), "builds-nothing") {
				t.Errorf("the monitor stays: %v", report.Diags)
			}
		})
	}
}
