package gitsync

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile/integration"
	"github.com/agentry-dev/agentry/generator/compile/scrape"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// TestRenderOptions holds that what a pipeline says arrives at the renderer.
func TestRenderOptions(t *testing.T) {
	tls, auth := &v1alpha1.TLSConfig{CAFile: "ca"}, &monitoringv1.SafeAuthorization{Type: "Bearer"}
	spec := pipeline.Spec{
		Secrets:  pipeline.Secrets{Policy: secretref.Plaintext, RestartOnChange: true},
		Operator: pipeline.Operator{Labels: map[string]string{"a": "b"}, AgentSelector: "a=b"},
		SDAggregator: pipeline.SDAggregator{URL: "https://sd", RefreshInterval: &metav1.Duration{Duration: time.Minute},
			TLSConfig: tls, Authorization: auth},
		Integrations: []integration.Entry{{Name: "nginx"}},
	}
	got, err := RenderOptions(&pipeline.Pipeline{Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	want := scrape.SDAggregator{URL: "https://sd", RefreshInterval: time.Minute, TLS: tls, Authorization: auth}
	if diff := cmp.Diff(want, got.SDAggregator); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got.Secrets != secretref.Plaintext || !got.RestartOnSecretChange || got.OperatorLabels["a"] != "b" ||
		got.AgentSelector.String() != "a=b" || got.Integrations == nil {
		t.Errorf("%+v", got)
	}
	if got, err := RenderOptions(&pipeline.Pipeline{}); err != nil || got.Integrations != nil ||
		got.AgentSelector != nil {
		t.Errorf("of an empty pipeline: %+v, %v", got, err)
	}
	spec.Operator.AgentSelector = "in ("
	if _, err := RenderOptions(&pipeline.Pipeline{Spec: spec}); err == nil ||
		!strings.HasPrefix(err.Error(), "agentSelector: ") {
		t.Errorf("a bad selector: %v", err)
	}
}
