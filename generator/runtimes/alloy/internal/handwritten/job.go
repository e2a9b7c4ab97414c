// Package handwritten reads scrape configurations of Prometheus that users wrote by hand, so that components of Alloy
// can be made of them. They were checked before: what the agent refuses too is not reported here again, only what
// cannot be rendered for Alloy. No message quotes their text.
package handwritten

import (
	"math"
	"slices"
	"strconv"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/expand"
	"github.com/agentry-dev/agentry/generator/model"
)

// Job returns the job of a text, and what of it cannot be rendered.
func Job(raw *model.Raw) (*model.ScrapeConfig, diag.List) {
	r := &reader{variables: hasVariables(raw.Job)}
	m := mapping{r, raw.Job, ""}
	job := &model.ScrapeConfig{
		Origin: raw.Origin, HandWritten: true, Variables: r.variables,
		JobName: m.text("job_name"), MetricsPath: m.text("metrics_path"), Scheme: m.fixed("scheme"),
		Interval: m.fixed("scrape_interval"), Timeout: m.fixed("scrape_timeout"),
		Params: m.lists("params"), HTTPClient: m.client(),
		Limits: model.Limits{BodySize: m.fixed("body_size_limit")},
		Formats: model.Formats{Protocols: m.list("scrape_protocols"), Fallback: m.fixed("fallback_scrape_protocol"),
			NameValidation:  m.fixed("metric_name_validation_scheme"),
			NameEscaping:    m.fixed("metric_name_escaping_scheme"),
			MinBucketFactor: m.finite("native_histogram_min_bucket_factor")},
		Discoveries: m.discoveries(), Relabel: append(m.rules("relabel_configs"), raw.Relabel...),
		MetricRelabel: m.rules("metric_relabel_configs"),
	}
	for i := range job.Switches {
		job.Switches[i] = m.flag(model.Switch(i).Name())
	}
	for i := range job.Counts {
		job.Counts[i] = m.number(model.Count(i).Name())
	}
	return job, r.problems
}

// reader collects problems.
type reader struct {
	variables bool // are in the text, whose dollars are kept as they are written then
	problems  diag.List
}

func (r *reader) wrong(n *yaml.Node, message string) {
	d := diag.NotInRuntime.At("", "%s", message)
	d.Line = n.Line
	r.problems.Add(d)
}

func hasVariables(n *yaml.Node) bool {
	if n.Kind == yaml.ScalarNode {
		return isVariable(n)
	}
	return slices.ContainsFunc(n.Content, hasVariables)
}

func isVariable(n *yaml.Node) bool {
	refs, ok := expand.References(n.Value)
	return len(refs) > 0 || !ok
}

// mapping is a mapping of the text.
type mapping struct {
	*reader
	node *yaml.Node
	path string // the names of the fields that lead to it, with a dot at the end
}

// get returns the value of a key, or nil.
func (m mapping) get(key string) *yaml.Node { return (&model.Raw{Job: m.node}).Child(key) }

// pairs returns the keys with their values.
func (m mapping) pairs(yield func(key string, value *yaml.Node) bool) {
	if m.node.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(m.node.Content); i += 2 {
		if isVariable(m.node.Content[i]) {
			m.wrong(m.node.Content[i], m.path+"*: a name cannot have a variable for Alloy")
			continue
		}
		if !yield(m.literal(m.node.Content[i]), m.node.Content[i+1]) {
			return
		}
	}
}

// literal returns a text: as it is written if it can be replaced later, otherwise as the agent reads it.
func (r *reader) literal(n *yaml.Node) string {
	if r.variables {
		return n.Value
	}
	return strings.ReplaceAll(n.Value, "$$", "$")
}

// text returns the text of a key.
func (m mapping) text(key string) string { return m.optional(key).Value }

// filled returns the text of a key, which is absent if it is empty.
func (m mapping) filled(key string) model.Text { return model.NonEmpty(m.text(key)) }

