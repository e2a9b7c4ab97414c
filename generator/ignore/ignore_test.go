package ignore_test

import (
	"testing"

	"github.com/agentry-dev/agentry/generator/ignore"
	"github.com/agentry-dev/agentry/generator/manifest"
)

func TestReason(t *testing.T) {
	const legacy = "legacy"
	for name, test := range map[string]struct {
		paths             []string
		file, annotations string
		want              string
	}{
		"nothing says so":                   {nil, "apps/a.yaml", "{}", ""},
		"the annotation":                    {nil, "apps/a.yaml", "{agentry.dev/ignore: ' why '}", "why"},
		"an annotation without a reason":    {nil, "apps/a.yaml", "{agentry.dev/ignore: ' '}", ""},
		"the annotation before a rule":      {[]string{"apps"}, "apps/a.yaml", "{agentry.dev/ignore: why}", "why"},
		"a folder":                          {[]string{"other", "apps"}, "apps/b/a.yaml", "{}", legacy},
		"a folder with all below it":        {[]string{"apps/**"}, "apps/a.yaml", "{}", legacy},
		"a file":                            {[]string{"apps/a.yaml"}, "apps/a.yaml", "{}", legacy},
		"any name":                          {[]string{"*/legacy"}, "apps/legacy/b/a.yaml", "{}", legacy},
		"any folders":                       {[]string{"**/legacy"}, "apps/b/legacy/a.yaml", "{}", legacy},
		"the same name elsewhere":           {[]string{"legacy"}, "apps/legacy/a.yaml", "{}", ""},
		"a name that begins like it":        {[]string{"apps"}, "apps-new/a.yaml", "{}", ""},
		"of another source, from its top":   {[]string{"apps"}, "@second/apps/a.yaml", "{}", legacy},
		"of another source, not the folder": {[]string{"apps"}, "@apps/a.yaml", "{}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: a, namespace: m, " +
				"annotations: " + test.annotations + "}\nspec: {selector: {}, endpoints: [{port: web}]}\n"
			r := manifest.Parse(manifest.File{Path: test.file, Data: []byte(text)}, manifest.Options{})
			rules := ignore.Rules{{Paths: test.paths, Reason: legacy}}
			if got := rules.Reason(r.Objects[0]); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
