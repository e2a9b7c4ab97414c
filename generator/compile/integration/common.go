package integration

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	prommodel "github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/relabel"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// Checks of what all integrations with metrics have: extra_labels and autoscrape.

// ownLabels is the prefix of the labels that name the MetricsIntegration.
const ownLabels = "__meta_agentoperator_"

// labels checks the names in extra_labels. The agent accepts any name, but a client of its SD API refuses the
// targets of the whole pod for an invalid one.
func (k *checker) labels(o object) {
	labels, _ := o.values["extra_labels"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		path := child(o.at("extra_labels"), name)
		switch {
		case labels[name] == nil:
		case !prommodel.LabelName(name).IsValidLegacy() && !k.typ.Metrics:
			k.report(diag.Warning, diag.InvalidLabelName, path, "use letters, digits and underscores",
				"%q is not a label name: the logs would be refused", name)
		case !prommodel.LabelName(name).IsValidLegacy():
			k.report(diag.Error, diag.InvalidLabelName, path, "use letters, digits and underscores",
				"%q is not a label name: every target of the pod would be refused", name)
		case k.in.Kind == MetricsIntegration && strings.HasPrefix(name, ownLabels):
			k.report(diag.Error, diag.InvalidLabelName, path, "choose another name",
				"labels that begin with %s are set by agentry", ownLabels)
		case k.in.Kind == MetricsIntegration && !listed(name):
			k.report(diag.Error, diag.InvalidLabelName, path, "choose a name that does not begin with __",
				"the sd-aggregator refuses targets with the label %s: no IntegrationMonitor would find it", name)
		}
	}
}

// listed reports whether the sd-aggregator lists a target with a label of the name. The agent sets the address itself.
func listed(name string) bool {
	return !strings.HasPrefix(name, "__") || strings.HasPrefix(name, "__meta_") ||
		strings.HasPrefix(name, "__param_") ||
		slices.Contains([]string{"__address__", "__metrics_path__", "__scheme__"}, name)
}

// autoscrape checks how an integration scrapes itself. It does so only if the field enables it.
func (k *checker) autoscrape(o object, out *Checked) {
	auto := o.object("autoscrape")
	if !o.has("autoscrape") || auto.node.Field == nil {
		return
	}
	k.rules(auto, "relabel_configs")
	k.rules(auto, "metric_relabel_configs")
	enable, isBool := auto.values["enable"].(bool)
	if k.in.Kind == MetricsIntegration {
		if enable {
			k.report(diag.Warning, diag.InvalidIntegration, auto.at("enable"),
				"use an Integration, or collect it by an IntegrationMonitor",
				"a MetricsIntegration never scrapes itself: this is rendered as false")
		}
		return
	}
	if text, ok := auto.values["enable"].(string); ok && !isBool {
		_, known, _ := literal(text)
		enable = !known
	}
	if !enable {
		return
	}
	k.timeout(auto)
	if name, known := auto.text("metrics_instance"); known {
		ref := Reference{auto.at("enable"), cmp.Or(name, "default")}
		if name != "" {
			ref.Path = auto.at("metrics_instance")
		}
		out.MetricsInstances = append(out.MetricsInstances, ref)
	}
}

// timeout checks that the timeout does not exceed the interval.
func (k *checker) timeout(auto object) {
	interval, written1, ok1 := auto.interval("scrape_interval", k.in.ScrapeInterval, time.Minute)
	timeout, written2, ok2 := auto.interval("scrape_timeout", k.in.ScrapeTimeout, 10*time.Second)
	if !ok1 || !ok2 || timeout <= interval || !written1 && !written2 {
		return
	}
	path := auto.at("scrape_timeout")
	if !written2 {
		path = auto.at("scrape_interval")
	}
	k.report(diag.Error, diag.TimeoutAboveInterval, path, "",
		"the scrape timeout (%v) is longer than the scrape interval (%v): the agent would not start", timeout, interval)
	if !written1 || !written2 {
		k.relateAgent()
	}
}

// interval returns the duration of a field, or the GrafanaAgent's, or the agent's default.
func (o object) interval(field string, global, byDefault time.Duration) (d time.Duration, written, ok bool) {
	text, known := o.text(field)
	switch {
	case !known:
		return 0, true, false
	case o.has(field) && text != "0":
		parsed, err := prommodel.ParseDuration(text)
		return time.Duration(parsed), true, err == nil
	case global > 0:
		return global, false, true
	}
	return byDefault, false, true
}

// rules checks relabelling rules, except those that contain variables.
func (k *checker) rules(auto object, field string) {
	var checker relabel.Checker
	labels, before := relabel.Targets(), []*model.Relabel{}
	if strings.HasPrefix(field, "metric_") {
		labels = relabel.Samples()
	}
	for _, o := range auto.objects(field) {
		rule, known := o.rule()
		if !known {
			continue
		}
		problems := append(checker.Check(rule), labels.Lint(before, rule)...)
		before = append(before, rule)
		for _, p := range problems {
			if p.Code == diag.EnvReference {
				continue // variables are expanded here
			}
			path := o.path
			if p.Path != "" {
				path = o.at(snakeCase(p.Path))
			}
			k.report(p.Severity, p.Code, path, p.Hint, "%s", snakeFields.Replace(p.Message))
		}
	}
}

// rule returns a mapping as a relabelling rule.
func (o object) rule() (r *model.Relabel, known bool) {
	known = true
	text := func(field string) model.Text {
		s, ok := o.text(field)
		known = known && ok
		return model.Text{Value: s, Set: o.has(field)}
	}
	r = &model.Relabel{
		Separator: text("separator"), Regex: text("regex"), TargetLabel: text("target_label").Value,
		Replacement: text("replacement"), Action: text("action").Value,
	}
	r.SourceLabels, _ = o.texts("source_labels")
	modulus, ok := o.integer("modulus")
	r.Modulus = uint64(max(modulus, 0))
	return r, known && ok
}

// Custom resources spell the fields of relabelling rules differently.
var (
	capital     = lazyregexp.New(`[A-Z]`)
	snakeFields = strings.NewReplacer("targetLabel", "target_label", "sourceLabels", "source_labels")
)

func snakeCase(s string) string {
	return capital.ReplaceAllStringFunc(s, func(c string) string { return "_" + strings.ToLower(c) })
}
