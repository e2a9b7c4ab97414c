package references_test

import (
	"bytes"
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	promv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/api/references"
	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
)

var update = flag.Bool("update", false, "rewrite references.yaml")

const header = `# Fields of agentry's custom resources that name other objects. kustomize follows them when it renames the objects.
# Generated from the Go types: run "go test ./generator/api/references -update" instead of editing.
`

// TestReferencesAreOfTheTypes generates the configuration from the Go types.
func TestReferencesAreOfTheTypes(t *testing.T) {
	t.Parallel()
	g := generator{fields: map[target][]field{}}
	for _, kind := range []struct {
		group string
		spec  any
	}{
		{v1alpha1.Group, v1alpha1.GrafanaAgent{}},
		{v1alpha1.Group, v1alpha1.MetricsInstance{}},
		{v1alpha1.Group, v1alpha1.LogsInstance{}},
		{v1alpha1.Group, v1alpha1.PodLogs{}},
		{v1alpha1.Group, v1alpha1.Integration{}},
		{v1alpha1.Group, v1alpha1.MetricsIntegration{}},
		{v1alpha1.Group, v1alpha1.IntegrationMonitor{}},
		{"monitoring.coreos.com", monitoringv1.ServiceMonitor{}},
		{"monitoring.coreos.com", monitoringv1.PodMonitor{}},
		{"monitoring.coreos.com", monitoringv1.Probe{}},
		{"monitoring.coreos.com", promv1alpha1.ScrapeConfig{}},
	} {
		of := reflect.TypeOf(kind.spec)
		spec, _ := of.FieldByName("Spec")
		g.group, g.kind = kind.group, of.Name()
		g.typ("spec", spec.Type)
	}
	if want := []string{"proxyConnectHeader"}; !slices.Equal(g.unsupported, want) {
		t.Errorf("kustomize cannot name keys of maps: the references below %v are not followed, want %v", g.unsupported,
			want)
	}
	want := g.yaml()
	if *update {
		if err := os.WriteFile("references.yaml", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(want), string(references.YAML())); diff != "" {
		t.Errorf("references.yaml is stale (-generated +committed):\n%s", diff)
	}
}

// target is a kind of objects that are named. The versions are those of kustomize's own configuration, which it is
// merged with.
type target struct{ group, version, kind string }

var (
	secret         = target{"", "v1", "Secret"}
	configMap      = target{"", "v1", "ConfigMap"}
	serviceAccount = target{"", "v1", "ServiceAccount"}
	claim          = target{"", "v1", "PersistentVolumeClaim"}
	priorityClass  = target{"scheduling.k8s.io", "v1", "PriorityClass"}
	runtimeClass   = target{"node.k8s.io", "v1", "RuntimeClass"}
	storageClass   = target{"storage.k8s.io", "v1", "StorageClass"}
)

// objects are the types that have the name of an object in their field name.
func objects() map[reflect.Type]target {
	return map[reflect.Type]target{
		reflect.TypeFor[corev1.SecretKeySelector]():     secret,
		reflect.TypeFor[corev1.SecretEnvSource]():       secret,
		reflect.TypeFor[corev1.SecretProjection]():      secret,
		reflect.TypeFor[corev1.SecretReference]():       secret,
		reflect.TypeFor[corev1.LocalObjectReference]():  secret, // of images, and of drivers of volumes
		reflect.TypeFor[corev1.ConfigMapKeySelector]():  configMap,
		reflect.TypeFor[corev1.ConfigMapEnvSource]():    configMap,
		reflect.TypeFor[corev1.ConfigMapProjection]():   configMap,
		reflect.TypeFor[corev1.ConfigMapVolumeSource](): configMap,
	}
}

// names are the fields that are the name of an object, or a list of names.
func names() map[string]target {
	return map[string]target{
		"secretName": secret, "secrets": secret, "configMaps": configMap, "serviceAccountName": serviceAccount,
		"claimName":         claim,
		"priorityClassName": priorityClass, "runtimeClassName": runtimeClass, "storageClassName": storageClass,
	}
}

type field struct{ group, kind, path string }

type generator struct {
	group, kind string
	fields      map[target][]field
	stack       []reflect.Type
	unsupported []string // fields that are maps of references
}

func (g *generator) add(to target, path string) {
	f := field{g.group, g.kind, path}
	if !slices.Contains(g.fields[to], f) {
		g.fields[to] = append(g.fields[to], f)
	}
}

// typ adds the references in a type at a path.
func (g *generator) typ(path string, t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	name := path[strings.LastIndex(path, "/")+1:]
	isName := t.Kind() == reflect.String || t == reflect.TypeFor[v1alpha1.KeyOrName]()
	to, isNamed := names()[name]
	of, isObject := objects()[t]
	switch {
	case isName && isNamed:
		g.add(to, path)
	case isObject:
		g.add(of, path+"/name")
	case t.Kind() == reflect.Map:
		inner := &generator{fields: map[target][]field{}}
		inner.typ("*", t.Elem())
		if len(inner.fields) > 0 && !slices.Contains(g.unsupported, name) {
			g.unsupported = append(g.unsupported, name)
		}
	case t.Kind() == reflect.Struct && !slices.Contains(g.stack, t):
		g.stack = append(g.stack, t)
		for f := range t.Fields() {
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case !f.IsExported() || tag == "-":
			case tag == "":
				g.typ(path, f.Type) // inlined
			default:
				g.typ(path+"/"+tag, f.Type)
			}
		}
		g.stack = g.stack[:len(g.stack)-1]
	}
}

func (g *generator) yaml() []byte {
	b := bytes.NewBufferString(header + "nameReference:\n")
	for _, to := range []target{secret, configMap, serviceAccount, claim, priorityClass, runtimeClass, storageClass} {
		if len(g.fields[to]) == 0 {
			continue
		}
		b.WriteString("- kind: " + to.kind + "\n  version: " + to.version + "\n")
		if to.group != "" {
			b.WriteString("  group: " + to.group + "\n")
		}
		b.WriteString("  fieldSpecs:\n")
		for _, f := range g.fields[to] {
			b.WriteString("  - {group: " + f.group + ", kind: " + f.kind + ", path: " + f.path + "}\n")
		}
	}
	return b.Bytes()
}
