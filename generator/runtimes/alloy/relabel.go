package alloy

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	prommodel "github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/internal/credential"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
	"github.com/agentry-dev/agentry/internal/expression"
)

// shardValues are the environment variables with what differs between shards.
var shardValues = map[model.ShardValue]string{model.ShardNumber: "SHARD", model.Zone: "TOPOLOGY_ZONE",
	model.ShardInZone: "INZONE_SHARD"}

// anything matches every value. It is in the place of an environment variable that is not set: Alloy takes that for an
// empty text, with which a shard would drop all of its targets and say nothing.
const anything = ".*"

// rule returns a relabelling rule as a block with the name.
func rule(name string, r *model.Relabel) syntax.Block {
	b := syntax.Block{Name: name, Attrs: make([]syntax.Attr, 0, 5)}
	if len(r.SourceLabels) > 0 {
		b.Set("source_labels", syntax.Strings(r.SourceLabels))
	}
	setText(&b, "separator", r.Separator)
	switch {
	case r.Shard != model.NoShardValue:
		own := syntax.Call("coalesce", syntax.Env(shardValues[r.Shard]), syntax.String(anything))
		if r.Regex.Value != "" {
			own = syntax.Concat(own, syntax.String(r.Regex.Value))
		}
		b.Set("regex", own)
	default:
		setText(&b, "regex", r.Regex)
	}
	setString(&b, "target_label", r.TargetLabel)
	setText(&b, "replacement", r.Replacement)
	setString(&b, "action", strings.ToLower(r.Action))
	if r.Modulus != 0 {
		b.Set("modulus", syntax.Uint(r.Modulus))
	}
	return b
}

func setText(b *syntax.Block, name string, v model.Text) {
	if v.Set {
		b.Set(name, syntax.String(v.Value))
	}
}

// rules returns the rules for the targets of a job. Prometheus sets some labels before the rules, which they can read,
// and adds a port after them. Alloy sets the labels after all rules, and adds no port.
func (f *file) rules(global *model.Global, job *model.ScrapeConfig) []*syntax.Block {
	out := make([]*syntax.Block, 0, len(job.Relabel)+8)
	for _, r := range f.before(global, job) {
		out = append(out, f.ownBlock(job, r))
	}
	for _, r := range job.Relabel {
		out = append(out, f.ruleBlock(job, r))
	}
	for _, r := range f.after(job) {
		out = append(out, f.ownBlock(job, r))
	}
	return out
}

// ownRule identifies a rule that is added to the rules of jobs.
type ownRule struct{ sources, target, regex, replacement, action string }

// ownBlock returns the block of a rule that is added to the rules of a job. Except for the job's name, these rules are
// the same in many jobs, and are written once.
func (f *file) ownBlock(job *model.ScrapeConfig, r *model.Relabel) *syntax.Block {
	if job.Variables || r.TargetLabel == "job" {
		return f.targetRule(r)
	}
	key := ownRule{strings.Join(r.SourceLabels, ";"), r.TargetLabel, r.Regex.Value, r.Replacement.Value, r.Action}
	b, known := f.ownBlocks[key]
	if !known {
		b = syntax.Written(f.targetRule(r))
		f.ownBlocks[key] = b
	}
	return b
}

// ruleBlock returns the block of a rule. Jobs share most of their rules, so each is written once.
func (f *file) ruleBlock(job *model.ScrapeConfig, r *model.Relabel) *syntax.Block {
	if job.Variables {
		return f.targetRule(r)
	}
	b, known := f.ruleBlocks[r]
	if !known {
		b = syntax.Written(f.targetRule(r))
		f.ruleBlocks[r] = b
	}
	return b
}

// before returns the rules for the labels that Prometheus sets before the rules of a job. A label that no rule reads is
// left to the component that scrapes if it has the same value there.
func (f *file) before(global *model.Global, job *model.ScrapeConfig) []*model.Relabel {
	var out []*model.Relabel
	if f.exporters[job] == "" { // whose targets have one
		out = append(out, unlessSet(job, "job", job.JobName))
	}
	shared, own := f.timings.of(global), f.timings.ofJob(global, job)
	for _, l := range [...]struct{ name, value, shared string }{
		{"__scrape_interval__", own.interval, shared.interval},
		{"__scrape_timeout__", own.timeout, shared.timeout},
		{"__metrics_path__", cmp.Or(job.MetricsPath, defaultPath), defaultPath},
		{"__scheme__", cmp.Or(job.Scheme, defaultScheme), defaultScheme},
	} {
		if l.value != l.shared || f.regexes.read(job.Relabel, l.name) {
			out = append(out, unlessSet(job, l.name, l.value))
		}
	}
	for _, name := range sortedKeys(job.Params) {
		values, parameter := job.Params[name], "__param_"+name
		switch {
		case len(values) == 0 || values[0] == "" || !isLabel(parameter):
		case !inComponent(job, name, values) || f.regexes.read(job.Relabel, parameter):
			out = append(out, constant(job, parameter, values[0]))
		}
	}
	return out
}

