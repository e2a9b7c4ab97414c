package scrape

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/agent"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// fileSecrets mounts every reference at a name that says what it is; optional ones are
// absent.
type fileSecrets struct{}

func (fileSecrets) Value(path string, _ *corev1.SecretKeySelector) model.Secret {
	panic("the content of " + path + " was asked for")
}

func (fileSecrets) File(_ string, ref monitoringv1.SecretOrConfigMap) string {
	switch {
	case IsOptional(ref):
		return ""
	case ref.Secret != nil:
		return "/secret/" + ref.Secret.Name + "/" + ref.Secret.Key
	case ref.ConfigMap != nil:
		return "/configmap/" + ref.ConfigMap.Name + "/" + ref.ConfigMap.Key
	}
	return ""
}

func (s fileSecrets) Known(monitoringv1.SecretOrConfigMap) []byte { return nil }

func (s fileSecrets) IsEmptyText(string) bool { return false }

func (s fileSecrets) LiteralsAllowed() bool { return false }

func (s fileSecrets) ValueOnly(_ string, ref monitoringv1.SecretOrConfigMap) model.Secret {
	return model.Secret{Env: strings.ToUpper(strings.NewReplacer("/", "_", "-", "_").Replace(s.File("", ref)))}
}

// TestIntegrationMonitorJobs compares the jobs in testdata: "monitor" is the specification
// of team/databases, "settings" what its GrafanaAgent says.
func TestIntegrationMonitorJobs(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := txtar.Format(archive)
			in := map[string][]byte{}
			for _, f := range archive.Files {
				in[f.Name] = f.Data
			}
			job, findings := integrationJob(t, in["settings"], in["monitor"])
			written := map[string]string{"job": encodeJob(job), "findings": printed(findings)}
			for i, f := range archive.Files {
				if text, ok := written[f.Name]; ok {
					archive.Files[i].Data = []byte(text)
				}
			}
			got := txtar.Format(archive)
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("(-want +got), run with -update to accept:\n%s", diff)
			}
		})
	}
}

func integrationJob(t *testing.T, settings, spec []byte) (*model.ScrapeConfig, diag.List) {
	t.Helper()
	m := &v1alpha1.IntegrationMonitor{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "databases"}}
	if err := yaml.UnmarshalStrict(spec, &m.Spec); err != nil {
		t.Fatal(err)
	}
	s := Settings{Agent: diag.Object{Namespace: "monitoring", Name: "agent"}}
	if err := yaml.UnmarshalStrict(settings, &s); err != nil {
		t.Fatal(err)
	}
	s.SD, _ = SDAggregator{}.HTTPSD(fileSecrets{})
	return NewBuilder(s).IntegrationMonitor(m, "monitoring/primary", fileSecrets{})
}

func encodeJob(job *model.ScrapeConfig) string {
	text := agent.Print(
		&model.Config{Metrics: &model.Metrics{
			Configs: []model.Instance{{ScrapeConfigs: []*model.ScrapeConfig{job}}}}}).String()
	_, text, _ = strings.Cut(text, "scrape_configs:\n")
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimPrefix(line, "        "))
	}
	return out.String()
}

func printed(findings diag.List) string {
	var out strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&out, "%s[%s]: %s: %s\n", f.Severity, f.Code, f.Path, f.Message)
	}
	return out.String()
}

// TestOneRequestForAllMonitors holds that Prometheus sees equal discovery settings for all
// IntegrationMonitors of a GrafanaAgent, whatever they say.
func TestOneRequestForAllMonitors(t *testing.T) {
	sd, _ := SDAggregator{URL: "https://sd.example.com/a/"}.HTTPSD(fileSecrets{})
	b := NewBuilder(Settings{Agent: diag.Object{Namespace: "monitoring", Name: "agent"}, SD: sd})
	blocks := map[string]int{}
	for i, spec := range []v1alpha1.IntegrationMonitorSpec{
		{},
		{Selector: metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}, Interval: "5s", Scheme: "https",
			HonorLabels: true},
		{NamespaceSelector: monitoringv1.NamespaceSelector{Any: true}, TLSConfig: &v1alpha1.TLSConfig{CAFile: "ca"},
			ProxyURL: "http://proxy"},
	} {
		m := &v1alpha1.IntegrationMonitor{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprint("ns", i), Name: "m"},
			Spec: spec}
		for _, instance := range []string{"monitoring/a", "monitoring/b"} {
			job, _ := b.IntegrationMonitor(m, instance, fileSecrets{})
			text := encodeJob(job)
			_, text, _ = strings.Cut(text, "http_sd_configs:")
			text, _, _ = strings.Cut(text, "relabel_configs:")
			blocks[text]++
		}
	}
	want := map[string]int{
		"\n    - url: " +
			"https://sd.example.com/a/operator/api/v1/metrics/integrations/sd?grafanaagent=monitoring/agent\n" +
			"      refresh_interval: 30s\n      follow_redirects: false\n  ": 6}
	if diff := cmp.Diff(want, blocks); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestTheAggregatorReadsTheOwner holds that the parameter means to a server what was meant.
