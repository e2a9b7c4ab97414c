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
	for name, want := range map[string]struct {
		diags []string // line:column code
		files []string // unit: number of files
	}{
		"bad-additional-scrape-duplicate-job": {[]string{"36:5 duplicate-job"}, []string{"sad/agent 5"}},
		"bad-additional-scrape-not-list":      {[]string{"26:5 invalid-additional-scrape-configs"}, []string{"sad/agent 5"}},
		"bad-additional-scrape-yaml":          {[]string{"25:11 invalid-additional-scrape-configs"}, []string{"sad/agent 5"}},
		"bad-basic-auth-half":                 {[]string{"29:5 incomplete-basic-auth", "51:5 incomplete-basic-auth"}, []string{"sad/rw 2", "sad/scrape 5"}},
		"bad-cr-selector-operator":            {[]string{"25:3 invalid-selector"}, []string{"sad/agent 5"}},
		"bad-durations":                       {[]string{"9:13 invalid-duration", "17:3 invalid-duration", "27:27 invalid-field"}, []string{"sad/agent 0"}},
		"bad-missing-key":                     {[]string{"21:7 missing-key"}, []string{"sad/agent 2"}},
		"bad-missing-key-optional":            {[]string{"28:5 optional-missing"}, []string{"sad/agent 5"}},
		"bad-missing-key-unrendered":          {[]string{"29:7 missing-key"}, []string{"sad/agent 5"}},
		"bad-missing-secret-inline":           {[]string{"38:7 missing-secret", "39:7 missing-secret"}, []string{"sad/agent 5"}},
		"bad-scrape-timeout":                  {[]string{"26:42 timeout-above-interval"}, []string{"sad/agent 5"}},
		"bad-secret-key-collision": {[]string{"17:54 secret-key-collision", "17:86 secret-key-collision",
			"25:54 secret-key-collision", "25:88 secret-key-collision"}, []string{"sad/agent 2"}},
		"bad-target-selector-nil-values": {[]string{"25:33 invalid-selector"}, []string{"sad/agent 5"}},
		"bad-two-auth-methods":           {[]string{"37:17 auth-conflict", "46:15 auth-conflict"}, []string{"sad/scrape 5", "sad/write 2"}},
		"bad-types":                      {[]string{"10:22 invalid-field", "36:16 invalid-field"}, []string{"sad/other 5"}},
		"conflict-derived-names": {[]string{"6:3 name-conflict", "13:5 not-supported-yet", "27:3 name-conflict"},
			[]string{"ns1/web 0", "ns1/web-logs 5", "ns1/web-shard-1 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			out := render(t, secretref.Plaintext, read(t, filepath.Join(corpus, name, "input.yaml")))
			out.Diags.Sort()
			var diags, files []string
			for _, d := range out.Diags {
				if d.Code != diag.NoDestination {
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
