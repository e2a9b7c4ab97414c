package promtail

import (
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	agentstages "github.com/agentry-dev/agentry/generator/runtimes/agent/stages"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/internal/stages"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
)

// kind is how a field of a stage is read.
type kind int

const (
	text kind = iota
	boolean
	number
	period // a duration that Alloy takes only above zero
	bytes
	list
	texts
	sources // one text, or several, of which Alloy takes one with commas
)

// fields are the fields of a stage with the names that Alloy has too.
type fields map[string]kind

// stageFields are the stages of Promtail that are mappings. The others are in [reader.stage].
var stageFields = map[string]fields{
	"cri": {"max_partial_line_size": number, "max_partial_line_size_truncate": boolean,
		"max_partial_lines": number},
	"decolorize": {},
	"docker":     {},
	"drop": {"drop_counter_reason": text, "expression": text, "longer_than": bytes, "older_than": period,
		"separator": text, "source": sources, "value": text},
	"eventlogmessage": {"drop_invalid_labels": boolean, "overwrite_existing": boolean, "source": text},
	"geoip":           {"db": text, "db_type": text, "source": text},
	"json":            {"drop_malformed": boolean, "expressions": texts, "source": text},
	"limit": {"burst": number, "by_label_name": text, "drop": boolean, "max_distinct_labels": number,
		"rate": number},
	"logfmt":    {"mapping": texts, "source": text},
	"match":     {"action": text, "drop_counter_reason": text, "pipeline_name": text, "selector": text},
	"multiline": {"firstline": text, "max_lines": number, "max_wait_time": period},
	"output":    {"source": text},
	"pack":      {"ingest_timestamp": boolean, "labels": list},
	"regex":     {"expression": text, "source": text},
	"replace":   {"expression": text, "replace": text, "source": text},
	"sampling":  {"drop_counter_reason": text, "rate": number},
	"template":  {"source": text, "template": text},
	"tenant":    {"label": text, "source": text, "value": text},
	"timestamp": {"action_on_failure": text, "fallback_formats": list, "format": text, "location": text,
		"source": text},
}

// stages returns the blocks of a pipeline.
func (r *reader) stages(n *yaml.Node) (out []*syntax.Block) {
	for _, s := range items(n) {
		each(s, func(name string, at, v *yaml.Node) {
			if b := r.stage(name, at, v); b.Name != "" {
				out = append(out, &b)
			}
		})
	}
	return out
}

func (r *reader) stage(name string, at, v *yaml.Node) syntax.Block {
	b := syntax.Block{Name: "stage." + name}
	switch name {
	case "labelallow", "labeldrop":
		b.Name = map[string]string{"labelallow": "stage.label_keep", "labeldrop": "stage.label_drop"}[name]
		b.Set("values", r.list(v))
	case "labels", "static_labels", "structured_metadata", "non_indexed_labels":
		if len(v.Content) == 0 {
			return syntax.Block{} // it does nothing
		}
		b.Name = strings.Replace(b.Name, "non_indexed_labels", "structured_metadata", 1)
		b.Set("values", r.texts(v))
	case "metrics":
		b.Blocks = r.metrics(v)
	default:
		known, ok := stageFields[name]
		if !ok {
			r.cannot(at, "this stage is not rendered for Alloy")
		}
		r.settings(&b, known, v)
	}
	return b
}

// settings sets the fields of a stage. The agent ignores the letter case of their names, and unknown ones.
func (r *reader) settings(b *syntax.Block, known fields, n *yaml.Node) {
	each(n, func(key string, at, v *yaml.Node) {
		if strings.EqualFold(key, "stages") && b.Name == "stage.match" {
			b.Blocks = r.stages(v)
			return
		}
		for name, of := range known {
			if strings.EqualFold(name, key) {
				r.set(b, name, of, v)
			}
		}
	})
	if b.Name == "stage.timestamp" && !has(b, "action_on_failure") {
		b.Set("action_on_failure", syntax.String(stages.DefaultOnFailure))
	}
	if b.Name == "stage.multiline" && len(b.Attrs) > 0 && !has(b, "firstline") {
		b.Set("firstline", `""`)
	}
}

