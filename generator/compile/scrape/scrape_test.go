package scrape

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

type noSecrets struct{}

func (noSecrets) Value(string, *corev1.SecretKeySelector) model.Secret {
	return model.Secret{Value: "v", Set: true}
}
func (noSecrets) File(string, monitoringv1.SecretOrConfigMap) string { return "" }
func (noSecrets) Known(monitoringv1.SecretOrConfigMap) []byte        { return nil }
func (noSecrets) IsEmptyText(string) bool                            { return false }

func (noSecrets) LiteralsAllowed() bool { return true }
func (noSecrets) ValueOnly(string, monitoringv1.SecretOrConfigMap) model.Secret {
	return model.Secret{Value: "v", Set: true}
}

func endpoint(t *testing.T, s Settings, spec string) (*model.ScrapeConfig, diag.List) {
	t.Helper()
	m := &monitoringv1.ServiceMonitor{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}}
	if err := json.Unmarshal([]byte(spec), &m.Spec); err != nil {
		t.Fatal(err)
	}
	return NewBuilder(s).ServiceMonitor(m, 0, noSecrets{})
}

func TestHonorTimestamps(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		own      string
		override bool
		want     *bool
	}{
		{"null", false, nil}, {"true", false, &yes}, {"false", false, &no},
		{"null", true, &no}, {"true", true, &no}, {"false", true, &no},
	} {
		j, _ := endpoint(t, Settings{OverrideHonorTimestamps: c.override},
			`{"endpoints": [{"honorTimestamps": `+c.own+`}]}`)
		if diff := cmp.Diff(c.want, j.Switches[model.HonorTimestamps]); diff != "" {
			t.Errorf("%s, override %t:\n%s", c.own, c.override, diff)
		}
	}
}

func TestLimits(t *testing.T) {
	u := func(v uint64) *uint64 { return &v }
	i := func(v int64) *int64 { return &v }
	for name, c := range map[string]struct {
		own      *int64
		enforced *uint64
		want     *int64
	}{
		"none":                   {nil, nil, nil},
		"zero is none":           {i(0), nil, nil},
		"its own":                {i(5), nil, i(5)},
		"enforced":               {nil, u(7), i(7)},
		"the higher, enforced":   {i(5), u(7), i(7)},
		"the lower, enforced":    {i(9), u(7), i(7)},
		"enforced zero lifts it": {i(5), u(0), i(0)},
		"enforced zero alone":    {nil, u(0), i(0)},
		"through floating point": {i(9007199254740993), nil, i(9007199254740992)},
		"as large as it may be":  {nil, u(math.MaxUint64), i(math.MaxInt64)},
	} {
		if diff := cmp.Diff(c.want, limit(c.own, c.enforced)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestPorts holds which rules the forms of a port make: keep, and the endpoint label.
func TestPorts(t *testing.T) {
	for text, want := range map[string][]string{
		`{}`:                               nil,
		`{"port": ""}`:                     nil,
		`{"port": "web"}`:                  {"endpoint_port_name=web", "endpoint=web"},
		`{"port": "web", "targetPort": 1}`: {"endpoint_port_name=web", "endpoint=web"},
		`{"targetPort": "web"}`:            {"pod_container_port_name=web", "endpoint=web"},
		`{"targetPort": "8080"}`:           {"pod_container_port_name=8080", "endpoint=8080"},
		`{"targetPort": 8080}`:             {"pod_container_port_number=8080", "endpoint=8080"},
		`{"targetPort": 0}`:                nil,
		`{"targetPort": ""}`:               nil,
	} {
		j, _ := endpoint(t, Settings{}, `{"endpoints": [`+text+`]}`)
		var got []string
		for _, r := range j.Relabel {
			switch {
			case r.Action == "keep" && r.Shard == 0:
				got = append(got, r.SourceLabels[0][len(metaPrefix):]+"="+r.Regex.Value)
			case r.TargetLabel == "endpoint":
				got = append(got, "endpoint="+r.Replacement.Value)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestNamespaces(t *testing.T) {
	for selector, want := range map[string][]string{
		`{}`:                                 {"ns"},
		`{"any": true}`:                      nil,
		`{"any": true, "matchNames": ["a"]}`: nil,
		`{"matchNames": ["b", "a"]}`:         {"b", "a"},
		`{"matchNames": []}`:                 {"ns"},
	} {
		for _, ignore := range []bool{false, true} {
			j, _ := endpoint(t, Settings{IgnoreNamespaceSelectors: ignore},
				`{"namespaceSelector": `+selector+`, "endpoints": [{}]}`)
			expected := want
			if ignore {
				expected = []string{"ns"}
			}
			if diff := cmp.Diff(expected, j.Kubernetes.Namespaces); diff != "" {
				t.Errorf("%s, ignored %t (-want +got):\n%s", selector, ignore, diff)
			}
		}
	}
}

// TestUnrenderedSelectors holds that nothing in a selector disappears in silence.
func TestUnrenderedSelectors(t *testing.T) {
	for selector, want := range map[string]string{
		`{"matchLabels": {"a": ""}}`: "",
		`{"matchLabels": {"a": "b c"}}`: "spec.selector.matchLabels[a] " +
			"warning",
		`{"matchLabels": {"a": "("}}`: "spec.selector.matchLabels[a] " +
			"error",
		`{"matchExpressions": [{"key": "a", "operator": "In"}]}`:                  "spec.selector.matchExpressions[0].values error",
		`{"matchExpressions": [{"key": "a", "operator": "NotIn", "values": []}]}`: "spec.selector.matchExpressions[0].values error",
		`{"matchExpressions": [{"key": "a", "operator": "in", "values": ["x"]}]}`: "spec.selector.matchExpressions[0].operator error",
		`{"matchExpressions": [{"key": "a", "operator": "In", "values": [""]}]}`:  "",
		`{"matchExpressions": [{"key": "a", "operator": "Exists"}]}`:              "",
	} {
		_, findings := endpoint(t, Settings{}, `{"selector": `+selector+`, "endpoints": [{}]}`)
		got := ""
		for _, f := range findings {
			got += fmt.Sprint(f.Path, " ", f.Severity)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", selector, got, want)
		}
	}
}