// targetRule returns the block of a rule for targets. It shows reviewers no credential that becomes a parameter.
func (f *file) targetRule(r *model.Relabel) *syntax.Block {
	if credential.InRule(r.TargetLabel, r.Replacement.Value) {
		f.hidesInRules = true
		if f.redact {
			shown := *r
			shown.Replacement.Value = redacted
			r = &shown
		}
	}
	b := rule("rule", r)
	return &b
}

// inComponent reports whether no label can hold a parameter: it has several values, or one that is or may be empty, or
// a name that is not the name of a label, such as match[].
func inComponent(job *model.ScrapeConfig, name string, values []string) bool {
	mayBeEmpty := len(values) == 1 && (values[0] == "" || job.Variables && strings.Contains(values[0], "$"))
	return len(values) > 1 || mayBeEmpty || !isLabel("__param_"+name)
}

func isLabel(name string) bool { return prommodel.LabelName(name).IsValidLegacy() }

// constant returns a rule that sets a label.
func constant(job *model.ScrapeConfig, name, value string) *model.Relabel {
	return &model.Relabel{TargetLabel: name, Replacement: model.Present(escaped(job, value))}
}

// unlessSet returns a rule that sets a label if the target has none. A target of Kubernetes has none of those that
// Prometheus sets.
func unlessSet(job *model.ScrapeConfig, name, value string) *model.Relabel {
	r := constant(job, name, value)
	if job.Kubernetes == nil {
		r.SourceLabels, r.Regex = []string{name}, model.Present("")
	}
	return r
}

// withoutPort matches an address to which Prometheus adds the port of the scheme. The address is its first group.
const withoutPort = `([^:\[\]]+|\[[^\[\]]*\])`

// after returns the rules for what Prometheus does after the rules of a job. A parameter that a rule has removed is
// sent all the same.
func (f *file) after(job *model.ScrapeConfig) (out []*model.Relabel) {
	for _, name := range sortedKeys(job.Params) {
		values, parameter := job.Params[name], "__param_"+name
		if len(values) == 1 && !inComponent(job, name, values) && f.regexes.written(job.Relabel, parameter) {
			r := constant(job, parameter, values[0])
			r.SourceLabels, r.Regex = []string{parameter}, model.Present("")
			out = append(out, r)
		}
	}
	if job.Kubernetes != nil && !f.regexes.written(job.Relabel, "__scheme__") {
		port := "$1:80"
		if job.Scheme == "https" {
			port = "$1:443"
		}
		return append(out, &model.Relabel{SourceLabels: []string{"__address__"}, Regex: model.Present(withoutPort),
			TargetLabel: "__address__", Replacement: model.Present(port)})
	}
	if f.exporters[job] != "" && !f.regexes.written(job.Relabel, "__address__") {
		return out // its address has a port
	}
	both := []string{"__scheme__", "__address__"}
	return append(out,
		&model.Relabel{SourceLabels: both, Regex: model.Present("(?:http)?;" + withoutPort), TargetLabel: "__address__",
			Replacement: model.Present("$1:80")},
		&model.Relabel{SourceLabels: both, Regex: model.Present("https;" + withoutPort), TargetLabel: "__address__",
			Replacement: model.Present("$1:443")},
		&model.Relabel{SourceLabels: []string{"__address__"}, Regex: model.Present(withoutPort), Action: "drop"},
	)
}

// regexes are expressions of rules, compiled, but for those whose repetitions make them large. An invalid one is nil.
type regexes map[string]*regexp.Regexp

// maxKept is how many instructions repetitions may add to an expression that is kept.
const maxKept = 200

// matches reports whether the expression of a rule matches a label.
func (c regexes) matches(r *model.Relabel, name string) bool {
	text := anything
	if r.Regex.Set {
		text = r.Regex.Value
	}
	re, known := c[text]
	if !known {
		whole := "^(?:" + text + ")$"
		re, _ = expression.Compile(whole)
		if surplus, _ := expression.Surplus(whole); surplus <= maxKept {
			c[text] = re
		}
	}
	return re != nil && re.MatchString(name)
}

// read reports whether one of the rules reads a label.
func (c regexes) read(rules []*model.Relabel, name string) bool {
	return slices.ContainsFunc(rules, func(r *model.Relabel) bool {
		switch strings.ToLower(r.Action) {
		case "labelmap":
			return c.matches(r, name)
		case "keepequal", "dropequal":
			return r.TargetLabel == name || slices.Contains(r.SourceLabels, name)
		}
		return slices.Contains(r.SourceLabels, name)
	})
}

// written reports whether one of the rules may change or remove a label.
func (c regexes) written(rules []*model.Relabel, name string) bool {
	return slices.ContainsFunc(rules, func(r *model.Relabel) bool {
		switch strings.ToLower(r.Action) {
		case "keep", "drop", "keepequal", "dropequal":
			return false
		case "labeldrop":
			return c.matches(r, name)
		case "labelkeep":
			return !c.matches(r, name)
		case "labelmap":
			return true
		}
		return r.TargetLabel == name || strings.Contains(r.TargetLabel, "$")
	})
}