func has(b *syntax.Block, name string) bool {
	for _, a := range b.Attrs {
		if a.Name == name {
			return true
		}
	}
	return false
}

// set sets one field. An empty text is like none, but for those that the agent compares with.
func (r *reader) set(b *syntax.Block, name string, of kind, v *yaml.Node) {
	if v.Kind == yaml.ScalarNode && v.Value == "" && (of == text || of == period || of == bytes || of == sources) {
		if b.Name == "stage.drop" && name != "drop_counter_reason" {
			r.cannot(v, "Alloy takes an empty text for none")
		}
		if name == "template" || name == "firstline" {
			b.Set(name, `""`)
		}
		return
	}
	switch of {
	case text:
		b.Set(name, r.text(v))
	case boolean:
		b.Set(name, syntax.Bool(r.boolean(v)))
	case number:
		b.Set(name, r.number(v))
	case period:
		b.Set(name, syntax.String(r.period(b, v)))
	case bytes:
		b.Set(name, r.bytes(v))
	case list:
		b.Set(name, r.list(v))
	case texts:
		b.Set(name, r.texts(v))
	case sources:
		b.Set(name, r.sources(v))
	}
}

// period returns a duration, or the shortest one in the place of none.
func (r *reader) period(b *syntax.Block, v *yaml.Node) string {
	d, err := time.ParseDuration(r.plain(v))
	if err == nil && (d == 0 || d < 0 && b.Name == "stage.multiline") {
		return "1ns"
	}
	return v.Value
}

func (r *reader) bytes(v *yaml.Node) syntax.Expr {
	n, ok := agentstages.Bytes(r.plain(v))
	if !ok || n == 0 {
		r.cannot(v, "Alloy takes a size of zero for none")
	}
	return syntax.String(strconv.FormatUint(min(n, math.MaxInt64/8), 10) + "B")
}

func (r *reader) sources(v *yaml.Node) syntax.Expr {
	var all []string
	for _, s := range items(v) {
		if all = append(all, r.plain(s)); strings.Contains(s.Value, ",") {
			r.cannot(s, "Alloy takes a comma for the end of a name")
		}
	}
	return syntax.String(strings.Join(all, ","))
}

// metrics returns the blocks of metrics, in the order of the text.
func (r *reader) metrics(n *yaml.Node) (out []*syntax.Block) {
	each(n, func(name string, _, v *yaml.Node) {
		m := syntax.Block{Attrs: []syntax.Attr{{Name: "name", Value: syntax.String(name)}}}
		prefix := syntax.String(agentstages.DefaultPrefix)
		each(v, func(key string, _, v *yaml.Node) { // first: what else there is depends on it
			if strings.EqualFold(key, "type") {
				m.Name = "metric." + strings.ToLower(r.plain(v))
			}
		})
		each(v, func(key string, _, v *yaml.Node) {
			switch key = strings.ToLower(key); {
			case key == "prefix" && v.Value != "":
				prefix = r.text(v)
			case (key == "description" || key == "source" || key == "max_idle_duration") && v.Value != "":
				m.Set(key, r.text(v))
			case key == "config":
				r.metric(&m, v)
			}
		})
		if m.Set("prefix", prefix); m.Name == "metric.histogram" && !has(&m, "buckets") {
			m.Set("buckets", "[]")
		}
		out = append(out, &m)
	})
	return out
}

// metric sets what only some types of metrics have: whatever else is there has no effect.
func (r *reader) metric(m *syntax.Block, n *yaml.Node) {
	each(n, func(key string, _, v *yaml.Node) {
		switch key = strings.ToLower(key); {
		case key == "value" && v.Value != "":
			m.Set(key, r.text(v))
		case key == "action" && m.Name != "metric.histogram":
			m.Set(key, syntax.String(strings.ToLower(r.plain(v))))
		case (key == "match_all" || key == "count_entry_bytes") && m.Name == "metric.counter":
			m.Set(key, syntax.Bool(r.boolean(v)))
		case key == "buckets" && m.Name == "metric.histogram":
			var all []syntax.Expr
			for _, b := range items(v) {
				all = append(all, r.number(b))
			}
			m.Set(key, syntax.List(all...))
		}
	})
}
