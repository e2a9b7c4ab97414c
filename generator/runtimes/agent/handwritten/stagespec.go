package handwritten

import (
	"math"
	"strconv"
	"strings"

	prommodel "github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// stageObject checks the settings of a stage by their types. The agent ignores unknown fields, and the letter case of
// names. weak means that it accepts numbers as texts, and texts as numbers.
func (p *pipeline) stageObject(of string, n *yaml.Node, path string, weak bool) (object, bool) {
	t, at := p.check.types[of], "pipeline_stages."+path
	o := object{p.check, t, &yaml.Node{Kind: yaml.MappingNode, Line: n.Line}, at}
	p.check.tagged(n)
	if n.Kind != yaml.MappingNode {
		if !live(n) {
			p.check.mismatch(n, at, "mapping")
		}
		return o, false
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		p.check.tagged(key)
		name := fieldOf(t, key.Value)
		if name == "" {
			p.check.report(diag.Warning, diag.UnknownStageField, key, p.check.suggestion(key.Value, t.names),
				"a field that %s does not have: the agent ignores it", at)
			p.check.anything(value)
			continue
		}
		if !weak || !weakly(t.Fields[name], value) {
			p.check.value(t.Fields[name], value, join(at, name))
		}
		o.node.Content = append(o.node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name, Line: key.Line}, value)
	}
	o.require(t.required)
	if t.rule != nil {
		t.rule(o)
	}
	return o, true
}

// fieldOf returns the field that a key means, or "".
func fieldOf(t *schemaType, key string) string {
	if t.Fields[key] != "" {
		return key
	}
	for _, name := range t.names {
		if strings.EqualFold(name, key) {
			return name
		}
	}
	return ""
}

// weakly reports whether a value is accepted although it has another type.
func weakly(of string, n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode || n.Style&yaml.TaggedStyle != 0 {
		return false
	}
	text, known := literal(n)
	_, numeric := number(resolve(n))
	switch {
	case !known:
		return true
	case of == "text":
		return true
	case of == "list of text":
		return isText(n) || numeric
	case of == "bool":
		_, err := strconv.ParseBool(text)
		return isText(n) && err == nil
	case strings.HasPrefix(of, "float"):
		_, err := strconv.ParseFloat(text, 64)
		return isText(n) && err == nil
	case bare(of):
		_, err := strconv.ParseInt(text, 10, 32)
		return isText(n) && err == nil && !strings.HasPrefix(text, "-")
	}
	return false
}

// str returns the text of a field, or "" if it is absent.
func (o object) str(field string) string {
	text, _ := o.text(field, "")
	return text
}

// float returns the number of a field, or 0 if it is absent.
func (o object) float(field string) float64 {
	n := o.get(field)
	if n == nil {
		return 0
	}
	if f, ok := number(resolve(n)); ok {
		return f
	}
	f, _ := strconv.ParseFloat(o.str(field), 64)
	return f
}

func (o object) truth(field string) bool {
	b, _ := strconv.ParseBool(o.str(field))
	return o.is(field, true) || b
}

// whole returns a number as the resource has it. Only its sign matters.
func (o object) whole(field string) int {
	return int(math.Ceil(min(o.float(field), math.MaxInt32)))
}

// strings returns the texts of a list, or of a single item in place of a list.
func (o object) strings(field string) (out []string) {
	for _, n := range o.items(field) {
		out = append(out, n.Value)
	}
	if s := o.str(field); s != "" {
		out = append(out, s)
	}
	return out
}

// texts returns the texts of a mapping.
func (o object) texts(field string) map[string]string {
	m, _ := o.sub(field)
	if m.node == nil {
		return nil
	}
	out := map[string]string{}
	for i := 0; i+1 < len(m.node.Content); i += 2 {
		out[m.node.Content[i].Value], _ = literal(m.node.Content[i+1])
	}
	return out
}

// spec returns a stage of the model, or nil if the model does not have it.
func (o object) spec(name string) *model.Stage {
	s := &model.Stage{}
	switch name {
	case "drop":
		s.Drop = &model.DropStage{Source: o.source(), Expression: o.str("expression"), Value: o.str("value"),
			OlderThan: o.str("older_than"), LongerThan: o.str("longer_than")}
	case "json":
		s.JSON = &model.JSONStage{Source: o.str("source"), Expressions: o.texts("expressions")}
	case "limit":
		s.Limit = &model.LimitStage{Rate: o.whole("rate"), Burst: int(o.float("burst")), Drop: o.truth("drop")}
	case "match":
		s.Match = o.match()
	case "multiline":
		s.Multiline = &model.MultilineStage{FirstLine: o.str("firstline"), MaxWaitTime: o.str("max_wait_time"),
			MaxLines: o.whole("max_lines")}
	case "output":
		s.Output = &model.OutputStage{Source: o.str("source")}
	case "regex":
		s.Regex = &model.RegexStage{Source: o.str("source"), Expression: o.str("expression")}
	case "replace":
		s.Replace = &model.ReplaceStage{Source: o.str("source"), Expression: o.str("expression"),
			Replace: o.str("replace")}
	case "template":
		s.Template = &model.TemplateStage{Source: o.str("source"), Template: o.str("template")}
	case "tenant":
		s.Tenant = &model.TenantStage{Label: o.str("label"), Source: o.str("source"), Value: o.str("value")}
	case "timestamp":
		s.Timestamp = &model.TimestampStage{Source: o.str("source"), Format: o.str("format"),
			FallbackFormats: o.strings("fallback_formats"),
			Location:        o.str("location"), ActionOnFailure: o.str("action_on_failure")}
	default:
		return nil
	}
	return s
}

