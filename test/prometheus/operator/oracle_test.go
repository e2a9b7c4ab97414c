package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	monitoringv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"
	"github.com/prometheus-operator/prometheus-operator/pkg/assets"
	prometheusoperator "github.com/prometheus-operator/prometheus-operator/pkg/operator"
	"github.com/prometheus-operator/prometheus-operator/pkg/prometheus"
	prom "github.com/prometheus/client_golang/prometheus"
	node "gopkg.in/yaml.v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/test/fixtures"
)

const operatorModule = "github.com/prometheus-operator/prometheus-operator"

// oracle is the Prometheus Operator, with what the API server does to objects before the operator sees them.
type oracle struct{ schemas map[string]*schema.Structural }

// verdict is what the operator makes of objects: jobs by the object and their name, and the reason why it leaves an
// object out.
type verdict struct {
	jobs     map[string]map[string]any
	rejected map[string]string
	log      string // why it leaves objects out
}

// why returns the reason for which an object is left out.
func (v *verdict) why(id string) string {
	_, name, _ := strings.Cut(id, "/")
	for line := range strings.Lines(v.log) {
		if strings.HasSuffix(line, " object="+name+"\n") {
			return line
		}
	}
	return v.rejected[id]
}

func newOracle() (*oracle, error) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", operatorModule).Output()
	if err != nil {
		return nil, fmt.Errorf("find the operator's CRDs: %w", err)
	}
	o := &oracle{map[string]*schema.Structural{}}
	for _, name := range []string{"servicemonitors", "podmonitors", "probes", "scrapeconfigs"} {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "example/prometheus-operator-crd",
			"monitoring.coreos.com_"+name+".yaml"))
		if err != nil {
			return nil, err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			return nil, err
		}
		var props apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &props, nil); err != nil {
			return nil, err
		}
		if o.schemas[crd.Spec.Names.Kind], err = schema.NewStructural(&props); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// operatorObjects is the objects of a fixture as the operator has them.
type operatorObjects struct {
	prometheus *monitoringv1.Prometheus
	cluster    []runtime.Object
	namespaces map[string]bool
	monitors   map[string][]runtime.Object // by kind
	rejected   map[string]string
}

func (o *oracle) judge(objects []*node.Node) (v verdict, err error) {
	w := operatorObjects{namespaces: map[string]bool{}, monitors: map[string][]runtime.Object{},
		rejected: map[string]string{}}
	for _, object := range objects {
		if err := o.add(&w, object); err != nil {
			return v, err
		}
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the Prometheus Operator panics: %v", p)
		}
	}()
	return w.generate()
}

func (o *oracle) add(w *operatorObjects, object *node.Node) error {
	text, err := fixtures.Encode([]*node.Node{object})
	if err != nil {
		return err
	}
	var raw map[string]any
	if err := yaml.Unmarshal([]byte(text), &raw); err != nil {
		return err
	}
	kind := fixtures.Kind(object)
	meta, _ := raw["metadata"].(map[string]any)
	id := fmt.Sprintf("%s/%v/%v", kind, meta["namespace"], meta["name"])
	switch kind {
	case "GrafanaAgent":
		w.prometheus, err = prometheusOf(raw)
		return err
	case "Secret":
		return w.hold(raw, &corev1.Secret{})
	case "ConfigMap":
		return w.hold(raw, &corev1.ConfigMap{})
	case "ServiceMonitor":
		o.monitor(w, id, raw, &monitoringv1.ServiceMonitor{})
	case "PodMonitor":
		o.monitor(w, id, raw, &monitoringv1.PodMonitor{})
	case "Probe":
		o.monitor(w, id, raw, &monitoringv1.Probe{})
	case "ScrapeConfig":
		o.monitor(w, id, raw, &monitoringv1alpha1.ScrapeConfig{})
	}
	return nil
}

// prometheusOf returns the Prometheus object with the settings of a GrafanaAgent, for the Prometheus that is in the
// agent.
func prometheusOf(agent map[string]any) (*monitoringv1.Prometheus, error) {
	spec, _ := agent["spec"].(map[string]any)
	metrics, _ := spec["metrics"].(map[string]any)
	p := &monitoringv1.Prometheus{}
	if err := into(map[string]any{"metadata": agent["metadata"], "spec": metrics}, p); err != nil {
		return nil, err
	}
	p.APIVersion, p.Kind = "monitoring.coreos.com/v1", "Prometheus"
	f := &p.Spec.CommonPrometheusFields
	f.Version = "v2.48.1"
	for _, selector := range []**metav1.LabelSelector{&f.ServiceMonitorSelector, &f.ServiceMonitorNamespaceSelector,
		&f.PodMonitorSelector, &f.PodMonitorNamespaceSelector,
		&f.ProbeSelector, &f.ProbeNamespaceSelector, &f.ScrapeConfigSelector, &f.ScrapeConfigNamespaceSelector} {
		*selector = &metav1.LabelSelector{}
	}
	return p, nil
}

