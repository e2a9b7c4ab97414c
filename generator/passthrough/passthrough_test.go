package passthrough_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/passthrough"
)

func TestKinds(t *testing.T) {
	for text, want := range map[string]string{
		"ServiceAccount":                      "ServiceAccount.",
		"Service ConfigMap Service":           "ConfigMap.,Service.",
		"Ingress.networking.k8s.io Ingress":   "Ingress.networking.k8s.io",
		"Certificate.cert-manager.io":         "Certificate.cert-manager.io",
		"Service.serving.knative.dev":         "Service.serving.knative.dev",
		"PrometheusRule":                      "PrometheusRule.monitoring.coreos.com",
		"Service Service.serving.knative.dev": "error at 1: Service is named with two groups",
		"ServiceAccount *":                    `error at 1: "*": patterns are not allowed`,
		"*.cert-manager.io":                   `error at 0: "*.cert-manager.io": patterns`,
		"serviceaccounts":                     `error at 0: "serviceaccounts" is not the name of a kind`,
		"Certificate.":                        `error at 0: "Certificate." is not the name of a kind`,
		"Certificate.cert-manager.io/v1":      `error at 0: "Certificate.cert-manager.io/v1" is not the name`,
		"Certificate":                         "error at 0: Certificate is not a kind whose group is known",
		"ServiceAcount": "error at 0: ServiceAcount is not a kind whose group is known; " +
			"did you mean ServiceAccount?",
		"Namespace": "error at 0: Namespace cannot be passed through: pruning it deletes everything",
		"PersistentVolumeClaim": "error at 0: PersistentVolumeClaim cannot be passed through: pruning " +
			"it deletes its data",
		"CustomResourceDefinition": "error at 0: CustomResourceDefinition cannot be passed through: pruning",
		"GrafanaAgent": "error at 0: GrafanaAgent cannot be passed through: agentry " +
			"renders from it",
		"Integration.monitoring.grafana.com": "error at 0: Integration.monitoring.grafana.com cannot be passed " +
			"through",
		"ServiceMonitor": "error at 0: ServiceMonitor cannot be passed through: agentry " +
			"renders",
		"Probe.monitoring.coreos.com": "error at 0: Probe.monitoring.coreos.com cannot be passed through",
		"HelmRelease.helm.toolkit.fluxcd.io": "error at 0: HelmRelease.helm.toolkit.fluxcd.io cannot be passed " +
			"through: Flux acts",
		"Application.argoproj.io": "error at 0: Application.argoproj.io cannot be passed through: " +
			"Argo CD acts",
		"APIService.apiregistration.k8s.io": "error at 0: APIService.apiregistration.k8s.io cannot be passed " +
			"through",
		strings.Repeat("Secret ", 101) + "Secret": "error at 100: more than 100 kinds",
	} {
		kinds, i, hint, err := passthrough.Parse(strings.Fields(text))
		got := string(kinds)
		if err != nil {
			got = "error at " + strings.Repeat("1", min(i, 1)) + strings.Repeat("0", 1-min(i, 1)) + ": " + err.Error() +
				"; " + hint
			if i == passthrough.MaxKinds {
				got = strings.Replace(got, "at 1", "at 100", 1)
			}
		}
		if err == nil && got != want || err != nil && !strings.HasPrefix(got, want) {
			t.Errorf("%.60s: %s, want %s", text, got, want)
		}
	}
}

func TestHas(t *testing.T) {
	kinds, _, _, _ := passthrough.Parse([]string{"ServiceAccount", "Ingress", "Certificate.cert-manager.io"})
	for object, want := range map[string]bool{
		"v1 ServiceAccount": true, "v1 Service": false, "networking.k8s.io/v1 Ingress": true,
		"extensions/v1beta1 Ingress":           false,
		"cert-manager.io/v1alpha2 Certificate": true, "example.com/v1 ServiceAccount": false, " Certificate": false,
	} {
		apiVersion, kind, _ := strings.Cut(object, " ")
		if got := kinds.Has(apiVersion, kind); got != want {
			t.Errorf("%s: %t", object, got)
		}
	}
	if passthrough.Kinds("").Has("", "") || passthrough.Kinds("").HasKind("") {
		t.Error("no kinds have one")
	}
	if names := strings.Join(kinds.Names(), " "); names != "Certificate.cert-manager.io Ingress ServiceAccount" {
		t.Error(names)
	}
}

// FuzzFileName: different names have different files, in one folder of any file system and of any kustomization.
func FuzzFileName(f *testing.F) {
	f.Add("system:agent", "system-agent")
	f.Add("Agent", "agent")
	f.Add(strings.Repeat("a", 253), strings.Repeat("a", 252)+"b")
	f.Add("a\nb", "..")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := passthrough.FileName("ClusterRole", a), passthrough.FileName("ClusterRole", b)
		if a != b && strings.EqualFold(x, y) {
			t.Errorf("%q and %q are both %s", a, b, x)
		}
		if strings.Trim(x, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" || len(x) > 200 ||
			!strings.HasSuffix(x, ".clusterrole.yaml") {
			t.Errorf("%q: %s", a, x)
		}
	})
}

func TestUnits(t *testing.T) {
	for name, want := range map[string]bool{
		passthrough.Unit("shop"): true, passthrough.Unit(""): true, "shop/agent": false, "_passthrough": false,
		"../_passthrough":     false,
		"_other/_passthrough": false, "a/b/_passthrough": false, "shop/_passthrough/x": false,
	} {
		if got := passthrough.IsUnit(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestFields(t *testing.T) {
	for path, want := range map[string]string{
		"spec.ports[0]": "port", "": "metadata", "spec": "clusterIP",
		"spec.sessionAffinityConfig.clientIP": "timeoutSeconds",
		"spec.ports":                          "", "spec.nothing": "", "spec.selector.app": "", "spec.type[0]": "",
	} {
		fields := passthrough.Fields(passthrough.New("v1", "Service"), path)
		if want == "" && len(fields) > 0 || want != "" && !slices.Contains(fields, want) {
			t.Errorf("%s: %v, want %s", path, fields, want)
		}
	}
}
