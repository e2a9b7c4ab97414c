package targets

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	prommodel "github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"

	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/internal/scrapetarget"
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
	// rule is the index of the rule that drops it, or that made it what cannot be scraped; noRule: there is none.
	rule int
	// refusal says why it cannot be scraped, although the rules keep it.
	refusal *scrapetarget.Refusal
	url     *url.URL // nil: it is dropped
	labels  labels.Labels
	shards  []int // that scrape it
}

const noRule = -1

// relabel applies the rules of a job. A rule that compares the value of a shard keeps the target in the shards that it
// keeps it in; no other rule differs between shards.
func (r rules) relabel(j *job, lb *labels.Builder, of found) (outcome, error) {
	lb.Reset(of.labels)
	j.settings.Before(lb)
	out := outcome{rule: noRule}
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
	if out.url, out.refusal = j.settings.After(lb); out.refusal != nil {
		out.rule = r.toBlame(j, lb, of, out.refusal.Labels, j.sharing[out.shards[0]])
	}
	out.labels = lb.Labels()
	return out, nil
}

// toBlame returns the index of the last rule that changes one of some labels of a target, or noRule.
func (r rules) toBlame(j *job, lb *labels.Builder, of found, names []string, shard explain.Shard) int {
	lb.Reset(of.labels)
	j.settings.Before(lb)
	values := func() (out []string) {
		for _, name := range names {
			out = append(out, lb.Get(name))
		}
		return out
	}
	last, are := noRule, values()
	for i, rule := range j.rules {
		if c, err := r.of(rule, shard); err == nil {
			relabel.ProcessBuilder(lb, c)
		}
		if now := values(); !slices.Equal(are, now) {
			last, are = i, now
		}
	}
	return last
}
