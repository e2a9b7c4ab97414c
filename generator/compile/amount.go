package compile

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	promv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"
	"go.yaml.in/yaml/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
)

// Limits of the configuration that is built, in bytes of text, by estimate and before it is built. A few kilobytes can
// become gigabytes: each endpoint repeats the labels of its monitor, and each instance repeats the endpoints.
const (
	maxObjectBytes = 16 << 20  // of one object, in one instance
	maxUnitBytes   = 128 << 20 // of a GrafanaAgent with all that it selects
)

// Estimates of text, in bytes: how both runtimes print it, without indentation.
const (
	bytesPerJob  = 3 << 10 // a job with the rules that all jobs have
	bytesPerItem = 200     // an item of a list or a mapping, which often becomes a rule
	bytesPerChar = 2       // a rule has the name of a label twice
)

// amount is the configuration that an object becomes.
type amount struct {
	own      int64 // what is printed once
	parts    int   // jobs or targets
	repeated int64 // what each part repeats
	// what and path are the name of the parts and the field that lists them.
	what, path string
	jobs       int
}

func (a amount) bytes() int64 { return a.own + int64(a.parts)*a.repeated }

// amountOf estimates the configuration that an object becomes in one instance.
func amountOf(o *manifest.Object) amount {
	switch v := o.Value().(type) {
	case *monitoringv1.ServiceMonitor:
		return amountOfJobs(&v.Spec, &v.Spec.Endpoints, "spec.endpoints")
	case *monitoringv1.PodMonitor:
		return amountOfJobs(&v.Spec, &v.Spec.PodMetricsEndpoints, "spec.podMetricsEndpoints")
	case *monitoringv1.Probe:
		a := amount{own: bytesPerJob + weight(&v.Spec), jobs: 1}
		if static := v.Spec.Targets.StaticConfig; static != nil {
			a.targets(len(static.Targets), static.Labels, "spec.targets.staticConfig.static")
		}
		return a
	case *promv1alpha1.ScrapeConfig:
		a := amount{own: bytesPerJob + weight(&v.Spec), jobs: 1}
		for i, static := range v.Spec.StaticConfigs {
			a.targets(len(static.Targets), static.Labels, fmt.Sprintf("spec.staticConfigs[%d].targets", i))
		}
		return a
	case *v1alpha1.IntegrationMonitor:
		return amount{own: bytesPerJob + weight(&v.Spec), jobs: 1}
	case *v1alpha1.PodLogs:
		return amount{own: bytesPerJob + weight(&v.Spec), jobs: 1}
	case *v1alpha1.MetricsInstance:
		return amount{own: weight(&v.Spec)}
	case *v1alpha1.LogsInstance:
		return amount{own: weight(&v.Spec)}
	case *v1alpha1.Integration:
		return amountOfConfig(&v.Spec.Config)
	case *v1alpha1.MetricsIntegration:
		return amountOfConfig(v.Spec.Config)
	}
	return amount{}
}

// amountOfJobs is for a monitor with a job for each endpoint, each of which repeats what the monitor has beside them.
func amountOfJobs[Spec, Endpoint any](spec *Spec, endpoints *[]Endpoint, path string) amount {
	own, n := weight(endpoints), len(*endpoints)
	return amount{own: own, parts: n, repeated: bytesPerJob + weight(spec) - own, what: "endpoints", path: path,
		jobs: n}
}

// targets adds a list of targets, each of which repeats the labels of all.
func (a *amount) targets(n int, labels any, path string) {
	repeated := weight(labels)
	if more := int64(n) * repeated; more > int64(a.parts)*a.repeated {
		a.own += int64(a.parts) * a.repeated
		a.parts, a.repeated, a.what, a.path = n, repeated, "targets", path
	} else {
		a.own += more
	}
}

// amountOfConfig is for an integration, whose targets repeat the labels of all.
func amountOfConfig(config *apiextensionsv1.JSON) (a amount) {
	if config == nil {
		return a
	}
	size := int64(len(config.Raw))
	a.own = bytesPerJob + bytesPerChar*size
	if targets := int64(bytes.Count(config.Raw, []byte(":"))); targets*size < maxObjectBytes {
		a.own += targets * bytesPerItem
		return a // most are small, and need not be decoded
	}
	value, _ := decodeConfig(config)
	fields, _ := value.(map[string]any)
	a.own += weight(&value)
	for _, name := range slices.Sorted(maps.Keys(fields)) { // of equal lists the first one is named
		if list, is := fields[name].([]any); is {
			a.targets(len(list), fields["extra_labels"], "spec.config."+name)
		}
	}
	return a
}

// amountOfTargets estimates what the static targets of a hand-written job become, each of which repeats the labels of
// its list.
func amountOfTargets(job *yaml.Node) int64 {
	var a amount
	if lists := (&model.Raw{Job: job}).Child("static_configs"); lists != nil {
		for _, list := range lists.Content {
			one := model.Raw{Job: list}
			if targets, labels := one.Child("targets"), one.Child("labels"); targets != nil && labels != nil {
				a.targets(len(targets.Content), labels, "")
			}
		}
	}
	return a.bytes()
}

// ofAgent counts the bytes of a GrafanaAgent's settings that each of its jobs and instances repeats.
type ofAgent struct{ job, instance int64 }

