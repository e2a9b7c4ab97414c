package diag_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/generator/diag"
)

func TestNames(t *testing.T) {
	const label = "must consist of lower-case letters, digits and hyphens, and begin and end with a letter or a digit"
	const subdomain = "must consist of lower-case letters, digits, hyphens and dots, and begin and end with a letter " +
		"or a digit"
	for name, want := range map[string]struct{ label, labelHint, subdomain, subdomainHint string }{
		"prod":                         {},
		"1":                            {},
		"a.b":                          {label, "a-b", "", ""},
		"Monitoring_Prod":              {label, "monitoring-prod", subdomain, "monitoring-prod"},
		"-prod-":                       {label, "prod", subdomain, "prod"},
		"a..b-.c":                      {label, "a-b-c", subdomain, "a.b.c"},
		"team shop/edge":               {label, "team-shop-edge", subdomain, "team-shop-edge"},
		"überwachung":                  {label, "berwachung", subdomain, "berwachung"},
		"web-${ENV}":                   {label, "", subdomain, ""},
		"_":                            {label, "", subdomain, ""},
		"":                             {"must not be empty", "", "must not be empty", ""},
		"line\nbreak":                  {label, "line-break", subdomain, "line-break"},
		strings.Repeat("a", 63) + "-b": {"must have at most 63 characters", strings.Repeat("a", 63), "", ""},
	} {
		hint, other := ask(want.labelHint), ask(want.subdomainHint)
		if problem, got := diag.LabelName(name); problem != want.label || got != hint {
			t.Errorf("label %q: %q, %q", name, problem, got)
		}
		if problem, got := diag.SubdomainName(name); problem != want.subdomain || got != other {
			t.Errorf("subdomain %q: %q, %q", name, problem, got)
		}
		if want.labelHint != "" && len(validation.IsDNS1123Label(want.labelHint)) > 0 ||
			want.subdomainHint != "" && len(validation.IsDNS1123Subdomain(want.subdomainHint)) > 0 {
			t.Errorf("%q: Kubernetes refuses what is suggested", name)
		}
	}
}

func ask(name string) string {
	if name == "" {
		return ""
	}
	return "did you mean " + name + "?"
}
