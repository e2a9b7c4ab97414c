package hierarchytest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/relabel"
	"go.yaml.in/yaml/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/workload"
)

// configuration is the part of a metrics configuration that tests examine.
type configuration struct {
	Metrics struct {
		Global  global     `yaml:"global"`
		Configs []instance `yaml:"configs"`
	} `yaml:"metrics"`

	unit   string
	shards []variables
}

type global struct {
	ScrapeInterval string            `yaml:"scrape_interval"`
	ScrapeTimeout  string            `yaml:"scrape_timeout"`
	ExternalLabels map[string]string `yaml:"external_labels"`
	RemoteWrite    []writer          `yaml:"remote_write"`
}

type instance struct {
	Name        string   `yaml:"name"`
	RemoteWrite []writer `yaml:"remote_write"`
	Jobs        []job    `yaml:"scrape_configs"`
}

type job struct {
	Name          string              `yaml:"job_name"`
	HonorLabels   bool                `yaml:"honor_labels"`
	Interval      string              `yaml:"scrape_interval"`
	Timeout       string              `yaml:"scrape_timeout"`
	Path          string              `yaml:"metrics_path"`
	Scheme        string              `yaml:"scheme"`
	Params        map[string][]string `yaml:"params"`
	Relabel       []yaml.Node         `yaml:"relabel_configs"`
	MetricRelabel []yaml.Node         `yaml:"metric_relabel_configs"`
}

type writer struct {
	Name    string      `yaml:"name"`
	URL     string      `yaml:"url"`
	Relabel []yaml.Node `yaml:"write_relabel_configs"`
}

// is reports whether a test means the writer by a name or URL.
func (w *writer) is(name string) bool { return w.Name != "" && w.Name == name || w.URL == name }

// variables maps NAME to the value of $(NAME) in the pods of one shard.
type variables map[string]string

// The config reloader replaces $(NAME) in the text, where a literal $ is written as \x24. Both look the same in the
// parsed text, so the brackets of the former are replaced before parsing.
const (
	openVariable  = "\uE000"
	closeVariable = "\uE001"
)

// configurations reads the configurations of the units' metrics pods.
func configurations(units []*generator.Unit) ([]configuration, error) {
	var out []configuration
	for _, u := range units {
		for _, f := range u.Files {
			if f.Object.Kind != "Secret" {
				continue
			}
			text := workload.Configuration(f.Data)
			if text == nil {
				continue
			}
			c := configuration{unit: u.Name}
			if err := yaml.Unmarshal([]byte(bracketed(string(text))), &c); err != nil {
				return nil, fmt.Errorf("%s/%s: %w", u.Name, f.Path, err)
			}
			if slices.ContainsFunc(c.Metrics.Configs, func(i instance) bool { return len(i.Jobs) > 0 }) {
				c.shards = shardsOf(u, f.Object.Name)
				out = append(out, c)
			}
		}
	}
	return out, nil
}

// bracketed replaces the brackets of $(NAME).
func bracketed(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$(")
		name, after, closed := strings.Cut(rest, ")")
		b.WriteString(before)
		switch {
		case !found:
			return b.String()
		case closed && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "":
			b.WriteString(openVariable + name + closeVariable)
			text = after
		default:
			b.WriteString("$(")
			text = rest
		}
	}
}

// expand replaces variables. Variables from Secrets are unknown, and kept.
func (v variables) expand(text string) string {
	for {
		before, rest, found := strings.Cut(text, openVariable)
		name, after, closed := strings.Cut(rest, closeVariable)
		if !found || !closed {
			return text
		}
		value, known := v[name]
		if !known {
			value = "$(" + name + ")"
		}
		text = before + value + after
	}
}

// shardsOf returns the variables in the first pod of each StatefulSet whose configuration is in the Secret.
func shardsOf(u *generator.Unit, secret string) []variables {
	var out []variables
	for i := range u.Files {
		set, ok := u.Files[i].Workload().(*appsv1.StatefulSet)
		if !ok {
			continue
		}
		pod := set.Spec.Template.Spec
		if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool {
			return v.Name == runtimes.ConfigVolume && v.Secret != nil && v.Secret.SecretName == secret
		}) {
			continue
		}
		vars := variables{"STATEFULSET_ORDINAL_NUMBER": "0", "POD_NAME": set.Name + "-0"}
		for _, c := range pod.Containers {
			for _, e := range c.Env {
				if e.ValueFrom == nil {
					vars[e.Name] = e.Value
				}
			}
		}
		out = append(out, vars)
	}
	return out
}

// rules decodes relabelling rules with the variables of a shard.
func rules(nodes []yaml.Node, vars variables) ([]*relabel.Config, error) {
	var out []*relabel.Config
	for i := range nodes {
		node := expanded(&nodes[i], vars)
		rule := &relabel.Config{}
		if err := node.Decode(rule); err != nil {
			return nil, fmt.Errorf("rule %d: %w", i+1, err)
		}
		if err := rule.Validate(model.LegacyValidation); err != nil {
			return nil, fmt.Errorf("rule %d: %w", i+1, err)
		}
		out = append(out, rule)
	}
	return out, nil
}

// expanded returns a copy of a node with the variables in its texts replaced.
func expanded(n *yaml.Node, vars variables) *yaml.Node {
	out := *n
	out.Value = vars.expand(n.Value)
	out.Content = nil
	for _, c := range n.Content {
		out.Content = append(out.Content, expanded(c, vars))
	}
	return &out
}
