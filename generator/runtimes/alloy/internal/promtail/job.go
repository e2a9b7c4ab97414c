// Package promtail turns scrape configurations of Promtail, which users wrote by hand for a LogsInstance, into what
// Alloy's components take. They have been checked by the agent's rules, by package agent/handwritten.
//
// Jobs with targets that are written out, with discovery of the cluster's own objects, or with the journal are read,
// with every stage. Anything else is a diagnostic at its line, never silently left out. Their messages do not quote the
// configuration, which comes from a Secret.
package promtail

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
)

// Job is one scrape configuration.
type Job struct {
	Name string
	// Static are targets that are written out, and Kubernetes is discovery in the cluster. Either can be empty.
	Static     []syntax.Expr
	Kubernetes []*model.KubernetesSD
	// Journal are the arguments of loki.source.journal, or nil.
	Journal []syntax.Attr
	// File are the arguments of loki.source.file that are not usual, and Decompression its block, or nil.
	File          []syntax.Attr
	Decompression *syntax.Block
	Relabel       []*model.Relabel
	Stages        []*syntax.Block
}

// Read returns a job. expand returns a text in which the agent replaces variables, or false if Alloy cannot.
func Read(raw *model.Raw, expand func(string) (syntax.Expr, bool)) (*Job, diag.List) {
	r := reader{expand: expand, job: &Job{Name: raw.Name()}}
	sources := 0
	each(raw.Job, func(key string, at, v *yaml.Node) {
		switch key {
		case "job_name":
		case "static_configs":
			sources++
			r.static(v)
		case "kubernetes_sd_configs":
			sources++
			r.kubernetes(v)
		case "journal":
			sources++
			r.journal(v)
		case "pipeline_stages":
			r.job.Stages = r.stages(v)
		case "relabel_configs":
			r.relabel(v)
		case "encoding":
			r.job.File = append(r.job.File, syntax.Attr{Name: "encoding", Value: r.text(v)})
		case "decompression":
			r.decompression(v)
		default:
			r.cannot(at, unknown(key)+" is not rendered for Alloy yet")
		}
	})
	if r.job.Journal != nil && sources > 1 {
		r.cannot(raw.Job, "a job reads from the journal or from files, not from both")
	}
	r.job.Relabel = append(r.job.Relabel, raw.Relabel...)
	return r.job, r.problems
}

// unknown returns the name of a field of a job, if the field is one of Promtail's.
func unknown(key string) string {
	const other = "azure_event_hubs cloudflare gcplog gelf heroku_drain kafka loki_push_api syslog windows_events"
	if slices.Contains(strings.Fields(other), key) ||
		strings.HasSuffix(key, "_sd_configs") && strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789_") == "" {
		return key
	}
	return "this field of a job"
}

// reader reads one job.
type reader struct {
	expand   func(string) (syntax.Expr, bool)
	job      *Job
	problems diag.List
}

func (r *reader) cannot(at *yaml.Node, message string) {
	d := diag.NotInRuntime.At("", "%s", message)
	d.Line = at.Line
	r.problems.Add(d)
}

// each calls f for the pairs of a mapping.
func each(n *yaml.Node, f func(key string, at, value *yaml.Node)) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		f(n.Content[i].Value, n.Content[i], n.Content[i+1])
	}
}

// items returns the items of a list, or a single value in its place.
func items(n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.SequenceNode {
		return n.Content
	}
	return []*yaml.Node{n}
}

// text returns a text with its variables.
func (r *reader) text(n *yaml.Node) syntax.Expr {
	e, ok := r.expand(n.Value)
	if !ok || n.Kind != yaml.ScalarNode {
		r.cannot(n, "Alloy knows only ${NAME} and ${NAME:-default}, where the default has no variables")
		return `""`
	}
	return e
}

// plain returns a text that must not have variables, because it decides what is rendered.
func (r *reader) plain(n *yaml.Node) string {
	if e, ok := r.expand(n.Value); !ok || strings.Contains(string(e), "sys.env(") || strings.Contains(string(e), "$(") {
		r.cannot(n, "variables cannot be replaced here for Alloy")
	}
	return n.Value
}

func (r *reader) boolean(n *yaml.Node) bool {
	b, err := strconv.ParseBool(n.Value)
	if err != nil {
		r.cannot(n, "must be true or false for Alloy")
	}
	return b
}

func (r *reader) number(n *yaml.Node) syntax.Expr {
	e, ok := syntax.Number(n.Value)
	if !ok {
		r.cannot(n, "must be a number for Alloy")
		return "0"
	}
	return e
}

func (r *reader) list(n *yaml.Node) syntax.Expr {
	var out []syntax.Expr
	for _, i := range items(n) {
		out = append(out, r.text(i))
	}
	return syntax.List(out...)
}

// texts returns a mapping of texts.
func (r *reader) texts(n *yaml.Node) syntax.Expr {
	return syntax.Object(r.pairs(n))
}

func (r *reader) pairs(n *yaml.Node) (out []syntax.Pair) {
	each(n, func(key string, _, v *yaml.Node) { out = append(out, syntax.Pair{Key: key, Value: r.text(v)}) })
	return out
}

// relabel reads rules. Alloy's are the same, but variables in them would change what is rendered.
func (r *reader) relabel(n *yaml.Node) {
	for _, item := range items(n) {
		rule := &model.Relabel{}
		each(item, func(key string, at, v *yaml.Node) {
			switch key {
			case "source_labels":
				for _, l := range items(v) {
					rule.SourceLabels = append(rule.SourceLabels, r.plain(l))
				}
			case "separator":
				rule.Separator = model.Present(r.plain(v))
			case "regex":
				rule.Regex = model.Present(r.plain(v))
			case "target_label":
				rule.TargetLabel = r.plain(v)
			case "replacement":
				rule.Replacement = model.Present(r.plain(v))
			case "action":
				rule.Action = r.plain(v)
			case "modulus":
				rule.Modulus, _ = strconv.ParseUint(r.plain(v), 10, 64) // checked before
			default:
				r.cannot(at, "a rule with this field is not rendered for Alloy")
			}
		})
		r.job.Relabel = append(r.job.Relabel, rule)
	}
}
