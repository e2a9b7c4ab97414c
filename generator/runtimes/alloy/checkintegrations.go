package alloy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/catalogue"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/internal/exporter"
)

// withTheAgent is the way out for what Alloy cannot do.
const withTheAgent = "render its GrafanaAgent with the runtime agent"

// inPlace is the way out for what must be known.
const inPlace = "write what it stands for in place of the variable"

// integrations checks the integrations of a file.
func (f *findings) integrations(all *model.Integrations) {
	if all == nil {
		return
	}
	for _, list := range all.Lists {
		kind := exporter.Of(list.Name)
		for _, source := range list.Sources {
			switch {
			case kind == nil:
				f.instead(source.Origin, list.Name, withTheAgent+", or leave it out of the inputs")
			case kind.Component == "":
				f.instead(source.Origin, list.Name, kind.Instead)
			}
		}
	}
	for _, in := range integrationsOf(all) {
		f.integration(&in)
	}
}

func (f *findings) instead(o model.Origin, name, hint string) {
	f.Add(o.Place(diag.NotInRuntime.At(".name", "Alloy has nothing like the integration %s", name).WithHint(hint)))
}

// integration checks one integration that Alloy has.
func (f *findings) integration(in *integration) {
	say := func(d diag.Diagnostic) { f.Add(in.place(d)) }
	refuse := func(field, hint, message string) {
		say(diag.NotInRuntime.At(field, "%s", message).WithHint(hint))
	}
	if in.Differs != "" {
		say(diag.RuntimeDiffers.At("", "becomes %s in Alloy: %s", in.Component, in.Differs).As(diag.Info))
	}
	problems := in.Arguments(in.config, true).Problems
	for _, d := range problems {
		say(d)
	}
	unknownIn(in.config, "", func(field string) { refuse(field, "", onlyPlainVariables) })
	scrapedBy(in, refuse)
	if in.jobLabel != "" && !in.Instance.Set && !in.OfPod {
		say(diag.RuntimeDiffers.At("", "the label instance is what Alloy makes of the configuration, which may be "+
			"another text than the agent's, unless the field instance is set").As(diag.Info))
	}
	if problems.HasErrors() {
		return
	}
	of := catalogue.Get(in.Component)
	b := (&values{redact: true}).exporter(in)
	for _, l := range lacking(of, f.version, "", &b) {
		if l.since != "" {
			refuse(fieldOf(in, l.path), orLater(l.since)+", or leave the field out",
				f.tooOld(l.words()+" in "+in.Component, l.since))
			continue
		}
		refuse(fieldOf(in, l.path), withTheAgent+", or leave the field out",
			"Alloy's "+in.Component+" has no "+l.words())
	}
	for _, argument := range missing(of, "", &b) {
		if argument != "forward_to" && argument != "output" { // which are not settings of the integration
			refuse("", "", "Alloy's "+in.Component+" needs "+in.Field(argument))
		}
	}
}

// place returns a diagnostic about a field of the configuration, or about all of it, as one about its object.
func (in *integration) place(d diag.Diagnostic) diag.Diagnostic {
	d.Object = in.Object
	if d.Path = in.ConfigPath + d.Path; d.Path == in.ConfigPath {
		d.Path = strings.TrimRight(d.Path, ".>")
	}
	return d
}

// fieldOf returns the field that became an argument, as far as it is known, or "" for the configuration as a whole.
func fieldOf(in *integration, argument string) string {
	field := in.Field(argument)
	var at model.Value = in.config
	for name := range strings.SplitSeq(field, ".") {
		m, _ := at.(model.Map)
		if at = m.Get(name); at == nil {
			return ""
		}
	}
	return field
}

// unknownIn calls f with the path of each text that has a reference to a variable that Alloy cannot express.
func unknownIn(v model.Value, path string, f func(path string)) {
	switch v := v.(type) {
	case model.Map:
		for _, p := range v {
			unknownIn(p.Value, strings.TrimPrefix(path+"."+p.Key, "."), f)
		}
	case model.List:
		for i, item := range v {
			unknownIn(item, path+"["+strconv.Itoa(i)+"]", f)
		}
	default:
		if _, ok := split(text(v)); !ok {
			f(path)
		}
	}
}

