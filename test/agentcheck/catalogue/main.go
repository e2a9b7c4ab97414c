// Command catalogue writes what the code of Grafana Agent v0.44.8 says of its integrations,
// by reflection over the types into which it decodes their configuration:
//
//	cd test/agentcheck && go run ./catalogue > ../../generator/compile/integration/catalogue.json
//
// What reflection does not see stands in facts.json beside that file, kept by hand. With an
// argument it does the same for scrape configurations, where facts.go is the rest:
//
//	cd test/agentcheck && go run ./catalogue scrapeconfigs > ../../generator/runtimes/agent/handwritten/schema.json
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/grafana/agent/static/integrations/v2"
	"github.com/grafana/agent/static/integrations/v2/common"
	"gopkg.in/yaml.v2"

	_ "github.com/grafana/agent/static/integrations/install" // they register themselves
)

func main() {
	write := write
	if len(os.Args) > 1 && os.Args[1] == "scrapeconfigs" {
		write = writeScrapeConfigs
	}
	if err := write(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// integration is one integration without its fields, as generator/compile/integration has it.
type integration struct {
	Name      string   `json:"name"`
	OldNames  []string `json:"oldNames,omitempty"`
	JobLabel  string   `json:"jobLabel,omitempty"`
	Singleton bool     `json:"singleton,omitempty"`
	Metrics   *bool    `json:"metrics,omitempty"`
}

// field is a field of a configuration, as generator/compile/integration has it.
type field struct {
	Name    string  `json:"name"`
	Type    string  `json:"type"`
	Default any     `json:"default,omitempty"`
	IntKeys bool    `json:"intKeys,omitempty"`
	Fields  []field `json:"fields,omitempty"`
}

// write writes the catalogue, with a field on each line.
func write(w io.Writer) error {
	configs := integrations.Registered()
	slices.SortFunc(configs, func(a, b integrations.Config) int { return strings.Compare(a.Name(), b.Name()) })
	var out bytes.Buffer
	out.WriteString("{\n  \"agent\": \"v0.44.8\",\n  \"integrations\": [")
	for i, c := range configs {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := writeOne(&out, c); err != nil {
			return fmt.Errorf("%s: %w", c.Name(), err)
		}
	}
	out.WriteString("\n  ]\n}\n")
	_, err := w.Write(out.Bytes())
	return err
}

func writeOne(out *bytes.Buffer, c integrations.Config) error {
	head, fields, err := describe(c)
	if err != nil {
		return err
	}
	line, err := compact(head)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n    %s,\"fields\":[", strings.TrimSuffix(line, "}"))
	for i, f := range fields {
		line, err := compact(f)
		if err != nil {
			return err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n      " + line)
	}
	if len(fields) > 0 {
		out.WriteString("\n    ")
	}
	out.WriteString("]}")
	return nil
}

func compact(v any) (string, error) {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(out.String(), "\n"), err
}

// describe reflects over an integration's configuration. Most are those of the older
// subsystem, wrapped.
func describe(c integrations.Config) (integration, []field, error) {
	head := integration{Name: c.Name()}
	var config any = c
	metrics := false
	if wrapped, ok := c.(integrations.UpgradedConfig); ok {
		old, _ := wrapped.LegacyConfig()
		config, metrics = old, true
		head.JobLabel = "integrations/" + old.Name()
		if old.Name() != head.Name {
			head.OldNames = []string{old.Name()}
		}
	}
	value := reflect.New(reflect.TypeOf(config).Elem())
	if err := yaml.Unmarshal([]byte("{}"), value.Interface()); err != nil {
		return head, nil, err
	}
	head.Singleton = isSingleton(c)
	r := reflector{}
	fields := r.fields(value.Elem())
	metrics = metrics || r.common
	if metrics {
		fields = slices.DeleteFunc(fields, func(f field) bool { return f.Name == "instance" })
	} else {
		head.Metrics = &metrics
	}
	return head, fields, nil
}

// isSingleton asks the agent whether it writes a configuration with two of them: of those
// that are wrapped it tells the type in no other way.
func isSingleton(c integrations.Config) bool {
	_, err := integrations.MarshalYAML(integrations.SubsystemOptions{Configs: integrations.Configs{c, c}})
	return err != nil && strings.Contains(err.Error(), "more than once")
}

// reflector finds fields.
type reflector struct {
	common bool // the fields that all integrations with metrics have are among them
}

func (r *reflector) fields(v reflect.Value) []field {
	var out []field
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		inline := strings.Contains(options, "inline")
		switch {
		case f.Type == reflect.TypeFor[common.MetricsConfig]():
			r.common = true
		case !f.IsExported() || name == "-":
		case inline:
			out = append(out, r.fields(v.Field(i))...)
		default:
			if name == "" {
				name = strings.ToLower(f.Name)
			}
			out = append(out, r.field(name, v.Field(i)))
		}
	}
	return out
}

// field describes a value, which holds its default.
func (r *reflector) field(name string, v reflect.Value) field {
	f := field{Name: name}
	t := v.Type()
	for {
		prefix, item, ok := container(t)
		if !ok {
			break
		}
		f.Type += prefix
		f.IntKeys = f.IntKeys || t.Kind() == reflect.Map && t.Key().Kind() == reflect.Int
		t, v = item, reflect.Zero(item)
	}
	if t.Kind() == reflect.Pointer {
		t, v = t.Elem(), reflect.Zero(t.Elem())
	}
	base := named()[t.String()]
	if base == "" {
		base = kinds()[t.Kind()]
	}
	f.Type += base
	switch {
	case base == "object" && t.Kind() == reflect.Struct:
		f.Fields = r.fields(v)
	case v.IsZero() || base == "any" || base == "object":
	case base == "duration":
		f.Default = fmt.Sprint(v.Interface())
	default:
		f.Default = v.Interface()
	}
	return f
}

// container takes a list or map apart.
func container(t reflect.Type) (prefix string, item reflect.Type, ok bool) {
	switch {
	case named()[t.String()] != "":
	case t.Kind() == reflect.Slice:
		return "list of ", pointed(t.Elem()), true
	case t.Kind() == reflect.Map:
		return "map of ", pointed(t.Elem()), true
	}
	return "", nil, false
}

func pointed(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// named are the types that decode themselves, by name.
func named() map[string]string {
	return map[string]string{
		"config.Secret":     "secret",
		"config.Regexp":     "regex",
		"config.TLSVersion": "string",
		"labels.Labels":     "map of string",
		"model.Duration":    "interval",
		"time.Duration":     "duration",
		"util.RawYAML":      "object",
	}
}

func kinds() map[reflect.Kind]string {
	return map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "bool", reflect.Float64: "float", reflect.Struct: "object",
		reflect.Interface: "any",
		reflect.Int:       "int", reflect.Int64: "int", reflect.Uint32: "int", reflect.Uint64: "int",
	}
}
