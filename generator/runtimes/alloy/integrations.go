package alloy

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/internal/alloynames"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/catalogue"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/internal/exporter"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
)

// integration is one integration in the pods of a file.
type integration struct {
	*exporter.Kind
	model.IntegrationSource
	named    string // what people call it
	jobLabel string
	config   model.Map
}

// parts returns the object that its component stands for.
func (in *integration) parts() []runtimes.Span {
	return []runtimes.Span{{Name: in.named, Origin: in.Origin}}
}

// integrationsOf returns the integrations that Alloy has.
func integrationsOf(all *model.Integrations) (out []integration) {
	if all == nil {
		return nil
	}
	for _, list := range all.Lists {
		kind := exporter.Of(list.Name)
		if kind == nil || kind.Component == "" {
			continue
		}
		for i, config := range list.Configs {
			out = append(out, integration{kind, list.Sources[i], list.Named(i), list.JobLabel, config})
		}
	}
	return out
}

// label returns the label of all components of an integration. Its kind is a part, because an Integration and a
// MetricsIntegration can have one name.
func (in *integration) label() string {
	kind := "integration"
	if in.ofRFC1() {
		kind = "metricsIntegration"
	}
	return alloynames.Label(kind + "/" + in.Object.Namespace + "/" + in.Object.Name)
}

func (in *integration) ofRFC1() bool { return in.Object.Kind == "MetricsIntegration" }

// id returns the id of its component, which is a part of the path of its metrics.
func (in *integration) id() string { return in.Component + "." + in.label() }

// expanding stands for an integration where a job is needed: as in a hand-written job, variables are expanded.
var expanding = model.ScrapeConfig{Variables: true}

// component returns the component of an integration.
func (w *values) exporter(in *integration) syntax.Block {
	args := in.Arguments(in.config, w.redact)
	if in.Component == exporter.Faro {
		exporter.FaroDefaults(&args.Values)
	}
	b := syntax.Block{Name: in.Component, Label: in.label()}
	w.arguments(&b, catalogue.Get(in.Component), "", args.Values)
	replaced(&expanding, &b)
	for _, t := range args.Texts {
		b.Set(t.Name, written(t.YAML))
	}
	return b
}

// written returns a text of several lines in which variables are expanded.
func written(text string) syntax.Expr {
	var all []syntax.Expr
	parts, _ := split(text)
	for _, p := range parts {
		if p.value == "" {
			p.value = syntax.Raw(p.text)
		}
		all = append(all, p.value)
	}
	return syntax.Concat(all...)
}

// integrations are the components of the integrations of a file.
type integrations struct {
	*file
	lines map[string][]syntax.Expr // what takes the lines for a LogsInstance, by its name
}

// writeIntegrations writes the components of integrations, and of the instances that they send to.
func writeIntegrations(to *file, c *model.Config) {
	f := integrations{to, map[string][]syntax.Expr{}}
	all := integrationsOf(c.Integrations)
	f.receivers(all, c.Logs)
	jobs := map[string][]*model.ScrapeConfig{}
	for i := range all {
		in := &all[i]
		switch in.Component {
		case exporter.Faro:
			f.faro(in)
		case exporter.Events:
			f.events(in)
		default:
			b := f.exporter(in)
			f.instances = append(f.instances, component{Block: b, parts: in.parts()})
			if to, job := scrapesItself(in); job != nil {
				f.exporters[job] = f.named(in, job.Relabel)
				jobs[to] = append(jobs[to], job)
			}
		}
	}
	if c.Metrics == nil {
		return
	}
	for _, i := range c.Metrics.Configs {
		if i.ScrapeConfigs = jobs[i.Name]; len(i.ScrapeConfigs) > 0 {
			f.instance(&c.Metrics.Global, &i)
		}
	}
}

// receivers writes what sends the lines of integrations.
func (f *integrations) receivers(all []integration, l *model.Logs) {
	if l == nil {
		return
	}
	used := map[string]bool{}
	for i := range all {
		used[text(all[i].config.Get("logs_instance"))] = true
	}
	for i := range l.Configs {
		if one := &l.Configs[i]; used[one.Name] {
			f.lines[one.Name] = f.clientsOf(one)
		}
	}
}

