package prometheus

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/model/relabel"
)

// addresses are those of discovered targets: with and without a port, of all families, and such as nobody can scrape.
var addresses = []string{"10.0.0.1:8080", "10.0.0.2", "web.example.com", "[fd00::1]", "[fd00::1]:9090", "fd00::2",
	"host:", "a/b", "a/b:80", "", "[x", "x]", ":1", "[]"}

// hostile are values of labels that rules may stumble over.
var hostile = []string{"", "x", "$1", "${1}", "a;b", "ä", "a.b-c", "true", "1", "https", "/metrics?x=1"}

// discoveredTargets returns targets that a job may discover: some that its rules keep, as far as these can be satisfied
// one by one, and some at random.
func discoveredTargets(job *config.ScrapeConfig, random *rand.Rand) (out []model.LabelSet) {
	if static := staticTargets(job); len(static) > 0 {
		return static
	}
	kept := map[string]string{}
	for _, rule := range job.RelabelConfigs {
		satisfy(kept, rule)
	}
	for _, address := range addresses {
		target := model.LabelSet{"__address__": model.LabelValue(address)}
		for name, value := range kept {
			target[model.LabelName(name)] = model.LabelValue(value)
		}
		out = append(out, target, distorted(target, random), distorted(target, random))
	}
	return out
}

// staticTargets returns the targets that are written out.
func staticTargets(job *config.ScrapeConfig) (out []model.LabelSet) {
	for _, sd := range job.ServiceDiscoveryConfigs {
		groups, _ := sd.(discovery.StaticConfig)
		for _, group := range groups {
			for _, t := range group.Targets {
				out = append(out, group.Labels.Merge(t))
			}
		}
	}
	return out
}

// fromServer are labels that a server which lists targets may set, and Kubernetes does not.
var fromServer = []string{"job", "instance", "__scheme__", "__metrics_path__", "__scrape_interval__", "__param_target",
	"__param_module"}

// distorted returns a target in which some labels have other values.
func distorted(target model.LabelSet, random *rand.Rand) model.LabelSet {
	out := target.Clone()
	names := make([]string, 0, len(out))
	for name := range out {
		names = append(names, string(name))
	}
	slices.Sort(names)
	for _, name := range names {
		if name != "__address__" && random.IntN(6) == 0 {
			out[model.LabelName(name)] = model.LabelValue(hostile[random.IntN(len(hostile))])
		}
	}
	return out
}

// satisfy sets labels so that a rule keeps a target, or does what it is there for.
func satisfy(labels map[string]string, rule *relabel.Config) {
	if rule.Regex.Regexp == nil {
		return // of an action without an expression
	}
	text := strings.TrimSuffix(strings.TrimPrefix(rule.Regex.Regexp.String(), "^(?s:"), ")$")
	parts := strings.Split(text, rule.Separator)
	for i, source := range rule.SourceLabels {
		name := string(source)
		if !strings.HasPrefix(name, "__meta_") || labels[name] != "" || rule.Action == relabel.Drop {
			continue
		}
		labels[name] = "value-of-" + strings.TrimPrefix(name, "__meta_")
		if i < len(parts) && len(parts) == len(rule.SourceLabels) {
			labels[name] = example(parts[i])
		}
	}
}

var plain = regexp.MustCompile(`^[\w.\-/\\]+`)

// example returns a text that an expression matches, if it is simple.
func example(expr string) string {
	re, err := regexp.Compile("^(?:" + expr + ")$")
	if err != nil {
		return "x"
	}
	simple := strings.ReplaceAll(plain.FindString(strings.TrimLeft(expr, "(?:")), `\`, "")
	for _, text := range []string{simple, "true", "web", "x", "10.0.0.1", "443", ""} {
		if re.MatchString(text) {
			return text
		}
	}
	return simple
}