// into decodes a value as the API server does.
func into(raw, out any) error {
	text, err := json.Marshal(raw)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}

// hold keeps a Secret or a ConfigMap.
func (w *operatorObjects) hold(raw map[string]any, object runtime.Object) error {
	if err := into(raw, object); err != nil {
		return err
	}
	if s, ok := object.(*corev1.Secret); ok && s.Data == nil {
		s.Data = map[string][]byte{}
		for key, value := range s.StringData {
			s.Data[key] = []byte(value)
		}
	}
	w.cluster = append(w.cluster, object)
	return nil
}

// monitor keeps a monitor with the CRD's defaults and without fields that the CRD does not know. One that cannot be
// decoded is what the API server refuses.
func (o *oracle) monitor(w *operatorObjects, id string, raw map[string]any, object runtime.Object) {
	s := o.schemas[strings.SplitN(id, "/", 2)[0]]
	pruning.Prune(raw, s, true)
	defaulting.Default(raw, s)
	if err := into(raw, object); err != nil {
		w.rejected[id] = err.Error()
		return
	}
	parts := strings.Split(id, "/")
	w.namespaces[parts[1]] = true
	w.monitors[parts[0]] = append(w.monitors[parts[0]], object)
}

// list calls back for the objects of a kind in a namespace.
func (w *operatorObjects) list(kind string) prometheus.ListAllByNamespaceFn {
	return func(namespace string, _ labels.Selector, each cache.AppendFunc) error {
		for _, m := range w.monitors[kind] {
			if m.(metav1.Object).GetNamespace() == namespace {
				each(m)
			}
		}
		return nil
	}
}

// generate selects and checks the monitors, and makes the configuration.
func (w *operatorObjects) generate() (v verdict, err error) {
	var log strings.Builder
	ctx, logger := context.Background(),
		slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	client := fake.NewClientset(w.cluster...)
	store := assets.NewStoreBuilder(client.CoreV1(), client.CoreV1())
	namespaces := cache.NewSharedIndexInformer(&cache.ListWatch{}, &corev1.Namespace{}, 0, cache.Indexers{})
	for name := range w.namespaces {
		if err := namespaces.GetStore().Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return v, err
		}
	}
	selector, err := prometheus.NewResourceSelector(logger, w.prometheus, store, namespaces,
		prometheusoperator.NewMetrics(prom.NewRegistry()),
		prometheusoperator.NewFakeRecorder(1000, w.prometheus))
	if err != nil {
		return v, err
	}
	services, err1 := selector.SelectServiceMonitors(ctx, w.list("ServiceMonitor"))
	pods, err2 := selector.SelectPodMonitors(ctx, w.list("PodMonitor"))
	probes, err3 := selector.SelectProbes(ctx, w.list("Probe"))
	configs, err4 := selector.SelectScrapeConfigs(ctx, w.list("ScrapeConfig"))
	if i := slices.IndexFunc([]error{err1, err2, err3, err4}, func(err error) bool { return err != nil }); i >= 0 {
		return v, []error{err1, err2, err3, err4}[i]
	}
	generator, err := prometheus.NewConfigGenerator(logger, w.prometheus, prometheus.WithEndpointSliceSupport())
	if err != nil {
		return v, err
	}
	text, err := generator.GenerateServerConfiguration(w.prometheus, services.ValidResources(), pods.ValidResources(),
		probes.ValidResources(), configs.ValidResources(), store, nil, nil, nil, nil)
	if err != nil {
		return v, err
	}
	v.jobs, err = jobsOf(text)
	v.rejected, v.log = w.rejected, log.String()
	left(v.rejected, "ServiceMonitor", services, services.ValidResources())
	left(v.rejected, "PodMonitor", pods, pods.ValidResources())
	left(v.rejected, "Probe", probes, probes.ValidResources())
	left(v.rejected, "ScrapeConfig", configs, configs.ValidResources())
	return v, err
}

// left adds the objects that the operator leaves out.
func left[T prometheusoperator.ConfigurationResource](rejected map[string]string, kind string,
	all prometheusoperator.TypedResourcesSelection[T], valid map[string]T) {
	for name := range all {
		if _, ok := valid[name]; !ok {
			rejected[kind+"/"+name] = "invalid configuration"
		}
	}
}
