package chart

import (
	"fmt"
	"strings"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	gocmp "github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// object is a rendered object in its own type.
type object interface {
	runtime.Object
	metav1.Object
}

// decode reads manifests strictly: a field that the type does not have is an error, as is a key that stands twice.
func decode(t *testing.T, text string) []object {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme,
		monitoringv1.AddToScheme, certmanagerv1.AddToScheme, gatewayv1.Install,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	var out []object
	for _, doc := range strings.Split("\n"+text, "\n---\n") {
		if strings.TrimSpace(doc) == "" {
			continue
		}
		o, _, err := decoder.Decode([]byte(doc), nil, nil)
		if err != nil {
			t.Errorf("%v in:\n%s", err, doc)
			continue
		}
		out = append(out, o.(object))
	}
	return out
}

func (s subject) objects(t *testing.T, values map[string]any) []object {
	t.Helper()
	return decode(t, manifests(s.render(t, release{}, values)))
}

// of selects the objects of one type.
func of[T object](all []object) []T {
	var out []T
	for _, o := range all {
		if typed, ok := o.(T); ok {
			out = append(out, typed)
		}
	}
	return out
}

func id(o object) string {
	return fmt.Sprintf("%s %s/%s", o.GetObjectKind().GroupVersionKind().Kind, o.GetNamespace(), o.GetName())
}

// pods are the templates of all pods, by the object that makes them.
func pods(all []object) map[string]*corev1.PodTemplateSpec {
	out := map[string]*corev1.PodTemplateSpec{}
	for _, d := range of[*appsv1.Deployment](all) {
		out[id(d)] = &d.Spec.Template
	}
	for _, p := range of[*corev1.Pod](all) {
		out[id(p)] = &corev1.PodTemplateSpec{ObjectMeta: p.ObjectMeta, Spec: p.Spec}
	}
	return out
}

func (s subject) eachCase(t *testing.T, check func(t *testing.T, all []object)) {
	for name, values := range s.cases(t) {
		t.Run(name, func(t *testing.T) { check(t, s.objects(t, values)) })
	}
}

func TestObjectsAreWellFormed(t *testing.T) { eachChart(t, objectsAreWellFormed) }

func objectsAreWellFormed(t *testing.T, s subject) {
	s.eachCase(t, func(t *testing.T, all []object) {
		seen := map[string]bool{}
		for _, o := range all {
			if seen[id(o)] {
				t.Errorf("two objects %s", id(o))
			}
			seen[id(o)] = true
			cluster := strings.HasPrefix(o.GetObjectKind().GroupVersionKind().Kind, "Cluster")
			if cluster != (o.GetNamespace() == "") {
				t.Errorf("%s: namespace %q", id(o), o.GetNamespace())
			}
			for _, l := range []string{"name", "instance", "component", "part-of", "managed-by", "version"} {
				if o.GetLabels()["app.kubernetes.io/"+l] == "" {
					t.Errorf("%s has no label %s", id(o), l)
				}
			}
		}
	})
}

func TestOldestKubernetes(t *testing.T) {
	all := decode(t, manifests(sdAggregator().render(t, release{kubeVersion: "v1.25.0"}, nil)))
	if p := of[*policyv1.PodDisruptionBudget](all)[0].Spec.UnhealthyPodEvictionPolicy; p != nil {
		t.Errorf("unhealthyPodEvictionPolicy %s", *p)
	}
	for _, c := range of[*appsv1.Deployment](all)[0].Spec.Template.Spec.TopologySpreadConstraints {
		if c.MatchLabelKeys != nil {
			t.Errorf("matchLabelKeys %s", c.MatchLabelKeys)
		}
	}
}

func TestPodsAreRestricted(t *testing.T) { eachChart(t, podsAreRestricted) }

func podsAreRestricted(t *testing.T, s subject) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	s.eachCase(t, func(t *testing.T, all []object) {
		for name, pod := range pods(all) {
			result := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec))
			if !result.Allowed {
				t.Errorf("%s: %s", name, result.ForbiddenDetail())
			}
			for _, c := range pod.Spec.Containers {
				if s := c.SecurityContext; s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
					t.Errorf("%s: the root file system can be written", name)
				}
				if c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() ||
					c.Resources.Requests.Cpu().IsZero() {
					t.Errorf("%s: resources %v", name, c.Resources)
				}
			}
			if *pod.Spec.EnableServiceLinks {
				t.Errorf("%s: service links", name)
			}
		}
	})
}

func TestMountsHaveVolumes(t *testing.T) { eachChart(t, mountsHaveVolumes) }

