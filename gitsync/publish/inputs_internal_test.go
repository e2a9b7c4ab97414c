package publish

import (
	"testing"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/build/integration"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// TestEverySettingIsInTheDigest holds that commits tell pipelines apart that render
// differently.
func TestEverySettingIsInTheDigest(t *testing.T) {
	seen := map[string]string{}
	for name, change := range map[string]func(*pipeline.Spec){
		"nothing":       func(*pipeline.Spec) {},
		"url":           func(s *pipeline.Spec) { s.SDAggregator.URL = "https://sd" },
		"interval":      func(s *pipeline.Spec) { s.SDAggregator.RefreshInterval = &metav1.Duration{Duration: time.Minute} },
		"tls":           func(s *pipeline.Spec) { s.SDAggregator.TLSConfig = &v1alpha1.TLSConfig{CAFile: "ca"} },
		"authorization": func(s *pipeline.Spec) { s.SDAggregator.Authorization = &monitoringv1.SafeAuthorization{} },
		"restart":       func(s *pipeline.Spec) { s.Secrets.RestartOnChange = true },
		"integrations":  func(s *pipeline.Spec) { s.Integrations = []integration.Entry{{Name: "nginx"}} },
	} {
		var p pipeline.Pipeline
		p.Default()
		change(&p.Spec)
		digest := configDigest(&p.Spec)
		if other, ok := seen[digest]; ok || len(digest) != 64 {
			t.Errorf("%s and %s: %s", name, other, digest)
		}
		seen[digest] = name
	}
}
