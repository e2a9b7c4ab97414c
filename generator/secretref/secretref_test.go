package secretref

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
)

const objects = `apiVersion: v1
kind: Secret
metadata: {name: s, namespace: m}
data: {k: aHVudGVyMg==, binary: /w==, empty: ""}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: m}
data: {ca: text}
---
apiVersion: v1
kind: Secret
metadata: {name: s-x, namespace: m}
stringData: {k: one, x_k: two}
---
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: other}
stringData: {k: far}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: here, namespace: m}
spec: {selector: {}, endpoints: [{port: web, authorization: {credentials: {name: gone, key: k}}, bearerTokenSecret: {name: "", key: k}}]}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: there, namespace: other}
spec: {selector: {}, endpoints: []}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: beside, namespace: m}
spec: {selector: {}, endpoints: []}
`

func scope(t *testing.T, policy Policy, namespace string) Scope {
	t.Helper()
	r := manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(objects)}, manifest.Options{})
	if len(r.Diags) > 0 {
		t.Fatal(r.Diags)
	}
	set := manifest.NewSet(r)
	id := manifest.ID{Kind: "ServiceMonitor", Namespace: namespace,
		Name: map[string]string{"m": "here", "other": "there"}[namespace]}
	return New(set, Policies{Default: policy}, manifest.ID{Namespace: "m"}).In(set.Get(id))
}

func key(name, key string) *corev1.SecretKeySelector {
	return &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key}
}