func mountsHaveVolumes(t *testing.T, s subject) {
	s.eachCase(t, func(t *testing.T, all []object) {
		for name, pod := range pods(all) {
			var volumes, mounts []string
			for _, v := range pod.Spec.Volumes {
				volumes = append(volumes, v.Name)
			}
			for _, m := range pod.Spec.Containers[0].VolumeMounts {
				mounts = append(mounts, m.Name)
				if m.SubPath != "" {
					t.Errorf("%s: a mount with a subPath does not follow its Secret", name)
				}
			}
			if diff := gocmp.Diff(volumes, mounts); diff != "" {
				t.Errorf("%s: volumes and mounts differ:\n%s", name, diff)
			}
		}
	})
}

// TestDefaultContainer: who adds a container to the pods may name it.
func TestDefaultContainer(t *testing.T) {
	const annotation = "kubectl.kubernetes.io/default-container"
	eachChart(t, func(t *testing.T, s subject) {
		for values, want := range map[string]string{"": s.name, "podAnnotations: {" + annotation + ": x}": "x"} {
			got := of[*appsv1.Deployment](s.objects(t, s.with(t, values)))[0].Spec.Template.Annotations
			if got[annotation] != want || len(got) != 1 {
				t.Errorf("annotations %v, not %s", got, want)
			}
		}
	})
}

// TestNullIsNothing: Helm drops values that are null, and Kubernetes fields that are.
func TestNullIsNothing(t *testing.T) {
	eachChart(t, func(t *testing.T, s subject) {
		for _, values := range []string{"podAnnotations: null", "commonLabels: null\ncommonAnnotations: null",
			"podLabels: null", "resources: null", "livenessProbe: null\nreadinessProbe: null", "affinity: null",
			"terminationGracePeriodSeconds: null", "securityContext: {runAsUser: null, seccompProfile: null}",
			"extraVolumes: [{name: tmp, emptyDir: null}, {name: s, secret: {secretName: s, items: null}}]"} {
			files := s.render(t, release{isLenient: true}, s.with(t, values))
			if n := len(of[*appsv1.Deployment](decode(t, manifests(files)))); n == 0 {
				t.Errorf("%s: there is no Deployment", values)
			}
		}
	})
}

func TestNames(t *testing.T) {
	long := strings.Repeat("long-release-name-", 3)[:53]
	values := parse(t, "rbac: {clusterWide: true}\nmetrics: {dashboard: {enabled: true}}")
	for _, o := range decode(t, manifests(sdAggregator().render(t, release{name: long, namespace: "monitoring"},
		values))) {
		if _, service := o.(*corev1.Service); service && len(o.GetName()) > 63 {
			t.Errorf("%s: %d characters", id(o), len(o.GetName()))
		}
		for k, v := range o.GetLabels() {
			if len(v) > 63 {
				t.Errorf("%s: label %s has %d characters", id(o), k, len(v))
			}
		}
	}
	for name, want := range map[string]string{"sd-aggregator": "sd-aggregator", "my-sd-aggregator": "my-sd-aggregator",
		"eu": "eu-sd-aggregator"} {
		d := of[*appsv1.Deployment](decode(t,
			manifests(sdAggregator().render(t, release{name: name, namespace: "monitoring"}, nil))))[0]
		if d.Name != want {
			t.Errorf("release %s makes %s, not %s", name, d.Name, want)
		}
	}
}

func TestMemoryLimitIsGos(t *testing.T) {
	for limit, want := range map[string]string{"256Mi": "230MiB", "1Gi": "921MiB", "500M": "", "": ""} {
		values := map[string]any{"resources": map[string]any{"limits": map[string]any{"memory": nil}}}
		if limit != "" {
			values = parse(t, "resources: {limits: {memory: "+limit+"}}")
		}
		var got string
		for _, e := range of[*appsv1.Deployment](sdAggregator().objects(t,
			values))[0].Spec.Template.Spec.Containers[0].Env {
			got = e.Value
		}
		if got != want {
			t.Errorf("a limit of %q makes GOMEMLIMIT %q, not %q", limit, got, want)
		}
	}
	env := of[*appsv1.Deployment](sdAggregator().objects(t,
		parse(t, "extraEnv: [{name: GOMEMLIMIT, value: 1GiB}]")))[0].Spec.Template.Spec.Containers[0].Env
	if len(env) != 1 || env[0].Value != "1GiB" {
		t.Errorf("GOMEMLIMIT cannot be set: %v", env)
	}
}
