package hierarchytest

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"go.yaml.in/yaml/v3"
)

// scraped is the outcome of a target.
type scraped struct {
	vars variables // of the shard that scrapes it
	// why says what drops the target, or is empty.
	why    string
	labels labels.Labels
	url    string
}

// scrape relabels a target in each shard. It returns the result of the first shard that keeps the target, otherwise
// that of the last shard.
func scrape(c *configuration, j *job, discovered map[string]string) (out scraped, err error) {
	for _, vars := range c.shards {
		if out, err = relabelTarget(&c.Metrics.Global, j, discovered, vars); err != nil || out.why == "" {
			break
		}
	}
	return out, err
}

func relabelTarget(g *global, j *job, discovered map[string]string, vars variables) (scraped, error) {
	out := scraped{vars: vars}
	configs, err := rules(j.Relabel, vars)
	if err != nil {
		return out, err
	}
	lb := labels.NewBuilder(labels.FromMap(discovered))
	setDefaults(lb, g, j)
	for i, rule := range configs {
		if !relabel.ProcessBuilder(lb, rule) {
			out.why = fmt.Sprintf("relabel rule %d: %s", i+1, describe(&j.Relabel[i], vars))
			return out, nil
		}
	}
	address := lb.Get(model.AddressLabel)
	if address == "" {
		out.why = "it has no " + model.AddressLabel
		return out, nil
	}
	address = withPort(address, lb.Get(model.SchemeLabel))
	lb.Set(model.AddressLabel, address)
	if lb.Get(model.InstanceLabel) == "" {
		lb.Set(model.InstanceLabel, address)
	}
	out.url = scrapeURL(lb, j)
	lb.Range(func(l labels.Label) {
		if strings.HasPrefix(l.Name, model.ReservedLabelPrefix) {
			lb.Del(l.Name)
		}
	})
	out.labels = lb.Labels()
	return out, nil
}

// setDefaults sets the labels that the job gives a target unless service discovery sets them.
func setDefaults(lb *labels.Builder, g *global, j *job) {
	defaults := map[string]string{
		model.JobLabel:            j.Name,
		model.ScrapeIntervalLabel: cmp.Or(j.Interval, g.ScrapeInterval, "1m"),
		model.ScrapeTimeoutLabel:  cmp.Or(j.Timeout, g.ScrapeTimeout, "10s"),
		model.MetricsPathLabel:    cmp.Or(j.Path, "/metrics"),
		model.SchemeLabel:         cmp.Or(j.Scheme, "http"),
	}
	for name, values := range j.Params {
		if len(values) > 0 {
			defaults[model.ParamLabelPrefix+name] = values[0]
		}
	}
	for name, value := range defaults {
		if lb.Get(name) == "" {
			lb.Set(name, value)
		}
	}
}

// withPort returns the address with the port of its scheme, if it has none.
func withPort(address, scheme string) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	port := ":80"
	if scheme == "https" {
		port = ":443"
	}
	if _, _, err := net.SplitHostPort(address + port); err != nil {
		return address
	}
	return address + port
}

// scrapeURL returns the URL to scrape.
func scrapeURL(lb *labels.Builder, j *job) string {
	params := url.Values{}
	for name, values := range j.Params {
		params[name] = slices.Clone(values)
	}
	lb.Range(func(l labels.Label) {
		name, is := strings.CutPrefix(l.Name, model.ParamLabelPrefix)
		switch {
		case !is:
		case len(params[name]) > 0:
			params[name][0] = l.Value
		default:
			params[name] = []string{l.Value}
		}
	})
	u := url.URL{Scheme: lb.Get(model.SchemeLabel), Host: lb.Get(model.AddressLabel),
		Path: lb.Get(model.MetricsPathLabel), RawQuery: params.Encode()}
	return u.String()
}

// describe returns a rule on one line, as in the configuration.
func describe(node *yaml.Node, vars variables) string {
	var rule map[string]any
	if expanded(node, vars).Decode(&rule) != nil {
		return "a rule that cannot be shown"
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(rule)) {
		text := fmt.Sprint(rule[key])
		if list, ok := rule[key].([]any); ok {
			var items []string
			for _, item := range list {
				items = append(items, fmt.Sprint(item))
			}
			text = "[" + strings.Join(items, ", ") + "]"
		}
		parts = append(parts, key+": "+text)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