func newOfAgent(spec *v1alpha1.GrafanaAgentSpec) (a ofAgent) {
	m := &spec.Metrics
	for i := range m.ScrapeClasses {
		a.job = max(a.job, weight(&m.ScrapeClasses[i]))
	}
	a.job += weight(&m.EnforcedNamespaceLabel) + weight(&m.PodTargetLabels) +
		weight(&spec.Logs.EnforcedNamespaceLabel) + weight(&spec.APIServerConfig)
	a.instance = weight(&m.RemoteWrite) + weight(&m.ExternalLabels) + weight(&spec.Logs.Clients)
	return a
}

// Bytes estimates the text of the configurations of a hierarchy. An object that becomes too much is not rendered, and
// does not count.
func Bytes(h *hierarchy.Hierarchy) (size int64) {
	agent := newOfAgent(h.Spec())
	for o := range h.Objects {
		if a := amountOf(o); a.bytes() <= maxObjectBytes {
			size += agent.bytes(o, a)
		}
	}
	return size
}

// bytes estimates what an object becomes in one instance, with what it repeats of the GrafanaAgent.
func (a ofAgent) bytes(o *manifest.Object, of amount) int64 {
	size := of.bytes() + int64(of.jobs)*a.job
	if o.Kind == v1alpha1.MetricsInstanceKind || o.Kind == v1alpha1.LogsInstanceKind {
		size += a.instance
	}
	return size
}

// refuseTooMuch leaves out the objects that become too much configuration. It returns false if the others are too much
// for one GrafanaAgent.
func (b *builder) refuseTooMuch() bool {
	agent, size, left := newOfAgent(b.spec), int64(0), map[manifest.ID]bool{}
	maps.Copy(left, b.left)
	b.left = left
	for o := range b.hierarchy.Objects {
		if left[o.ID] {
			continue
		}
		a := amountOf(o)
		if a.bytes() > maxObjectBytes {
			b.report.about(o, a.tooMuch())
			left[o.ID] = true
			continue
		}
		size += agent.bytes(o, a)
	}
	if size > maxUnitBytes {
		b.report.about(b.hierarchy.Agent, b.tooMuch(size))
		return false
	}
	return true
}

// tooMuch returns the error for an object.
func (a amount) tooMuch() diag.Diagnostic {
	f := diag.TooMuchConfiguration.At(cmp.Or(a.path, "spec"),
		"becomes about %d MiB of configuration, more than the %d MiB that one object may",
		mebibytes(a.bytes()), maxObjectBytes>>20).WithHint("make several objects of it")
	if a.own <= maxObjectBytes/2 {
		f.Message += fmt.Sprintf(": each of %d %s repeats %d KiB", a.parts, a.what, a.repeated>>10)
		f.Hint = "make several objects of it, with fewer " + a.what +
			" each; or shorten what they repeat, such as labels and selectors"
	}
	return f
}

// mebibytes rounds up.
func mebibytes(size int64) int64 { return (size + 1<<20 - 1) >> 20 }

// largestShown is the number of objects that an error about a whole unit names.
const largestShown = 5

// tooMuch returns the error for a GrafanaAgent with all that it selects. It names the largest objects.
func (b *builder) tooMuch(size int64) diag.Diagnostic {
	agent, sizes := newOfAgent(b.spec), map[*manifest.Object]int64{}
	for o := range b.hierarchy.Objects {
		if !b.left[o.ID] {
			sizes[o] += agent.bytes(o, amountOf(o))
		}
	}
	largest := slices.SortedFunc(maps.Keys(sizes), func(a, b *manifest.Object) int {
		return cmp.Or(cmp.Compare(sizes[b], sizes[a]), a.ID.Compare(b.ID))
	})
	f := diag.Diagnostic{Severity: diag.Error, Code: diag.TooMuchConfiguration,
		Hint: "let a second GrafanaAgent select some of the instances, or let fewer instances select the same objects"}
	var names []string
	for _, o := range largest[:min(len(largest), largestShown)] {
		names = append(names, fmt.Sprintf("%s (%d MiB)", o.Ref(), mebibytes(sizes[o])))
		f.Related = append(f.Related, o.Ref())
	}
	f.Message = fmt.Sprintf(
		"becomes about %d MiB of configuration with all that it selects, more than the %d MiB that one GrafanaAgent "+
			"may; the largest parts are %s",
		mebibytes(size), maxUnitBytes>>20, strings.Join(names, ", "))
	return f
}

// weight estimates the text that a value becomes.
func weight(pointer any) int64 { return weigh(reflect.ValueOf(pointer)) }

func weigh(v reflect.Value) (size int64) {
	switch v.Kind() {
	case reflect.String:
		return bytesPerChar * int64(v.Len())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return weigh(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			size += weigh(v.Field(i))
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return bytesPerChar * int64(v.Len())
		}
		for i := range v.Len() {
			size += bytesPerItem + weigh(v.Index(i))
		}
	case reflect.Map:
		if texts, is := v.Interface().(map[string]string); is { // most are, and this allocates nothing
			for name, value := range texts {
				size += bytesPerItem + bytesPerChar*int64(len(name)+len(value))
			}
			return size
		}
		for each := v.MapRange(); each.Next(); {
			size += bytesPerItem + weigh(each.Key()) + weigh(each.Value())
		}
	}
	return size
}
