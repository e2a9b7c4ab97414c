package fields

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	promv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// roots are the types whose fields all stand in the table.
var roots = []reflect.Type{
	reflect.TypeFor[monitoringv1.ServiceMonitorSpec](),
	reflect.TypeFor[monitoringv1.PodMonitorSpec](),
	reflect.TypeFor[monitoringv1.ProbeSpec](),
	reflect.TypeFor[promv1alpha1.ScrapeConfigSpec](),
	reflect.TypeFor[v1alpha1.PrometheusSettings](),
	reflect.TypeFor[v1alpha1.PrometheusWriter](),
}

// TestEveryFieldHasARule holds that a field that a newer API module brings cannot be overlooked, and that the table
// has none that is gone.
func TestEveryFieldHasARule(t *testing.T) {
	rules := byType()
	seen := map[reflect.Type]bool{}
	var look func(reflect.Type)
	look = func(typ reflect.Type) {
		typ = element(typ)
		if typ.Kind() != reflect.Struct || !ours(typ) || seen[typ] {
			return
		}
		seen[typ] = true
		for _, f := range jsonFields(typ) {
			for _, owner := range f.owners {
				seen[owner] = true
			}
			if !slices.ContainsFunc(f.owners, func(o reflect.Type) bool { return len(rules[o][f.name]) > 0 }) {
				t.Errorf("%s has no rule for %s", typ, f.name)
			}
			look(f.typ)
		}
	}
	for _, root := range roots {
		look(root)
	}
	for typ, names := range rules {
		fields := jsonFields(typ)
		for name := range names {
			if !slices.ContainsFunc(fields, func(f jsonField) bool { return f.name == name }) {
				t.Errorf("%s has no field %s, for which there is a rule", typ, name)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	for text, want := range map[string]map[manifest.Compatibility][]string{
		`{"endpoints": [{}, {"followRedirects": true, "oauth2": {"tlsConfig": {"maxVersion": "TLS13"}}}]}`: {
			manifest.Operator: {"spec.endpoints[1].oauth2 warning field-not-rendered"},
		},
		`{"endpoints": [{"followRedirects": false, "tlsConfig": {"minVersion": "TLS12", "maxVersion": "TLS13"}}]}`: {
			manifest.Operator: {"spec.endpoints[0].followRedirects warning field-not-rendered",
				"spec.endpoints[0].tlsConfig.maxVersion warning field-not-rendered"},
		},
		`{"scrapeProtocols": ["PrometheusProto"], "scrapeNativeHistograms": false, "convertClassicHistogramsToNHCB": true}`: {
			manifest.Operator: {"spec.convertClassicHistogramsToNHCB warning field-not-rendered",
				"spec.scrapeProtocols warning field-not-rendered"},
		},
		`{"scrapeProtocols": [], "scrapeClass": "", "labelLimit": 0, "attachMetadata": {"node": false}}`: {},
		`{"nativeHistogramMinBucketFactor": "1.1", "attachMetadata": {"node": true}}`: {
			manifest.Operator: {"spec.attachMetadata.node warning field-not-rendered",
				"spec.nativeHistogramMinBucketFactor warning field-not-rendered"},
		},
	} {
		m := &monitoringv1.ServiceMonitor{}
		if err := json.Unmarshal([]byte(text), &m.Spec); err != nil {
			t.Fatal(err)
		}
		for _, mode := range []manifest.Compatibility{manifest.Operator, manifest.Current} {
			check(t, mode, m, text, want[mode])
		}
	}
}

func TestCheckWriters(t *testing.T) {
	const text = `{"remoteWrite": [{"url": "http://a", "sigv4": {"externalId": "x"}, "messageVersion": "V1.0", "queueConfig": {"retryOnRateLimit": true}},
		{"url": "http://b", "azureAd": {"sdk": {}, "scope": "s"}, "messageVersion": "V2.0", "queueConfig": {"retryOnRateLimit": false, "maxRetries": 3}}]}`
	m := &v1alpha1.MetricsInstance{}
	if err := json.Unmarshal([]byte(text), &m.Spec); err != nil {
		t.Fatal(err)
	}
	check(t, manifest.Operator, m, text, []string{
		"spec.remoteWrite[0].sigv4.externalId warning field-not-rendered",
		"spec.remoteWrite[1].azureAd warning field-not-rendered",
		"spec.remoteWrite[1].messageVersion warning field-not-rendered",
		"spec.remoteWrite[1].queueConfig.maxRetries warning field-not-rendered",
		"spec.remoteWrite[1].queueConfig.retryOnRateLimit warning field-not-rendered",
	})
	check(t, manifest.Current, m, text,
		[]string{"spec.remoteWrite[1].queueConfig.maxRetries warning field-not-rendered"})
}

func check(t *testing.T, mode manifest.Compatibility, value any, text string, want []string) {
	t.Helper()
	var got []string
	w := walk{path: []byte("spec")}
	if plan := planFor(mode, value); plan != nil {
		w.value(plan, specOf(value))
	}
	for _, f := range w.found {
		got = append(got, fmt.Sprint(f.Path, " ", f.Severity, " ", f.Code))
		if strings.HasSuffix(f.Message, " ") || strings.Contains(f.Message, "%!") {
			t.Errorf("a message is broken: %s", f.Message)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s in mode %s (-want +got):\n%s", text, mode, diff)
	}
}
