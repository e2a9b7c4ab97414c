package handwritten

import (
	"cmp"
	"slices"
	"strconv"

	prommodel "github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// relabelRule checks a relabelling rule, unless it has variables.
func relabelRule(o object) {
	for i := 1; i < len(o.node.Content); i += 2 {
		v := o.node.Content[i]
		if slices.ContainsFunc(append([]*yaml.Node{v}, v.Content...), live) {
			return
		}
	}
	text := func(key string) model.Text {
		s, _ := o.text(key, "")
		return model.Text{Value: s, Set: o.has(key)}
	}
	r := &model.Relabel{Separator: text("separator"), Regex: text("regex"), TargetLabel: text("target_label").Value,
		Replacement: text("replacement"), Action: text("action").Value}
	for _, l := range o.items("source_labels") {
		r.SourceLabels = append(r.SourceLabels, l.Value)
	}
	if f, ok := number(resolve(o.at("modulus"))); ok && o.has("modulus") {
		r.Modulus, _ = strconv.ParseUint(strconv.FormatFloat(f, 'f', 0, 64), 10, 64)
	}
	for _, p := range o.checker.relabel.Check(r) {
		if p.Severity == diag.Error {
			field := ruleField(p.Path)
			o.report(diag.Error, p.Code, o.at(field), "", "a rule of %s that the agent refuses: %s", o.path,
				cmp.Or(field, "fields that do not go together"))
		}
	}
	if (r.Action == "labeldrop" || r.Action == "labelkeep") && o.has("source_labels") && len(r.SourceLabels) == 0 {
		o.wrong(o.get("source_labels"), "leave it out", "%s: must not be there", o.name("source_labels"))
	}
	if o.has("action") && r.Action == "" {
		o.wrong(o.get("action"), "leave it out", "%s: is empty", o.name("action"))
	}
}

// ruleField returns the agent's spelling of a field.
func ruleField(field string) string {
	switch field {
	case "sourceLabels":
		return "source_labels"
	case "targetLabel":
		return "target_label"
	}
	return field
}

// labels checks a set of labels.
func (c *checker) labels(n *yaml.Node, path string) {
	c.mapping("string", n, path)
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i < len(n.Content); i += 2 {
		if key, known := literal(n.Content[i]); known && !prommodel.LabelName(key).IsValidLegacy() {
			c.refuse(diag.InvalidLabelName, n.Content[i], "use letters, digits and underscores", "%s: not a label name",
				path)
		}
	}
}
