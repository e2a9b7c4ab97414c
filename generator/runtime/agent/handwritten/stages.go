package handwritten

import (
	"strings"

	prommodel "github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/build/stage"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtime/agent/stages"
)

// stageNames are the stages of Promtail, in its own spelling.
func stageNames() []string {
	return []string{"cri", "decolorize", "docker", "drop", "eventlogmessage", "geoip", "json", "labelallow", "labeldrop", "labels",
		"limit", "logfmt", "match", "metrics", "multiline", "non_indexed_labels", "output", "pack", "regex", "replace", "sampling",
		"static_labels", "structured_metadata", "template", "tenant", "timestamp"}
}

// pipeline checks the stages of a job.
func (c *checker) pipeline(list *yaml.Node) {
	if list == nil || list.Kind != yaml.SequenceNode {
		return
	}
	c.metrics, c.stages = stages.Checker{}, 0
	c.stageList(list.Content)
}

// stageList checks stages, those of match stages included.
func (c *checker) stageList(list []*yaml.Node) {
	for _, s := range list {
		if c.stages++; c.stages > stage.MaxStages {
			c.report(diag.Error, diag.TooManyStages, s, "", "the pipeline has more than %d stages", stage.MaxStages)
			return
		}
		c.stage(s)
	}
}

func (c *checker) stage(s *yaml.Node) {
	switch {
	case s.Kind != yaml.MappingNode:
		c.badStage(s, "a stage is a name with its settings, such as \"cri: {}\"", ": a stage must be a mapping, is a %s", typeOf(s))
		return
	case len(s.Content) == 0:
		c.report(diag.Warning, diag.StageIgnored, s, "write its settings, or {} for none", "a stage is empty, and does nothing")
		return
	case len(s.Content) > 2:
		c.badStage(s, "begin each with a dash", ": a stage has one key, this has %d", len(s.Content)/2)
		return
	}
	name, config := s.Content[0], s.Content[1]
	c.tagged(name)
	if live(name) {
		return
	}
	if !isText(name) {
		c.badStage(name, "", ": the name of a stage must be a text, is a %s", typeOf(name))
		return
	}
	switch name.Value {
	case "cri", "drop", "limit", "multiline", "pack", "sampling": // take numbers for texts, and the like
		c.settings(name.Value, config, true)
	case "docker", "decolorize": // take anything
	case "labelallow", "labeldrop":
		c.labelList(name.Value, config)
	case "labels", "static_labels", "structured_metadata", "non_indexed_labels":
		c.labelMap(name.Value, config)
	case "metrics":
		c.metricsStage(config)
	case "eventlogmessage", "geoip", "json", "logfmt", "match", "output", "regex", "replace", "template", "tenant", "timestamp":
		c.settings(name.Value, config, false)
	default:
		c.badStage(name, c.suggestion(name.Value, stageNames()), ": the agent has no such stage")
	}
}

// badStage is refuse for stages.
func (c *checker) badStage(n *yaml.Node, hint, format string, args ...any) {
	c.refuse(diag.InvalidStage, n, hint, "pipeline_stages"+format, args...)
}

// settings checks a stage that is a mapping with known fields.
func (c *checker) settings(name string, config *yaml.Node, weak bool) {
	before := len(c.findings)
	o, ok := c.stageObject("stage "+name, config, name, weak)
	if !ok || !known(config) || len(c.findings) > before && c.failed(before) {
		if name == "match" {
			c.stageList(o.items("stages"))
		}
		return
	}
	if s := o.spec(name); s != nil {
		c.hold(s, config, name)
	}
	if name == "match" {
		c.stageList(o.items("stages"))
	}
}

// failed reports whether there is an error among the findings since.
func (c *checker) failed(since int) bool {
	for _, f := range c.findings[since:] {
		if f.Severity == diag.Error {
			return true
		}
	}
	return false
}

// known reports whether there are no variables in a mapping, but for what match stages hold.
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

// hold holds a stage to the rules of package stage.
func (c *checker) hold(s *model.Stage, config *yaml.Node, name string) {
	for _, f := range c.metrics.Stage(s) {
		at, path := c.locate(config, f.Path)
		if f.Severity == diag.Error {
			c.refuse(f.Code, at, f.Hint, "pipeline_stages.%s: %s", name+path, f.Message)
		} else {
			c.report(f.Severity, f.Code, at, f.Hint, "pipeline_stages.%s: %s", name+path, f.Message)
		}
	}
}

// locate finds what a path of package stage means in the settings of a stage, as near as it
// can. It returns the names of fields on the way there, which do not hold those that users
// chose.
func (c *checker) locate(config *yaml.Node, path string) (*yaml.Node, string) {
	path, _, _ = strings.Cut(path, ">")
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	n, shown := config, ""
	for _, p := range parts[min(1, len(parts)):] {
		next, key := step(n, p)
		if next == nil {
			if inner := child(n, "config"); inner != nil { // of a metric
				if next, key = step(inner, p); next != nil {
					key = "config." + key
				}
			}
		}
		if next == nil {
			break
		}
		if n = next; c.isFieldName(key) {
			shown += "." + key
		}
	}
	return n, shown
}

// step goes into a mapping by the resource's name of a field.
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
func (c *checker) isFieldName(key string) bool {
	key = strings.TrimPrefix(key, "config.")
	for name, t := range c.types {
		if strings.HasPrefix(name, "stage ") || strings.HasPrefix(name, "metric") && name != "metrics" {
			if _, ok := t.Fields[key]; ok {
				return true
			}
		}
	}
	return false
}

// labelList checks a list of names of labels.
func (c *checker) labelList(name string, config *yaml.Node) {
	before := len(c.findings)
	c.value("list of text", config, "pipeline_stages."+name)
	if c.failed(before) || !known(config) {
		return
	}
	list := make([]string, 0, len(config.Content))
	for _, n := range config.Content {
		list = append(list, n.Value)
	}
	if len(list) == 0 {
		c.badStage(config, "", ".%s: needs a label, at least one", name)
		return
	}
	s := &model.Stage{LabelAllow: list}
	if name == "labeldrop" {
		s = &model.Stage{LabelDrop: list}
	}
	c.hold(s, config, name)
}

// labelMap checks a mapping by names of labels.
func (c *checker) labelMap(name string, config *yaml.Node) {
	before := len(c.findings)
	c.value("map of text", config, "pipeline_stages."+name)
	if c.failed(before) || !known(config) {
		return
	}
	labels := map[string]string{}
	for i := 0; i+1 < len(config.Content); i += 2 {
		labels[config.Content[i].Value] = ""
		if !prommodel.LabelName(config.Content[i].Value).IsValidLegacy() {
			c.badStage(config.Content[i], "use letters, digits and underscores", ".%s: not a label name", name)
		}
	}
	switch {
	case len(labels) == 0:
		c.report(diag.Warning, diag.StageIgnored, config, "to take what was extracted under the same name, write \"\" as the value", "pipeline_stages.%s: is empty, and does nothing", name)
	case !c.failed(before) && (name == "labels" || name == "static_labels"):
		c.hold(&model.Stage{Labels: labels}, config, name)
	}
}
