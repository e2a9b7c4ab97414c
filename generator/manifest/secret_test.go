package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// inFile is an origin that knows the file only.
type inFile struct{}

func (inFile) Find(string, string) (string, int, int) { return "a.yaml", 0, 0 }

// TestASubstitutedSecretIsInNoFinding: neither whole nor in part, wherever it was put.
func TestASubstitutedSecretIsInNoFinding(t *testing.T) {
	t.Parallel()
	const secret = "hunter22 is \"long\" and has a tail that no message needs"
	for name, text := range map[string]string{
		"a value": "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n" +
			"metadata: {name: a, namespace: b}\nspec: {selector: {}, endpoints: [{interval: '${}'}]}\n",
		"an enumeration": "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n" +
			"metadata: {name: a, namespace: b}\nspec: {selector: {}, endpoints: [{scheme: '${}'}]}\n",
		"a field": "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n" +
			"metadata: {name: a, namespace: b}\nspec: {selector: {}, endpoints: [], '${}': 1}\n",
		"a label": "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n" +
			"metadata: {name: a, namespace: b, labels: {x: '${}'}}\nspec: {selector: {}, endpoints: []}\n",
		"no object": "kind: ServiceMonitor\nmetadata: {name: '${}'}\nspec: {}\n",
		"not YAML":  "kind: ServiceMonitor\na: '${}'\n'${}': 1\n'${}': 1\n",
	} {
		built := manifest.Built{Text: []byte(strings.ReplaceAll(text, "${}", secret)), Origin: inFile{},
			Secret: map[string]string{secret: "${PASSWORD}"}}
		r := manifest.ParseBuilt(manifest.File{Path: "root"}, []manifest.Built{built}, manifest.Options{})
		if len(r.Diags) == 0 {
			t.Errorf("%s: nothing is found", name)
		}
		for _, d := range r.Diags {
			if all := d.String() + d.Hint; strings.Contains(all, "hunte") || strings.Contains(all, "tail") {
				t.Errorf("%s: %s", name, all)
			}
		}
		for _, o := range append(r.Objects, r.LeftOut...) {
			if got := o.SecretVariables(); len(got) != 1 || got[0] != "${PASSWORD}" {
				t.Errorf("%s: the variables are %v", name, got)
			}
		}
	}
}

// TestIdentitiesHoldNoSecret that a chart or a replacement puts there. A text that is written like a variable's value
// stays.
func TestIdentitiesHoldNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "hunter2secret"
	for name, c := range map[string]struct{ kind, namespace, name, by, want string }{
		"a name":          {"Probe", "b", "n-" + secret, "spec.valuesFrom[0]", "Probe/b/n-***"},
		"a namespace":     {"Probe", secret, "a", "spec.valuesFrom[0]", "Probe/***/a"},
		"a kind":          {secret, "b", "a", "spec.valuesFrom[0]", "***/b/a"},
		"a role":          {"ServiceAccount", "b", secret, "spec.valuesFrom[0]", "ServiceAccount/b/***"},
		"an unknown kind": {"Deployment", "b", secret, "spec.valuesFrom[0]", "Deployment/b/***"},
		"by chance":       {"Probe", "b", secret, "${TOKEN}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			built := manifest.Built{Text: fmt.Appendf(nil, "apiVersion: monitoring.coreos.com/v1\nkind: %s\n"+
				"metadata: {name: %s, namespace: %s}\nspec: {prober: {url: x}, targets: {staticConfig: {static: [y]}}}\n",
				c.kind, c.name, c.namespace), Origin: inFile{}, Secret: map[string]string{secret: c.by}}
			r := manifest.ParseBuilt(manifest.File{Path: "root"}, []manifest.Built{built}, manifest.Options{})
			got := ""
			for _, d := range r.Diags {
				got = manifest.IDOf(d.Object).String()
				if all := d.String() + d.Hint; c.want != "" && strings.Contains(all, "hunter") {
					t.Error(all)
				}
			}
			isRefused := r.Broken == 1
			if isRefused != (c.want != "") || isRefused && (got != c.want || len(r.Objects) > 0) {
				t.Errorf("got %q, %d broken", got, r.Broken)
			}
		})
	}
}

// TestWhatQuotesASecret: words that a message has in common with a value by chance are no quotation.
func TestWhatQuotesASecret(t *testing.T) {
	t.Parallel()
	for value, messages := range map[string]map[string]bool{
		"supersecretvalue": {
			"${V} puts the value of a Secret into it, which the secrets policy keeps out": false,
			"it is supersecretvalue": true, "it is upersecre": true, `"secret" is no port`: true, "'secret'": true,
		},
		"hunter": {"it is hunter": true, "it is hunte": false, `"hunte" is`: true},
		"web":    {"the website": false, `"web" is no number`: true},
	} {
		for message, want := range messages {
			d := manifest.Built{Secret: map[string]string{value: "${V}"}}.Conceal(
				diag.Diagnostic{Message: message, Hint: message, Flags: message, Names: []string{message},
					Cause: diag.Cause{Reason: message}, Related: []diag.Object{{Kind: "Secret", Name: message}}})
			if got := d.Message != message; got != want || (d.Hint == "") != want || (d.Flags == "") != want ||
				(len(d.Names) == 0) != want || (d.Cause.Reason == "") != want || (len(d.Related) == 0) != want {
				t.Errorf("%s in %s: got %#v", value, message, d)
			}
		}
	}
}
