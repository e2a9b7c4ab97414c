package targets

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	prommodel "github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"

	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/model"
)

// ruleOf identifies a rule as Prometheus knows it: jobs share rules, and the value of a shard is in its expression.
type ruleOf struct {
	*model.Relabel
	shard string
}

// rules has rules as Prometheus knows them.
type rules map[ruleOf]*relabel.Config

// of returns a rule for a shard.
func (r rules) of(rule *model.Relabel, shard explain.Shard) (*relabel.Config, error) {
	key := ruleOf{rule, shard.Values[rule.Shard]}
	if c := r[key]; c != nil {
		return c, nil
	}
	text := func(t model.Text, otherwise string) string {
		if t.Set {
			return t.Value
		}
		return otherwise
	}
	expression := text(rule.Regex, "(.*)")
	if rule.Shard != model.NoShardValue {
		expression = key.shard + rule.Regex.Value
	}
	regex, err := relabel.NewRegexp(expression)
	if err != nil {
		return nil, err
	}
	c := &relabel.Config{Separator: text(rule.Separator, ";"), Regex: regex, Modulus: rule.Modulus,
		TargetLabel: rule.TargetLabel, Replacement: text(rule.Replacement, "$1"),
		Action:               relabel.Action(strings.ToLower(cmp.Or(rule.Action, "replace"))),
		NameValidationScheme: prommodel.LegacyValidation}
	for _, name := range rule.SourceLabels {
		c.SourceLabels = append(c.SourceLabels, prommodel.LabelName(name))
	}
	r[key] = c
	return c, nil
}

// outcome is what becomes of a target that was found.
type outcome struct {
	// rule is the index of the rule that drops it; afterRules: it cannot be scraped, and why says the reason. It is
	// -1 if the target is kept.
	rule   int
	why    string
	url    *url.URL
	labels labels.Labels
	shards []int // that scrape it
}

const (
	kept       = -1
	afterRules = -2
)

// relabel applies the rules of a job. A rule that compares the value of a shard keeps the target in the shards that it
// keeps it in; no other rule differs between shards.
func (r rules) relabel(j *job, lb *labels.Builder, of found) (outcome, error) {
	lb.Reset(of.labels)
	j.settings.Before(lb)
	out := outcome{rule: kept}
	for i := range j.sharing {
		out.shards = append(out.shards, i)
	}
	for i, rule := range j.rules {
		var in []int
		for _, number := range out.shards {
			c, err := r.of(rule, j.sharing[number])
			if err != nil {
				return out, fmt.Errorf("%s: rule %d: %w", j.Name, i+1, err)
			}
			isKept := relabel.ProcessBuilder(lb, c)
			if rule.Shard == model.NoShardValue {
				if isKept {
					in = out.shards
				}
				break
			}
			if isKept {
				in = append(in, number)
			}
		}
		if out.shards = in; len(in) == 0 {
			out.rule = i
			return out, nil
		}
	}
	if out.url, out.why = j.settings.After(lb); out.why != "" {
		out.rule = afterRules
	}
	out.labels = lb.Labels()
	return out, nil
}