func (m mapping) optional(key string) model.Text {
	n := m.get(key)
	if n == nil || n.Kind != yaml.ScalarNode {
		return model.Text{}
	}
	return model.Present(m.literal(n))
}

// fixed returns a text that must be known when it is rendered.
func (m mapping) fixed(key string) string {
	m.known(key)
	return m.text(key)
}

// finite returns a finite number, in any notation of YAML, as a text; it is empty if the key has none.
func (m mapping) finite(key string) string {
	var v float64
	switch n := m.get(key); {
	case n == nil || !m.known(key):
	case !decode(n, &v) || math.IsInf(v, 0) || math.IsNaN(v):
		m.wrong(n, m.path+key+": must be a finite number for Alloy")
	default:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return ""
}

// known reports a variable where Alloy takes none.
func (m mapping) known(key string) bool {
	if n := m.get(key); n != nil && n.Kind == yaml.ScalarNode && isVariable(n) {
		m.wrong(n, m.path+key+": cannot have a variable for Alloy, because components are made of it: write the value")
		return false
	}
	return true
}

func (m mapping) flag(key string) *bool {
	var v bool
	if n := m.get(key); n == nil || !m.known(key) || !decode(n, &v) {
		return nil
	}
	return &v
}

func (m mapping) number(key string) *int64 {
	var v int64
	if n := m.get(key); n == nil || !m.known(key) || !decode(n, &v) {
		return nil
	}
	return &v
}

// decode reads a scalar as the agent does. It is a bare one: there are no variables in it.
func decode(n *yaml.Node, v any) bool {
	return n.Kind == yaml.ScalarNode && yamlv2.Unmarshal([]byte(n.Value), v) == nil
}

// list returns the texts of a list.
func (m mapping) list(key string) (out []string) {
	for _, n := range m.items(key) {
		out = append(out, m.literal(n))
	}
	return out
}

// items returns the items of a list.
func (m mapping) items(key string) []*yaml.Node {
	if n := m.get(key); n != nil && n.Kind == yaml.SequenceNode {
		return n.Content
	}
	return nil
}

// sub returns the mapping of a key, and false if there is none.
func (m mapping) sub(key string) (mapping, bool) {
	n := m.get(key)
	if n == nil || n.Kind != yaml.MappingNode {
		return mapping{}, false
	}
	return mapping{m.reader, n, m.path + key + "."}, true
}

// texts returns a mapping of texts.
func (m mapping) texts(key string) map[string]string {
	inner, ok := m.sub(key)
	if !ok {
		return nil
	}
	out := map[string]string{}
	for name, n := range inner.pairs {
		out[name] = m.literal(n)
	}
	return out
}

// lists returns a mapping of lists.
func (m mapping) lists(key string) map[string][]string {
	inner, ok := m.sub(key)
	if !ok {
		return nil
	}
	out := map[string][]string{}
	for name := range inner.pairs {
		out[name] = inner.list(name)
	}
	return out
}

// rules returns the rules of a list.
func (m mapping) rules(key string) (out []*model.Relabel) {
	for i, n := range m.items(key) {
		r := mapping{m.reader, n, m.path + key + "[" + strconv.Itoa(i) + "]."}
		rule := &model.Relabel{
			SourceLabels: r.list("source_labels"), Separator: r.optional("separator"), Regex: r.optional("regex"),
			TargetLabel: r.fixed("target_label"), Replacement: r.optional("replacement"), Action: r.fixed("action"),
		}
		for _, label := range r.items("source_labels") {
			if isVariable(label) {
				m.wrong(label, r.path+"source_labels: a name cannot have a variable for Alloy")
			}
		}
		if strings.HasPrefix(strings.ToLower(rule.Action), "label") {
			r.known("regex") // it selects names
		}
		if modulus := r.number("modulus"); modulus != nil {
			rule.Modulus = uint64(max(*modulus, 0))
		}
		out = append(out, rule)
	}
	return out
}