// hasVariable reports whether a text has a variable.
func hasVariable(v model.Value) bool {
	parts, _ := split(text(v))
	return slices.ContainsFunc(parts, func(p part) bool { return p.value != "" })
}

// scrapedBy refuses what must be known of an integration that scrapes itself, because components are made of it.
func scrapedBy(in *integration, refuse func(field, hint, message string)) {
	auto, _ := in.config.Get("autoscrape").(model.Map)
	known := func(field string, v model.Value) {
		if hasVariable(v) {
			refuse(field, inPlace, "must be known when agentry renders for Alloy, and has a variable")
		}
	}
	for _, name := range [...]string{"enable", "metrics_instance", "scrape_interval", "scrape_timeout"} {
		known("autoscrape."+name, auto.Get(name))
	}
	for _, name := range [...]string{"relabel_configs", "metric_relabel_configs"} {
		rules, _ := auto.Get(name).(model.List)
		for i, item := range rules {
			r, _ := item.(model.Map)
			for _, p := range r {
				at := fmt.Sprintf("autoscrape.%s[%d].%s", name, i, p.Key)
				switch p.Key {
				case "action", "modulus", "target_label", "regex":
					known(at, p.Value)
				case "source_labels":
					labels, _ := p.Value.(model.List)
					for _, l := range labels {
						known(at, l)
					}
				}
			}
		}
	}
	if auto.Get("enable") == model.Bool(true) && in.Component == exporter.Faro {
		refuse("autoscrape.enable", "leave it out, and collect the metrics of Alloy with the integration agent",
			"in Alloy it has no metrics of its own")
	}
}

// collected checks what IntegrationMonitors select from, and returns it for them to find.
func (f *findings) collected(m *model.Metrics) *model.PodIntegrations {
	if m.Integrations == nil {
		return nil
	}
	for i := range m.Configs {
		for _, job := range m.Configs[i].ScrapeConfigs {
			if job.HTTP != nil && job.HTTP.Everyone {
				one := job.Origin.Place(diag.NotInRuntime.At(".scope",
					"Alloy finds the integrations of its own GrafanaAgent only"))
				one.Hint = "leave it out, and let a MetricsInstance of each GrafanaAgent select the IntegrationMonitor"
				f.Add(one)
			}
		}
	}
	out := *m.Integrations
	out.Used = true
	for _, list := range [...]*model.Integrations{out.Once, out.EveryNode} {
		for _, in := range integrationsOf(list) {
			if in.ofRFC1() {
				f.toldToOthers(&in)
			}
		}
	}
	return &out
}

// toldToOthers refuses what only the pods of a MetricsIntegration know, and the pods that collect it must know too.
func (f *findings) toldToOthers(in *integration) {
	refuse := func(field, hint, message string) {
		f.Add(in.place(diag.NotInRuntime.At(field, "%s", message).WithHint(hint)))
	}
	if in.Component == exporter.Faro {
		one := in.Place(diag.NotInRuntime.At(".name",
			"in Alloy it has no metrics of its own, which an IntegrationMonitor could collect"))
		one.Hint = "make it an Integration, and collect the metrics of Alloy with the integration agent"
		f.Add(one)
	}
	check := func(field string, v model.Value) {
		if hasVariable(v) {
			refuse(field, inPlace, "has a variable that only its own pods know, and IntegrationMonitors need it")
		}
	}
	labels, _ := in.config.Get("extra_labels").(model.Map)
	for _, p := range labels {
		check("extra_labels."+p.Key, p.Value)
	}
	targets, _ := in.config.Get(in.Targets).(model.List)
	for i, item := range targets {
		target, _ := item.(model.Map)
		for _, p := range target {
			check(fmt.Sprintf("%s[%d].%s", in.Targets, i, p.Key), p.Value)
		}
	}
}
