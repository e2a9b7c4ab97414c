package alloy

import (
	"cmp"
	"strconv"

	"github.com/agentry-dev/agentry/generator/model"
)

// scrapesItself returns the job of an integration that scrapes itself, and the instance that it sends to. The job is nil if
// it does not.
func scrapesItself(in *integration) (instance string, job *model.ScrapeConfig) {
	auto, _ := in.config.Get("autoscrape").(model.Map)
	if auto.Get("enable") != model.Bool(true) || in.jobLabel == "" {
		return "", nil
	}
	job = &model.ScrapeConfig{
		Origin: model.Origin{Object: in.Object, Path: in.ConfigPath + "autoscrape"}, JobName: "integration/" + in.Object.Namespace + "/" + in.Object.Name + "/scrape",
		Variables: true, Interval: text(auto.Get("scrape_interval")), Timeout: text(auto.Get("scrape_timeout")),
		Relabel: relabelRules(auto.Get("relabel_configs")), MetricRelabel: relabelRules(auto.Get("metric_relabel_configs")),
	}
	return cmp.Or(text(auto.Get("metrics_instance")), "default"), job
}

// relabelRules returns rules as people write them in the configuration of an integration.
func relabelRules(v model.Value) (out []*model.Relabel) {
	list, _ := v.(model.List)
	for _, item := range list {
		m, _ := item.(model.Map)
		optional := func(name string) model.Text { return model.Text{Value: text(m.Get(name)), Set: m.Get(name) != nil} }
		r := &model.Relabel{Separator: optional("separator"), Regex: optional("regex"), TargetLabel: text(m.Get("target_label")),
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
