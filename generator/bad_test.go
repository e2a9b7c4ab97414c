package generator_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// TestBadInputs holds, for the cases in which the operator fails or makes agents crash,
// which diagnostic stands at which line, and what is rendered all the same.
func TestBadInputs(t *testing.T) {
	cases := map[string]struct {
		diags []string // line:column code
		files []string // unit: number of files
	}{
		"bad-additional-scrape-duplicate-job": {[]string{"36:5 duplicate-job"}, []string{"sad/agent 5"}},
		"bad-additional-scrape-not-list": {[]string{"26:5 invalid-additional-scrape-configs"},
			[]string{"sad/agent 5"}},
		"bad-additional-scrape-yaml": {[]string{"25:23 invalid-additional-scrape-configs"},
			[]string{"sad/agent 5"}},
		"bad-basic-auth-half": {[]string{"29:5 incomplete-basic-auth", "51:5 incomplete-basic-auth"},
			[]string{"sad/rw 2", "sad/scrape 5"}},
		"bad-cr-selector-operator": {[]string{"27:18 invalid-selector"}, []string{"sad/agent 5"}},
		"bad-durations": {[]string{"9:13 invalid-duration", "17:3 invalid-duration",
			"27:27 invalid-field"}, []string{"sad/agent 0"}},
		"bad-missing-key":            {[]string{"21:7 missing-key"}, []string{"sad/agent 2"}},
		"bad-missing-key-optional":   {[]string{"28:5 optional-missing"}, []string{"sad/agent 5"}},
		"bad-missing-key-unrendered": {[]string{"29:7 missing-key"}, []string{"sad/agent 5"}},
		"bad-missing-secret-inline":  {[]string{"38:7 missing-secret"}, []string{"sad/agent 5"}},
		"bad-scrape-timeout":         {[]string{"26:42 timeout-above-interval"}, []string{"sad/agent 5"}},
		"bad-secret-key-collision": {[]string{"17:54 secret-key-collision", "25:54 secret-key-collision"},
			[]string{"sad/agent 2"}},
		"bad-target-selector-nil-values": {[]string{"25:33 invalid-selector"}, []string{"sad/agent 5"}},
		"bad-two-auth-methods": {[]string{"37:17 auth-conflict", "46:15 auth-conflict"},
			[]string{"sad/scrape 5", "sad/write 2"}},
		"bad-types": {[]string{"10:22 invalid-field", "36:16 invalid-field"},
			[]string{"sad/other 5"}},
		"bad-duplicate-unique-integration": {[]string{"17:3 unique-integration", "27:3 unique-integration"},
			[]string{"sad/agent 2"}},
		"bad-histogram-bucket":           {[]string{"28:66 invalid-stage"}, []string{"sad/agent 4"}},
		"bad-integration-missing-secret": {[]string{"19:13 missing-secret"}, []string{"sad/agent 2"}},
		"bad-match-stages-not-list":      {[]string{"31:9 invalid-stage"}, []string{"sad/agent 4"}},
		"bad-match-stages-yaml":          {[]string{"30:24 invalid-embedded-yaml"}, []string{"sad/agent 4"}},
		"bad-names": {[]string{"6:3 invalid-rendered-object", "9:3 invalid-rendered-object"},
			[]string{"sad/agent.with.dots 0"}},
		"bad-one-team-breaks-all": {[]string{"47:27 missing-secret"}, []string{"platform/agent 10"}},
		"bad-unknown-integration": {[]string{"17:3 unknown-integration", "29:3 invalid-field"},
			[]string{"sad/agent 2"}},
		"conflict-derived-names": {[]string{"6:3 name-conflict", "6:3 name-conflict", "18:3 name-conflict",
			"27:3 name-conflict", "35:1 selected-twice"},
			[]string{"ns1/web 0", "ns1/web-logs 0", "ns1/web-shard-1 0"}},
		"conflict-same-agent-name":       {nil, []string{"alpha/agent 5", "beta/agent 7"}},
		"conflict-same-agent-name-empty": {nil, []string{"alpha/agent 5", "beta/agent 4"}},
	}
	for _, pattern := range []string{"bad-*", "conflict-*"} {
		paths, err := filepath.Glob(filepath.Join(corpus, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no cases %s: %v", pattern, err)
		}
		for _, path := range paths {
			if _, ok := cases[filepath.Base(path)]; !ok {
				t.Errorf("%s is not tested", filepath.Base(path))
			}
		}
	}
	for name, want := range cases {
		t.Run(name, func(t *testing.T) {
			out := render(t, secretref.Plaintext, read(t, filepath.Join(corpus, name, "input.yaml")))
			out.Diags.Sort()
			var diags, files []string
			for _, d := range out.Diags {
				if d.Code != diag.NoDestination && d.Code != diag.NoLogsClient {
					diags = append(diags, fmt.Sprintf("%d:%d %s", d.Line, d.Column, d.Code))
				}
			}
			for _, u := range out.Units {
				files = append(files, fmt.Sprintf("%s %d", u.Name, len(u.Files)))
			}
			slices.Sort(files)
			if diff := cmp.Diff(want.diags, diags); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.files, files); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}