// source returns the sources of a drop stage, joined.
func (o object) source() string { return strings.Join(o.strings("source"), ";") }

// match returns a match stage with one valid stage: stageList checks the nested ones.
func (o object) match() *model.MatchStage {
	m := &model.MatchStage{Selector: o.str("selector"), PipelineName: o.str("pipeline_name"), Action: o.str("action"),
		DropCounterReason: o.str("drop_counter_reason")}
	if len(o.items("stages")) > 0 {
		m.Stages = []model.Stage{{Docker: true}}
	}
	return m
}

// metricsStage checks metrics, whose settings depend on their type.
func (p *pipeline) metricsStage(config *yaml.Node) {
	const name = "metrics"
	before := len(p.check.findings)
	p.check.value("map of any", config, "pipeline_stages."+name)
	if p.check.failed(before) || config.Kind != yaml.MappingNode {
		return
	}
	specs := map[string]model.MetricStage{}
	for i := 0; i+1 < len(config.Content); i += 2 {
		if key := config.Content[i]; !isText(key) {
			p.badStage(key, "put it into quotes", ".%s: a name must be a text, is a %s", name, typeOf(key))
		} else if s, ok := p.metric(config.Content[i+1]); ok {
			specs[key.Value] = s
		}
	}
	if !p.check.failed(before) && len(specs) > 0 {
		p.hold(&model.Stage{Metrics: specs}, config, name)
	}
}

// metric checks one metric, and returns it as the resource spells it. It returns false if it has variables.
func (p *pipeline) metric(n *yaml.Node) (s model.MetricStage, ok bool) {
	o, ok := p.stageObject("metric", n, "metrics", false)
	if !ok {
		return s, false
	}
	notEmpty("max_idle_duration")(o)
	kind := strings.ToLower(o.str("type"))
	s = model.MetricStage{Type: kind, Description: o.str("description"), Prefix: o.str("prefix"),
		Source: o.str("source"), MaxIdleDuration: o.str("max_idle_duration")}
	config := &yaml.Node{Kind: yaml.MappingNode, Line: n.Line}
	if o.has("config") {
		config = o.get("config")
	}
	if kind != "counter" && kind != "gauge" && kind != "histogram" {
		return s, known(n)
	}
	in, ok := p.stageObject("metric "+kind, config, "metrics.config", false)
	if !ok {
		return s, false
	}
	if kind == "counter" {
		notEmpty("value")(in)
	}
	s.Value, s.Action = in.str("value"), in.str("action")
	match, count := in.truth("match_all"), in.truth("count_entry_bytes")
	s.MatchAll, s.CountEntryBytes = &match, &count
	for _, b := range in.items("buckets") {
		f, _ := number(resolve(b))
		s.Buckets = append(s.Buckets, strconv.FormatFloat(f, 'g', -1, 64))
	}
	return s, known(n)
}

// Rules of stages that the resource does not have, or only in part.

func labelSource(o object) {
	if text, known := o.text("source", "message"); known && !prommodel.LabelName(text).IsValidLegacy() {
		o.wrong(o.get("source"), "", "%s: must be like the name of a label", o.name("source"))
	}
}

func drop(o object) {
	notEmpty("older_than", "longer_than")(o)
	if n := o.get("source"); n != nil && n.Kind == yaml.SequenceNode {
		o.value("list of text", n, o.name("source"))
	} else if n != nil {
		o.value("text", n, o.name("source"))
	}
}

func limit(o object) {
	if o.given("by_label_name") && (!o.has("drop") || known(o.get("drop"))) && !o.truth("drop") {
		o.wrong(o.get("by_label_name"), "write drop: true", "%s needs drop as well", o.name("by_label_name"))
	}
}

func multiline(o object) {
	notEmpty("max_wait_time")(o)
	if !o.has("firstline") {
		o.wrong(o.node, "", "%s is missing", o.name("firstline"))
	}
}

func sampling(o object) {
	if f := o.float("rate"); f < 0 || f > 1 {
		o.wrong(o.at("rate"), "", "%s: must be from 0 to 1", o.name("rate"))
	}
}
