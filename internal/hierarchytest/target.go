package hierarchytest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/internal/scrapetarget"
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
	settings := scrapetarget.Settings{Job: j.Name, Interval: cmp.Or(j.Interval, g.ScrapeInterval),
		Timeout: cmp.Or(j.Timeout, g.ScrapeTimeout), Path: j.Path, Scheme: j.Scheme, Params: j.Params}
	settings.Before(lb)
	for i, rule := range configs {
		if !relabel.ProcessBuilder(lb, rule) {
			out.why = fmt.Sprintf("relabel rule %d: %s", i+1, describe(&j.Relabel[i], vars))
			return out, nil
		}
	}
	scraped, refusal := settings.After(lb)
	if refusal != nil {
		out.why = refusal.String()
		return out, nil
	}
	out.url, out.labels = scraped.String(), lb.Labels()
	return out, nil
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
