package main

import (
	"bytes"
	"encoding"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/grafana/loki/clients/pkg/logentry/metric"
	"github.com/grafana/loki/clients/pkg/logentry/stages"
	"github.com/grafana/loki/clients/pkg/promtail/scrapeconfig"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery"
	"gopkg.in/yaml.v2"

	// As in the agent's main: service discoveries register themselves.
	_ "github.com/grafana/loki/clients/pkg/promtail/discovery/consulagent"
	_ "github.com/prometheus/prometheus/discovery/install"
)

// object is a type of a mapping, as generator/runtimes/agent/handwritten has it.
type object struct {
	// Inline are types whose fields are this type's, too.
	Inline []string `json:"inline,omitempty"`
	// Fields are types by the names of fields.
	Fields map[string]string `json:"fields"`
}

// writeScrapeConfigs writes the types of scrape configurations, with a type on each line.
func writeScrapeConfigs(w io.Writer) error {
	// What the agent decodes has a field for each service discovery besides those of its type.
	metrics, err := discovery.MarshalYAMLWithInlineConfigs(&config.ScrapeConfig{})
	if err != nil {
		return err
	}
	r := typeReflector{tag: "yaml", scalar: yamlScalar, types: map[string]object{}}
	r.types["metrics"] = r.object(reflect.TypeOf(metrics).Elem())
	r.types["logs"] = r.object(reflect.TypeFor[scrapeconfig.Config]())
	s := typeReflector{tag: "mapstructure", scalar: stageScalar, types: r.types}
	for name, config := range stageConfigs() {
		r.types[name] = s.object(reflect.TypeOf(config))
	}
	if unknown := append(r.unknown, s.unknown...); len(unknown) > 0 {
		return fmt.Errorf("these types decode themselves: %s", strings.Join(unknown, ", "))
	}
	var out bytes.Buffer
	out.WriteString("{\n  \"agent\": \"v0.44.8\",\n  \"types\": {")
	for i, name := range slices.Sorted(maps.Keys(r.types)) {
		line, err := compact(r.types[name])
		if err != nil {
			return err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, "\n    %q: %s", name, line)
	}
	out.WriteString("\n  }\n}\n")
	_, err = w.Write(out.Bytes())
	return err
}

// stageConfigs are the types of stages that are structures.
func stageConfigs() map[string]any {
	return map[string]any{
		"stage cri":             stages.CriConfig{},
		"stage drop":            stages.DropConfig{},
		"stage eventlogmessage": stages.EventLogMessageConfig{},
		"stage geoip":           stages.GeoIPConfig{},
		"stage json":            stages.JSONConfig{},
		"stage limit":           stages.LimitConfig{},
		"stage logfmt":          stages.LogfmtConfig{},
		"stage match":           stages.MatcherConfig{},
		"stage multiline":       stages.MultilineConfig{},
		"stage output":          stages.OutputConfig{},
		"stage pack":            stages.PackConfig{},
		"stage regex":           stages.RegexConfig{},
		"stage replace":         stages.ReplaceConfig{},
		"stage sampling":        stages.SamplingConfig{},
		"stage template":        stages.TemplateConfig{},
		"stage tenant":          stages.TenantConfig{},
		"stage timestamp":       stages.TimestampConfig{},
		"metric":                stages.MetricConfig{},
		"metric counter":        metric.CounterConfig{},
		"metric gauge":          metric.GaugeConfig{},
		"metric histogram":      metric.HistogramConfig{},
	}
}

// typeReflector collects the types that a type refers to.
type typeReflector struct {
	tag    string
	scalar func(t reflect.Type) string // the name of a type that is not described by its fields
	types  map[string]object
	// unknown are types that decode themselves, which reflection does not see.
	unknown []string
}

func (r *typeReflector) object(t reflect.Type) object {
	o := object{Fields: map[string]string{}}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get(r.tag), ",")
		switch {
		case !f.IsExported() || name == "-":
		case strings.Contains(options, "inline"):
			o.Inline = append(o.Inline, r.name(f.Type))
		case name == "":
			o.Fields[strings.ToLower(f.Name)] = r.name(f.Type)
		default:
			o.Fields[name] = r.name(f.Type)
		}
	}
	return o
}

// name names a type, and describes it unless that is done.
func (r *typeReflector) name(t reflect.Type) string {
	if s := r.scalar(t); s != "" {
		return s
	}
	switch t.Kind() {
	case reflect.Pointer:
		return r.name(t.Elem())
	case reflect.Slice:
		return "list of " + r.name(t.Elem())
	case reflect.Map:
		return "map of " + r.name(t.Elem())
	case reflect.Interface:
		return "any"
	case reflect.Struct:
		name := t.String()
		if _, known := r.types[name]; !known {
			r.types[name] = object{} // it may refer to itself
			r.types[name] = r.object(t)
		}
		return name
	}
	if decodesItself(t) || t.Kind() == reflect.Func {
		r.unknown = append(r.unknown, t.String())
	}
	return t.Kind().String()
}

func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[yaml.Unmarshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// yamlScalar names the types that decode themselves from one scalar, and a few others.
func yamlScalar(t reflect.Type) string {
	return map[string]string{
		"config.Secret":     "string",
		"config.TLSVersion": "tls version",
		"config.URL":        "url",
		"flagext.Secret":    "secret",
		"hetzner.Role":      "string",
		"kubernetes.Role":   "string",
		"log.Level":         "string",
		"model.Duration":    "interval",
		"model.LabelName":   "label",
		"model.LabelSet":    "labels",
		"openstack.Role":    "string",
		"relabel.Action":    "string",
		"relabel.Regexp":    "regex",
		"scaleway.role":     "string",
		"targetgroup.Group": "targets",
		"time.Duration":     "duration",
		"units.Base2Bytes":  "size",
	}[t.String()]
}

// stageScalar is for what is decoded by mapstructure.
func stageScalar(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.String:
		return "text"
	case t.String() == "flagext.ByteSize": // it is not asked to decode itself
		return "uint64"
	}
	return ""
}
