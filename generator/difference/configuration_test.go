package difference

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// compared compares two versions of the Secret of a configuration.
func compared(before, after Version) *Difference {
	id := manifest.ID{Kind: "Secret", Namespace: "m", Name: "agent-config"}
	return Compare([]Pair{{Unit: "m/agent", ID: id, Before: before, After: after}})
}

// TestComponentsShowNoSecrets: a component can be an integration, or have an HTTP client like a job.
func TestComponentsShowNoSecrets(t *testing.T) {
	of := func(secret string) Version {
		text := "prometheus.exporter.mysql \"m\" {\n\tdata_source_name = \"u:" + secret + "@(db:3306)/\"\n}\n\n" +
			"discovery.http \"m\" {\n\turl = \"http://sd\"\n\n\tbasic_auth {\n\t\tpassword = \"" + secret +
			"\"\n\t}\n\n\ttls_config {\n\t\tkey_pem = \"" + secret + "\"\n\t}\n}\n"
		return Version{Text: []byte(secretOf(alloyKey, text))}
	}
	got := compared(of("hush1"), of("hush2")).Text()
	if strings.Contains(got, "hush") || strings.Count(got, placeholder) < 3 ||
		!strings.Contains(got, "component discovery.http.m") {
		t.Error(got)
	}
}

// TestAnUnreadableConfigurationIsCompared: a Secret that was edited by hand and no longer has a configuration is
// compared like any other.
func TestAnUnreadableConfigurationIsCompared(t *testing.T) {
	of := func(value string) Version {
		return Version{Text: []byte(strings.Replace(head, "stringData:", "data:", 1) + "  agent.yml: " + value + "\n")}
	}
	if got := compared(of("YQ=="), of("Yg==")).Text(); !strings.Contains(got, "data.agent.yml: "+placeholder) {
		t.Error(got)
	}
}

// TestWhatValuesLackIsTold: a configuration that is printed differently counts as changed, even if its values are
// equal.
func TestWhatValuesLackIsTold(t *testing.T) {
	of := func(text string) Version {
		return Version{
			Text: []byte(secretOf(agentKey, text)), Value: &corev1.Secret{}, ConfigKey: agentKey,
			Values: func() map[string]any { return map[string]any{"metrics": "m"} },
		}
	}
	if got := compared(of("a"), of("b")).Text(); !strings.Contains(got, "~ configuration agent.yml") {
		t.Error(got)
	}
	if got := compared(of("a"), of("a")); !got.IsEmpty() {
		t.Error(got.Text())
	}
}