func TestTheAggregatorReadsTheOwner(t *testing.T) {
	sd, _ := SDAggregator{}.HTTPSD(fileSecrets{})
	b := NewBuilder(Settings{Agent: diag.Object{Namespace: "a-b", Name: "c.d-1"}, SD: sd})
	job, _ := b.IntegrationMonitor(&v1alpha1.IntegrationMonitor{}, "i", fileSecrets{})
	u, err := url.Parse(job.HTTP.URL)
	if err != nil || u.String() != job.HTTP.URL {
		t.Fatalf("%s is %v, %v", job.HTTP.URL, u, err)
	}
	if diff := cmp.Diff(url.Values{"grafanaagent": {"a-b/c.d-1"}}, u.Query()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSDAggregatorCredentials(t *testing.T) {
	name := "sd.example.com"
	a := SDAggregator{
		RefreshInterval: 90 * time.Second,
		TLS: &v1alpha1.TLSConfig{SafeTLSConfig: v1alpha1.SafeTLSConfig{
			CA: monitoringv1.SecretOrConfigMap{
				ConfigMap: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "ca"},
					Key: "ca.crt"}}, ServerName: &name,
		}},
		Authorization: &monitoringv1.SafeAuthorization{
			Credentials: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "sd"},
				Key: "token"}},
	}
	got, findings := a.HTTPSD(fileSecrets{})
	want := model.HTTPSD{
		URL:             "http://sd-aggregator.monitoring.svc:8080/operator/api/v1/metrics/integrations/sd",
		RefreshInterval: "1m30s",
		HTTPClient: model.HTTPClient{
			FollowRedirects: new(bool),
			HTTPAuth: model.HTTPAuth{
				Authorization: &model.Authorization{Credentials: model.Secret{File: "/secret/sd/token"}}},
			TLS: &model.TLS{CAFile: model.Present("/configmap/ca/ca.crt"),
				ServerName: model.Present("sd.example.com")},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" || len(findings) > 0 {
		t.Errorf("%v\n-want +got:\n%s", findings, diff)
	}
	optional := true
	a.Authorization.Credentials.Optional = &optional
	if _, findings := a.HTTPSD(fileSecrets{}); len(findings) != 1 ||
		findings[0].Path != "the pipeline's spec.sdAggregator.authorization.credentials" {
		t.Errorf("credentials that are absent: %v", findings)
	}
}

func TestCheckSDURL(t *testing.T) {
	for raw, want := range map[string]string{
		DefaultSDURL: "", "https://sd.example.com/prefix/": "", "http://[::1]:8080": "",
		"": "must begin with", "sd:8080": "must begin with", "//sd": "must begin with", "ftp://sd": "must begin with",
		"http://:8080": "must begin with",
		"http://u@sd":  "user name", "http://sd?a=b": "query", "http://sd?": "query", "http://sd#a": "fragment",
		"http://[sd": "is not a URL",
		"http://sd/operator/api/v1/metrics/integrations/sd/": "must not have the path",
	} {
		if err := CheckSDURL(raw); want == "" && err != nil ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", raw, err, want)
		}
	}
}

func TestSizes(t *testing.T) {
	for size, want := range map[string]bool{
		"0": true, "0B": true, "512MB": true, "1.5KiB": true, ".5GB": true, "7EiB": true, "1B": true,
		"": false, "10": false, "8EB": false, "8EiB": false, "10Mb": false, "1iB": false, "x10MB": false,
		"1e3MB": false, "-1MB": false, "1 MB": false,
	} {
		if got := ValidSize(size); got != want {
			t.Errorf("%q: %t", size, got)
		}
	}
}
