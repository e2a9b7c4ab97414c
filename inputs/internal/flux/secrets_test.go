package flux

import (
	"fmt"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// anywhere is an origin that knows no position.
type anywhere struct{}

func (anywhere) Find(string, string) (string, int, int) { return "hr.yaml", 1, 1 }

// TestWhatAChartMakesOfASecretIsSecret, whatever function makes it. What does not depend on the value is not.
func TestWhatAChartMakesOfASecretIsSecret(t *testing.T) {
	charts := newCharts(t)
	const check = `{{ if not (hasPrefix "Zq7" .Values.password) }}{{ fail "no" }}{{ end }}`
	for expression, want := range map[string]string{
		".Values.password":                                              "Zq7hunter2Xsecretvalue",
		".Values.password | b64enc":                                     "WnE3aHVudGVyMlhzZWNyZXR2YWx1ZQ",
		".Values.password | upper":                                      "ZQ7HUNTER2XSECRETVALUE",
		".Values.password | swapcase":                                   "zQ7HUNTER2xSECRETVALUE",
		".Values.password | trunc 14":                                   "Zq7hunter2Xsec",
		".Values.password | trunc 4":                                    "Zq7h",
		".Values.password | substr 3 10":                                "hunter2",
		`.Values.password | replace "hunter" "xyz"`:                     "Zq7xyz2Xsecretvalue",
		`printf "%x" .Values.password`:                                  "5a713768756e746572325873656372657476616c7565",
		`index (splitList "X" .Values.password) 0`:                      "Zq7hunter2",
		`.Values.password | nospace | lower | b64enc`:                   "enE3aHVudGVyMnhzZWNyZXR2YWx1ZQ",
		`printf "user:%s@host" (upper .Values.password)`:                "ZQ7HUNTER2XSECRETVALUE",
		`.Values.pin | trunc 4`:                                         "1234",
		`regexReplaceAll "[^0-9]" .Values.password ""`:                  "72",
		".Values.team | upper":                                          "",
		".Values.password | len":                                        "",
		".Values.short | upper":                                         "",
		`hasPrefix "Zq7" .Values.password | ternary "shopping" "shops"`: "",
		// These make a chart fail with other values: what is known is common encodings.
		".Values.password | b64enc | quote }}" + check + "{{ print": "WnE3aHVudGVyMlhzZWNyZXR2YWx1ZQ==",
		".Values.password | upper }}" + check + "{{ print":          "ZQ7HUNTER2XSECRETVALUE",
	} {
		t.Run(expression, func(t *testing.T) {
			secret := held(t, charts, expression)
			if want == "" && len(secret) > 0 || want != "" && secret[want] != "spec.valuesFrom[0]" {
				t.Errorf("got %v", secret)
			}
		})
	}
}

// held returns the secret values in the monitor that a chart gives with an expression.
func held(t *testing.T, charts *Charts, expression string) map[string]string {
	t.Helper()
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"charts/shop/Chart.yaml":  "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"charts/shop/values.yaml": "team: shopping\n",
		"charts/shop/templates/m.yaml": "kind: ServiceMonitor\napiVersion: monitoring.coreos.com/v1\n" +
			"metadata: {name: a}\nspec: {selector: {matchLabels: {a: {{ " + expression + " }} }}}\n",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	var values map[string]any
	if err := yaml.Unmarshal([]byte("kind: Secret\nstringData: {values.yaml: '{password: Zq7hunter2Xsecretvalue, "+
		"pin: \"12345678\", short: abcde}'}\n"), &values); err != nil {
		t.Fatal(err)
	}
	r := roots.Root{Name: "hr", RequestedBy: &roots.CustomResource{
		Object: diag.Object{Kind: "HelmRelease", Namespace: "apps", Name: "shop"},
		Built: manifest.Built{Origin: anywhere{},
			Text: []byte(helmRelease("  valuesFrom: [{kind: Secret, name: vals}]\n"))}},
		Make: Release{Objects: map[string]map[string]any{"Secret/apps/vals": values}, Top: "."}}
	docs, err := r.Build(t.Context(), tree.New(t.Context(), files),
		roots.Options{Kustomize: charts.Kustomize, Charts: charts.Renderer})
	if err != nil || len(docs) != 1 {
		t.Fatal(fmt.Sprint(len(docs)), err)
	}
	return docs[0].Secret
}
