package build

import (
	"slices"
	"strings"
	"time"

	prommodel "github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtime/agent/handwritten"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// additional returns the scrape configurations of a MetricsInstance that a user wrote by
// hand, in a Secret. jobs are those that its monitors made.
func (b *builder) additional(in secretref.Scope, instance *manifest.Object, spec *v1alpha1.MetricsInstanceSpec, jobs []*model.ScrapeConfig, truncate time.Duration) []model.Raw {
	c, items := b.handWritten(in, spec.AdditionalScrapeConfigs)
	c.truncate = truncate
	names := make(map[string]bool, len(jobs)+len(items))
	for i := range jobs {
		names[jobs[i].JobName] = true
	}
	key := instance.Namespace + "/" + instance.Name
	b.additionalJobs[key] = nil
	for _, item := range items {
		name := field(item, "job_name")
		if name != "" && names[name] {
			c.fail(item.Line, diag.DuplicateJob, "the job_name is there twice in %s", instance.ID)
			c.relate(b.makers(name)...)
		}
		names[name] = true
		b.additionalJobs[key] = append(b.additionalJobs[key], name)
		c.checkTiming(item)
		b.equalRules[key] = b.equalRules[key] || comparesLabelsOf(item)
	}
	c.check(handwritten.Metrics, items)
	return c.encode(items)
}

// additionalLogs returns the scrape configurations of a LogsInstance that a user wrote by
// hand, in a Secret.
func (b *builder) additionalLogs(instance *manifest.Object, spec *v1alpha1.LogsInstanceSpec) []model.Raw {
	c, items := b.handWritten(b.secrets.In(instance), spec.AdditionalScrapeConfigs)
	c.check(handwritten.Logs, items)
	return c.encode(items)
}

// handWritten reports on the content of one Secret as one instance uses it. The content
// is configuration: scalars are carried over as written, whatever the policy. What is wrong
// in it is the Secret's fault, and leaves the instance alone. No message holds any of the
// text.
type handWritten struct {
	report   *reports
	env      environment
	secret   *manifest.Object
	at       string // path of the content in the Secret
	instance *manifest.Object
	known    bool          // the pods run the agent whose rules are known
	interval time.Duration // of jobs that have none
	truncate time.Duration // of a MetricsInstance
}

// handWritten reads spec.additionalScrapeConfigs of an instance, checked for what all
// such configurations have in common.
func (b *builder) handWritten(in secretref.Scope, ref *corev1.SecretKeySelector) (handWritten, []*yaml.Node) {
	const path = "spec.additionalScrapeConfigs"
	c := handWritten{report: b.report, env: b.env(), instance: in.Object(), known: knownAgent(b.spec), interval: b.globalInterval()}
	if ref == nil {
		return c, nil
	}
	var text []byte
	text, c.secret = in.Content(path, ref)
	if c.secret == nil || b.left[c.secret.ID] {
		return c, nil
	}
	c.at = contentPath(c.secret, ref.Key)
	items, notes, err := parseJobs(text)
	if err != nil {
		c.fail(err.line, diag.InvalidScrapeConfigs, "%s", err.message)
		return c, nil
	}
	for _, n := range notes {
		c.say(diag.Warning, n.line, diag.InvalidScrapeConfigs, "%s", n.message)
	}
	if !in.LiteralsAllowed() && len(items) > 0 {
		b.report.warn(c.instance, diag.ScrapeConfigsInClear, path, "the content of Secret %s/%s becomes part of the output, in clear", c.secret.Namespace, c.secret.Name)
	}
	for _, item := range items {
		if field(item, "job_name") == "" {
			c.fail(item.Line, diag.InvalidScrapeConfigs, "job_name is missing")
		}
		c.checkVariables(item)
	}
	return c, items
}

func (c handWritten) encode(items []*yaml.Node) []model.Raw {
	var out []model.Raw
	for _, item := range items {
		text, err := encodeNode(item)
		raw := model.Raw{Text: text}
		if err == nil && hide(item) {
			raw.Redacted, err = encodeNode(item)
		}
		if err != nil {
			c.fail(item.Line, diag.InvalidScrapeConfigs, "cannot be written: %v", err)
			continue
		}
		out = append(out, raw)
	}
	return out
}

func (c handWritten) fail(line int, code diag.Code, format string, args ...any) {
	c.say(diag.Error, line, code, format, args...)
}

func (c handWritten) say(s diag.Severity, line int, code diag.Code, format string, args ...any) {
	d := c.secret.Diag(s, code, c.at, "line %d: "+format, append([]any{line}, args...)...)
	if line > 0 && strings.HasPrefix(c.at, "stringData") {
		d.Line, d.Column = c.secret.ValuePosition(c.at, line, 1)
	}
	d.Related = []diag.Object{c.instance.Ref()}
	c.report.add(d)
}

// relate adds to those without whom the last finding would not be there.
func (c handWritten) relate(objects ...diag.Object) {
	last := &c.report.diags[len(c.report.diags)-1]
	last.Related = append(last.Related, objects...)
}

// makers is the monitor whose job has a name, if there is one.
func (b *builder) makers(name string) []diag.Object {
	for o, jobs := range b.built {
		if slices.ContainsFunc(jobs, func(job *model.ScrapeConfig) bool { return job.JobName == name }) {
			return []diag.Object{o.Ref()}
		}
	}
	return nil
}

// check checks everything that the agent does with the configurations on their own.
func (c handWritten) check(kind handwritten.Kind, items []*yaml.Node) {
	for _, f := range handwritten.Check(kind, items, c.known) {
		c.say(f.Severity, f.Line, f.Code, "%s", f.Message)
		c.report.diags[len(c.report.diags)-1].Hint = f.Hint
	}
}

// comparesLabelsOf reports whether a rule of a job compares labels with each other.
func comparesLabelsOf(item *yaml.Node) bool {
	for _, name := range [...]string{"relabel_configs", "metric_relabel_configs"} {
		rules := child(item, name)
		if rules != nil && slices.ContainsFunc(rules.Content, func(r *yaml.Node) bool {
			return comparesLabels(&model.Relabel{Action: field(r, "action")})
		}) {
			return true
		}
	}
	return false
}

func (c handWritten) checkTiming(item *yaml.Node) {
	every, whose, limit := c.interval, []diag.Object{c.env.agent.Ref()}, field(item, "scrape_timeout")
	if text := field(item, "scrape_interval"); text != "" && !strings.Contains(text, "$") {
		d, err := prommodel.ParseDuration(text)
		if err != nil {
			return // that is found elsewhere
		}
		if d > 0 {
			every, whose = time.Duration(d), nil
		}
	}
	if every > c.truncate {
		c.fail(item.Line, diag.IntervalAboveWAL, "the scrape interval %s is longer than the walTruncateFrequency %s of %s", prommodel.Duration(every), prommodel.Duration(c.truncate), c.instance.ID)
		c.relate(whose...)
	}
	if limit == "" || strings.Contains(limit, "$") {
		return
	}
	if d, err := prommodel.ParseDuration(limit); err == nil && time.Duration(d) > every {
		c.fail(item.Line, diag.TimeoutAboveInterval, "the scrape timeout is longer than the scrape interval %s", prommodel.Duration(every))
		c.relate(whose...)
	}
}

// checkVariables looks at all text below a node: there, variables are live.
func (c handWritten) checkVariables(n *yaml.Node) {
	for _, child := range n.Content {
		c.checkVariables(child)
	}
	if n.Kind != yaml.ScalarNode || !strings.Contains(n.Value, "$") {
		return
	}
	found, ok := variables(n.Value)
	if !ok {
		c.fail(n.Line, diag.EnvReference, "an unfinished ${: the agent refuses the whole configuration")
	}
	for _, v := range found {
		if !c.env.defines(v) {
			c.say(v.severity(), n.Line, diag.EnvReference, "refers to an environment variable that the pods do not define: %s", v.hint())
			c.relate(c.env.agent.Ref())
		}
	}
}