// clientsOf writes what sends the lines of a LogsInstance, and returns where they are sent to.
func (f *integrations) clientsOf(i *model.LogsInstance) []syntax.Expr {
	l := logs{file: f.file, instance: alloynames.Label(i.Name)}
	for n := range i.Clients {
		l.client(n, &i.Clients[n])
	}
	return l.clients
}

// faro writes a receiver of what browsers send.
func (f *integrations) faro(in *integration) {
	b := f.exporter(in)
	output := syntax.Block{Name: "output"}
	output.Set("logs", syntax.List(f.lines[text(in.config.Get("logs_instance"))]...))
	b.Add(output)
	f.instances = append(f.instances, component{Block: b, parts: in.parts()})
}

// events writes what reads events of Kubernetes and gives their lines the agent's labels.
func (f *integrations) events(in *integration) {
	b := f.exporter(in)
	rules := syntax.Block{Name: "loki.relabel", Label: in.label()}
	rules.Set("forward_to", syntax.List(f.lines[text(in.config.Get("logs_instance"))]...))
	rules.Add(setTo("instance", in.Instance.Value))
	rules.Add(setTo("agent_hostname", in.Instance.Value))
	for _, p := range in.extraLabels() {
		rules.Add(setTo(p.Key, text(p.Value)))
	}
	b.Set("forward_to", syntax.List(syntax.Expr("loki.relabel."+in.label()+".receiver")))
	f.instances = append(f.instances, component{Block: b, parts: in.parts()})
	f.instances = append(f.instances, component{Block: rules})
}

// componentPrefix begins the labels of an exporter's targets that only Alloy has.
const componentPrefix = "__meta_component_"

// named returns the targets of an exporter in its own pod, with the labels that the agent gives them. They can be read
// by rules.
func (f *integrations) named(in *integration, rules []*model.Relabel) syntax.Expr {
	b := syntax.Block{Name: "discovery.relabel", Label: in.label()}
	b.Set("targets", syntax.Expr(in.id()+".targets"))
	if f.regexes.read(rules, componentPrefix+"id") || f.regexes.read(rules, componentPrefix+"name") {
		b.Add(dropped(componentPrefix + ".+"))
	}
	host := syntax.Concat(node(), syntax.String(":"+strconv.Itoa(runtimes.DefaultPort)))
	b.Add(setTo("job", in.jobLabel))
	switch {
	case in.Instance.Set:
		b.Add(setTo("instance", in.Instance.Value))
	case in.OfPod:
		b.Add(setToExpr("instance", host))
	}
	for _, l := range in.metaLabels(true) {
		switch value := text(l.Value); {
		case !f.regexes.read(rules, l.Key):
		case value == "": // the instance, which is known to the pod
			b.Add(rule("rule", &model.Relabel{SourceLabels: []string{"instance"}, TargetLabel: l.Key}))
		default:
			b.Add(setTo(l.Key, value))
		}
	}
	b.Add(setToExpr("agent_hostname", host))
	for _, p := range in.extraLabels() {
		b.Add(in.ofAllTargets(p))
	}
	if in.TargetLabel != "" {
		b.Add(rule("rule", &model.Relabel{SourceLabels: []string{"__param_target"}, TargetLabel: in.TargetLabel}))
	}
	f.targets = append(f.targets, component{Block: b, namespace: in.Object.Namespace})
	return syntax.Expr("discovery.relabel." + in.label() + ".output")
}

// ofAllTargets returns a rule for a label that the user adds. A parameter that a target has of its own stays.
func (in *integration) ofAllTargets(p model.Pair) syntax.Block {
	if in.Targets == "" || !strings.HasPrefix(p.Key, "__param_") {
		return setTo(p.Key, text(p.Value))
	}
	b := rule("rule", unlessSet(&expanding, p.Key, text(p.Value)))
	replaced(&expanding, &b)
	return b
}