func TestValues(t *testing.T) {
	optional := key("gone", "k")
	yes := true
	optional.Optional = &yes
	file := Dir + "/_secrets_m_"
	for name, c := range map[string]struct {
		policy    Policy
		namespace string
		ref       *corev1.SecretKeySelector
		want      model.Secret
		code      string
	}{
		"inlined":                 {Plaintext, "m", key("s", "k"), model.Secret{Value: "hunter2", Set: true}, ""},
		"an empty value":          {Plaintext, "m", key("s", "empty"), model.Secret{Set: true}, ""},
		"in its own namespace":    {Plaintext, "other", key("s", "k"), model.Secret{Value: "far", Set: true}, ""},
		"not text":                {Plaintext, "m", key("s", "binary"), model.Secret{}, "secret-not-text"},
		"a missing key":           {Plaintext, "m", key("s", "gone"), model.Secret{}, "missing-key"},
		"a missing Secret":        {Plaintext, "m", key("gone", "k"), model.Secret{}, "missing-secret"},
		"an optional one":         {Plaintext, "m", optional, model.Secret{}, "optional-missing"},
		"a file":                  {Reference, "m", key("s", "k"), model.Secret{File: file + "s_k"}, ""},
		"a file of the cluster":   {Reference, "m", key("gone", "k.x"), model.Secret{File: file + "gone_k_x"}, ""},
		"a key that is not there": {Reference, "m", key("s", "gone"), model.Secret{}, "missing-key"},
		"another namespace":       {Reference, "other", key("s", "k"), model.Secret{}, "secret-across-namespaces"},
		"no name":                 {Reference, "m", key("", "k"), model.Secret{}, "missing-secret"},
		"no name that could be":   {Reference, "m", key("A_b", "k"), model.Secret{}, "missing-secret"},
		"no key":                  {Reference, "m", key("s2", ""), model.Secret{}, "missing-key"},
		"a file name that is too long": {Reference, "m", key(strings.Repeat("a", 120), strings.Repeat("k", 130)),
			model.Secret{}, "invalid-rendered-object"},
	} {
		s := scope(t, c.policy, c.namespace)
		if diff := cmp.Diff(c.want, s.Value("spec", c.ref)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		codes := ""
		for _, d := range s.Diags() {
			codes += string(d.Code)
			if strings.Contains(d.Problem()+d.Hint, "hunter2") {
				t.Errorf("%s: %v", name, d)
			}
		}
		if codes != c.code {
			t.Errorf("%s: %q, want %q", name, codes, c.code)
		}
	}
}

// TestUnrenderedFieldsCopyOnlyExistingSecrets holds that fields which are never rendered copy only existing Secrets: a
// Secret that is not in Git is not missed, and an empty selector is not a reference.
func TestUnrenderedFieldsCopyOnlyExistingSecrets(t *testing.T) {
	s := scope(t, Plaintext, "m")
	if len(s.Diags()) > 0 || len(s.Data()) > 0 {
		t.Errorf("%v, data %v", s.Diags(), s.Data())
	}
	if o, looked := s.Dependencies()[manifest.ID{Kind: "Secret", Namespace: "m", Name: "gone"}]; !looked || o != nil {
		t.Error("the lookup is not remembered: adding the Secret would change nothing")
	}
}

func TestCollision(t *testing.T) {
	for _, policy := range []Policy{Plaintext, Reference} {
		s := scope(t, policy, "m")
		s.Value("spec.a", key("s-x", "k"))
		s.Value("spec.b", key("s", "k")) // another name: fine
		s.Value("spec.c", key("s-x", "k"))
		if len(s.Diags()) > 0 {
			t.Fatal(s.Diags())
		}
		if Ref.FileName(Ref{"Secret", "m", "s-x", "k", false}) != Ref.FileName(Ref{"Secret", "m", "s.x", "k", false}) {
			t.Fatal("not the operator's spelling")
		}
	}
}

// TestACollisionIsReportedOnce holds which objects get the error about two Secrets with the same file names: the
// object that refers to both, or both objects, once for all keys.
func TestACollisionIsReportedOnce(t *testing.T) {
	here := scope(t, Reference, "m")
	beside := here.Resolver.In(here.set.Get(manifest.ID{Kind: "ServiceMonitor", Namespace: "m", Name: "beside"}))
	here.Value("spec.a", key("s-x", "k"))
	here.Value("spec.b", key("s-x", "x_k"))
	here.Value("spec.c", key("s.x", "k"))
	beside.Value("spec.d", key("s.x", "k"))
	beside.Value("spec.e", key("s.x", "x_k"))
	var got []string
	for _, d := range here.Diags() {
		got = append(got, fmt.Sprintf("%s %v %s", d.Object.Name, d.Related, d.Problem()))
	}
	want := []string{
		"here [] spec.c: Secret m/s.x, key k and Secret m/s-x, key k (used by spec.a) would have the same file in " +
			"the pod, " +
			"_secrets_m_s_x_k",
		"beside [ServiceMonitor/m/here] spec.d: Secret m/s.x, key k and Secret m/s-x, key k (used by " +
			"ServiceMonitor/m/here (in.yaml:24)) would have the same file in the pod, _secrets_m_s_x_k",
		"here [ServiceMonitor/m/beside] spec.a: Secret m/s-x, key k and Secret m/s.x, key k (used by " +
			"ServiceMonitor/m/beside (in.yaml:34)) would have the same file in the pod, _secrets_m_s_x_k",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPods(t *testing.T) {
	s := scope(t, Reference, "m")
	s.Value("spec", key("s", "k"))
	s.Value("spec", key("s", "empty"))
	s.File("spec", monitoringv1.SecretOrConfigMap{
		ConfigMap: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "c"},
			Key: "ca"}})
	env := s.ValueOnly("spec", monitoringv1.SecretOrConfigMap{Secret: key("aws", "id")})
	if env.Env != "AGENTRY_secrets_m_aws_id" {
		t.Errorf("variable %q", env.Env)
	}
	if len(s.Data()) > 0 {
		t.Error("reference copies secrets")
	}
	var got []string
	for _, p := range s.Projections(Metrics) {
		if p.Secret != nil {
			for _, item := range p.Secret.Items {
				got = append(got, p.Secret.Name+" "+item.Key+" "+item.Path)
			}
			continue
		}
		for _, item := range p.ConfigMap.Items {
			got = append(got, p.ConfigMap.Name+" "+item.Key+" "+item.Path)
		}
	}
	want := []string{"c ca _configMaps_m_c_ca", "s empty _secrets_m_s_empty", "s k _secrets_m_s_k"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("projections (-want +got):\n%s", diff)
	}
	if vars := s.Env(Metrics); len(vars) != 1 || vars[0].Name != env.Env ||
		vars[0].ValueFrom.SecretKeyRef.Name != "aws" {
		t.Errorf("env %v", vars)
	}
}

// TestReferencesOfScrapeConfigs holds that no credential of a service discovery is forgotten.
func TestReferencesOfScrapeConfigs(t *testing.T) {
	const text = `apiVersion: monitoring.coreos.com/v1alpha1
kind: ScrapeConfig
metadata: {name: a, namespace: m}
spec:
  basicAuth: {username: {name: s, key: u}}
  proxyUrl: http://p
  proxyConnectHeader: {B: [{name: s, key: b0}, {name: s, key: b1}], A: [{name: s, key: a}]}
  params: {a: [b]}
  nativeHistogramMinBucketFactor: "1.5"
  staticConfigs: [{targets: [a], labels: {b: c}}]
  oauth2: {clientId: {configMap: {name: c, key: id}}, clientSecret: {name: s, key: o, optional: true}, tokenUrl: "http://t", tlsConfig: {ca: {secret: {name: s, key: ca}}}}
  consulSDConfigs: [{server: a}, {server: b, tokenRef: {name: s, key: t}}]
  ovhcloudSDConfigs: [{applicationKey: k, applicationSecret: {name: s, key: as}, consumerKey: {name: "", key: ck}, service: VPS}]
`
	r := manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(text)},
		manifest.Options{Compatibility: manifest.Current})
	if len(r.Diags) > 0 {
		t.Fatal(r.Diags)
	}
	var got []string
	for _, f := range References(r.Objects[0]) {
		got = append(got, fmt.Sprintf("%s: %s %t", f.Path, f.Ref, f.Ref.Optional))
	}
	want := []string{
		"spec.consulSDConfigs[1].tokenRef: Secret m/s, key t false",
		"spec.ovhcloudSDConfigs[0].applicationSecret: Secret m/s, key as false",
		"spec.basicAuth.username: Secret m/s, key u false",
		"spec.oauth2.clientId.configMap: ConfigMap m/c, key id false",
		"spec.oauth2.clientSecret: Secret m/s, key o true",
		"spec.oauth2.tlsConfig.ca.secret: Secret m/s, key ca false",
		"spec.proxyConnectHeader[A][0]: Secret m/s, key a false",
		"spec.proxyConnectHeader[B][0]: Secret m/s, key b0 false",
		"spec.proxyConnectHeader[B][1]: Secret m/s, key b1 false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
