package handwritten

import (
	"strings"

	prommodel "github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/compile/stage"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/agent/stages"
)

// stageNames are the stages of Promtail, in its own spelling.
func stageNames() []string {
	return []string{"cri", "decolorize", "docker", "drop", "eventlogmessage", "geoip", "json", "labelallow",
		"labeldrop", "labels",
		"limit", "logfmt", "match", "metrics", "multiline", "non_indexed_labels", "output", "pack", "regex", "replace",
		"sampling",
		"static_labels", "structured_metadata", "template", "tenant", "timestamp"}
}

// pipeline checks the stages of one job.
type pipeline struct {
	check  *checker
	rules  stages.Checker
	stages int // so far
}

// pipelineStages checks the stages of a job.
func pipelineStages(c *checker, list *yaml.Node) {
	if list == nil || list.Kind != yaml.SequenceNode {
		return
	}
	p := pipeline{check: c}
	p.stageList(list.Content)
}

// stageList checks stages, including those of match stages.
func (p *pipeline) stageList(list []*yaml.Node) {
	for _, s := range list {
		if p.stages++; p.stages > stage.MaxStages {
			p.check.report(diag.Error, diag.TooManyStages, s, "", "the pipeline has more than %d stages",
				stage.MaxStages)
			return
		}
		p.stage(s)
	}
}

func (p *pipeline) stage(s *yaml.Node) {
	switch {
	case s.Kind != yaml.MappingNode:
		p.badStage(s, "a stage is a name with its settings, such as \"cri: {}\"",
			": a stage must be a mapping, is a %s", typeOf(s))
		return
	case len(s.Content) == 0:
		p.check.report(diag.Warning, diag.StageIgnored, s, "write its settings, or {} for none",
			"a stage is empty, and does nothing")
		return
	case len(s.Content) > 2:
		p.badStage(s, "begin each with a dash", ": a stage has one key, this has %d", len(s.Content)/2)
		return
	}
	name, config := s.Content[0], s.Content[1]
	p.check.tagged(name)
	if live(name) {
		return
	}
	if !isText(name) {
		p.badStage(name, "", ": the name of a stage must be a text, is a %s", typeOf(name))
		return
	}
	switch name.Value {
	case "cri", "drop", "limit", "multiline", "pack", "sampling": // accept numbers as texts, and the reverse
		p.settings(name.Value, config, true)
	case "docker", "decolorize": // accept anything
	case "labelallow", "labeldrop":
		p.labelList(name.Value, config)
	case "labels", "static_labels", "structured_metadata", "non_indexed_labels":
		p.labelMap(name.Value, config)
	case "metrics":
		p.metricsStage(config)
	case "eventlogmessage", "geoip", "json", "logfmt", "match", "output", "regex", "replace", "template", "tenant",
		"timestamp":
		p.settings(name.Value, config, false)
	default:
		p.badStage(name, p.check.suggestion(name.Value, stageNames()), ": the agent has no such stage")
	}
}

// badStage is refuse for stages.
func (p *pipeline) badStage(n *yaml.Node, hint, format string, args ...any) {
	p.check.refuse(diag.InvalidStage, n, hint, "pipeline_stages"+format, args...)
}

// settings checks a stage that is a mapping with known fields.
func (p *pipeline) settings(name string, config *yaml.Node, weak bool) {
	before := len(p.check.findings)
	o, ok := p.stageObject("stage "+name, config, name, weak)
	if !ok || !known(config) || len(p.check.findings) > before && p.check.failed(before) {
		if name == "match" {
			p.stageList(o.items("stages"))
		}
		return
	}
	if s := o.spec(name); s != nil {
		p.hold(s, config, name)
	}
	if name == "match" {
		p.stageList(o.items("stages"))
	}
}

// known reports whether a mapping has no variables, outside the stages of match stages.
func known(n *yaml.Node) bool {
	if live(n) {
		return false
	}
	for i, v := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == "stages" {
			continue
		}
		if !known(v) {
			return false
		}
	}
	return true
}

// hold checks a stage with package stages.
func (p *pipeline) hold(s *model.Stage, config *yaml.Node, name string) {
	for _, f := range p.rules.Stage(s) {
		at, path := locate(p.check.types, config, f.Path)
		if f.Severity == diag.Error {
			p.check.refuse(f.Code, at, f.Hint, "pipeline_stages.%s: %s", name+path, f.Message)
		} else {
			p.check.report(f.Severity, f.Code, at, f.Hint, "pipeline_stages.%s: %s", name+path, f.Message)
		}
	}
}

// locate returns the node for a path of package stages in the settings of a stage, or the nearest one, and the names
// of the agent's fields on the way. Names that users chose are left out of these.
func locate(types map[string]*schemaType, config *yaml.Node, path string) (*yaml.Node, string) {
	path, _, _ = strings.Cut(path, ">")
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	n, shown := config, ""
	for _, part := range parts[min(1, len(parts)):] {
		next, key := step(n, part)
		if next == nil {
			if inner := child(n, "config"); inner != nil { // of a metric
				if next, key = step(inner, part); next != nil {
					key = "config." + key
				}
			}
		}
		if next == nil {
			break
		}
		if n = next; isFieldName(types, key) {
			shown += "." + key
		}
	}
	return n, shown
}

// step returns the value for the resource's name of a field.
func step(n *yaml.Node, part string) (*yaml.Node, string) {
	if n.Kind != yaml.MappingNode {
		return nil, ""
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if key == part || strings.EqualFold(strings.ReplaceAll(key, "_", ""), part) {
			return n.Content[i+1], key
		}
	}
	return nil, ""
}

// isFieldName reports whether a key is one of the agent's.
func isFieldName(types map[string]*schemaType, key string) bool {
	key = strings.TrimPrefix(key, "config.")
	for name, t := range types {
		if strings.HasPrefix(name, "stage ") || strings.HasPrefix(name, "metric") && name != "metrics" {
			if _, ok := t.Fields[key]; ok {
				return true
			}
		}
	}
	return false
}

// labelList checks a list of label names.
func (p *pipeline) labelList(name string, config *yaml.Node) {
	before := len(p.check.findings)
	p.check.value("list of text", config, "pipeline_stages."+name)
	if p.check.failed(before) || !known(config) {
		return
	}
	list := make([]string, 0, len(config.Content))
	for _, n := range config.Content {
		list = append(list, n.Value)
	}
	if len(list) == 0 {
		p.badStage(config, "", ".%s: needs a label, at least one", name)
		return
	}
	s := &model.Stage{LabelAllow: list}
	if name == "labeldrop" {
		s = &model.Stage{LabelDrop: list}
	}
	p.hold(s, config, name)
}

// labelMap checks a mapping with label names as keys.
func (p *pipeline) labelMap(name string, config *yaml.Node) {
	before := len(p.check.findings)
	p.check.value("map of text", config, "pipeline_stages."+name)
	if p.check.failed(before) || !known(config) {
		return
	}
	labels := map[string]string{}
	for i := 0; i+1 < len(config.Content); i += 2 {
		labels[config.Content[i].Value] = ""
		if !prommodel.LabelName(config.Content[i].Value).IsValidLegacy() {
			p.badStage(config.Content[i], "use letters, digits and underscores", ".%s: not a label name", name)
		}
	}
	switch {
	case len(labels) == 0:
		p.check.report(diag.Warning, diag.StageIgnored, config,
			"to take what was extracted under the same name, write \"\" as the value",
			"pipeline_stages.%s: is empty, and does nothing", name)
	case !p.check.failed(before) && (name == "labels" || name == "static_labels"):
		p.hold(&model.Stage{Labels: labels}, config, name)
	}
}