// dropped returns a rule that removes the labels whose names match an expression.
func dropped(names string) syntax.Block {
	return rule("rule", &model.Relabel{Regex: model.Present(names), Action: "labeldrop"})
}

// extraLabels returns the labels that the user adds to targets or lines. Some of the agent's cannot be changed by them,
// nor the label with the address that a target asks.
func (in *integration) extraLabels() (out model.Map) {
	all, _ := in.config.Get("extra_labels").(model.Map)
	for _, p := range all {
		if p.Key != "__address__" && p.Key != "__metrics_path__" && p.Key != in.TargetLabel &&
			(p.Key != "job" || in.Native || in.Component == exporter.Events) {
			out = append(out, p)
		}
	}
	return out
}

// metaLabels returns the labels of the agent's targets that only rules can read.
func (in *integration) metaLabels(scrapesItself bool) model.Map {
	const prefix = "__meta_agent_integration_"
	key := in.Instance.Value
	if in.TargetLabel != "" {
		key = in.Name
	}
	scraped := "0"
	if scrapesItself {
		scraped = "1"
	}
	return model.Map{{Key: prefix + "name", Value: model.String(in.Name)},
		{Key: prefix + "instance", Value: model.String(key)},
		{Key: prefix + "autoscrape", Value: model.String(scraped)}}
}

// setTo returns a rule that sets a label to a text in which variables are expanded.
func setTo(name, value string) syntax.Block {
	b := rule("rule", constant(&expanding, name, value))
	replaced(&expanding, &b)
	return b
}

func setToExpr(name string, value syntax.Expr) syntax.Block {
	b := rule("rule", &model.Relabel{TargetLabel: name})
	b.Set("replacement", value)
	return b
}

// scrapesItself returns the job of an integration that scrapes itself, and the instance that it sends to. The job is
// nil if it does not.
func scrapesItself(in *integration) (instance string, job *model.ScrapeConfig) {
	auto, _ := in.config.Get("autoscrape").(model.Map)
	if auto.Get("enable") != model.Bool(true) || in.jobLabel == "" {
		return "", nil
	}
	job = &model.ScrapeConfig{
		Origin:    model.Origin{Object: in.Object, Path: in.ConfigPath + "autoscrape"},
		JobName:   "integration/" + in.Object.Namespace + "/" + in.Object.Name + "/scrape",
		Variables: true, Interval: text(auto.Get("scrape_interval")), Timeout: text(auto.Get("scrape_timeout")),
		Relabel:       relabelRules(auto.Get("relabel_configs")),
		MetricRelabel: relabelRules(auto.Get("metric_relabel_configs")),
	}
	return cmp.Or(text(auto.Get("metrics_instance")), "default"), job
}

// relabelRules returns rules as people write them in the configuration of an integration.
func relabelRules(v model.Value) (out []*model.Relabel) {
	list, _ := v.(model.List)
	for _, item := range list {
		m, _ := item.(model.Map)
		optional := func(name string) model.Text {
			return model.Text{Value: text(m.Get(name)), Set: m.Get(name) != nil}
		}
		r := &model.Relabel{Separator: optional("separator"), Regex: optional("regex"),
			TargetLabel: text(m.Get("target_label")),
			Replacement: optional("replacement"), Action: text(m.Get("action"))}
		r.Modulus, _ = strconv.ParseUint(text(m.Get("modulus")), 10, 64)
		labels, _ := m.Get("source_labels").(model.List)
		for _, l := range labels {
			r.SourceLabels = append(r.SourceLabels, text(l))
		}
		out = append(out, r)
	}
	return out
}

// text returns the text of a value, or "" for one that is a list or a map.
func text(v model.Value) string {
	switch v := v.(type) {
	case model.String:
		return string(v)
	case model.Variable:
		return string(v)
	case model.Number:
		return string(v)
	case model.Bool:
		return strconv.FormatBool(bool(v))
	case model.Credential:
		return text(v.Value)
	}
	return ""
}
