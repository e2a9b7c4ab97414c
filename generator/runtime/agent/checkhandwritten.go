package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	prommodel "github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtime/agent/handwritten"
	"github.com/agentry-dev/agentry/generator/runtime/instance"
)

// checkHandWritten checks the hand-written jobs of an instance, alone and against the others. No message quotes their
// text.
func checkHandWritten(found *findings, c *model.Config, i *model.Instance, truncate time.Duration) {
	made := make(map[string][]diag.Object, len(i.ScrapeConfigs)+len(i.Additional))
	for _, job := range i.ScrapeConfigs {
		made[job.JobName] = []diag.Object{job.Origin.Object}
	}
	for n := range i.Additional {
		raw := &i.Additional[n]
		name := raw.Name()
		by, twice := made[name]
		if name != "" && twice {
			found.add(inText(raw, i.Origin, diag.Error, diag.DuplicateJob, raw.Job.Line, "the job_name appears twice in "+i.Origin.Object.String(), by...))
		} else {
			made[name] = nil
		}
		checkTiming(found, c, i, raw, truncate)
	}
	checkAgainstSchema(found, c, handwritten.Metrics, i.Additional, i.Origin)
}

// checkHandWrittenLogs checks the hand-written jobs of an instance.
func checkHandWrittenLogs(found *findings, c *model.Config, i *model.LogsInstance) {
	checkAgainstSchema(found, c, handwritten.Logs, i.Additional, i.Origin)
}

// checkAgainstSchema makes all checks that do not depend on other jobs.
func checkAgainstSchema(found *findings, c *model.Config, kind handwritten.Kind, list []model.Raw, instance model.Origin) {
	var jobs []*yaml.Node
	for i := range list {
		jobs = append(jobs, list[i].Job)
	}
	for _, f := range handwritten.Check(kind, jobs, c.KnownVersion) {
		one := inText(&list[0], instance, f.Severity, f.Code, f.Line, f.Message)
		one.Hint = f.Hint
		found.add(one)
	}
}

// inText returns a finding in a line of the Secret with a hand-written job, for the instance that uses it.
func inText(raw *model.Raw, instance model.Origin, s diag.Severity, code diag.Code, line int, message string, related ...diag.Object) model.Finding {
	f := raw.Origin.Find(s, code, "", fmt.Sprintf("line %d: %s", line, message), append([]diag.Object{instance.Object}, related...)...)
	f.TextLine = line
	return f
}

func checkTiming(found *findings, c *model.Config, i *model.Instance, raw *model.Raw, truncate time.Duration) {
	every, whose, limit := instance.GlobalInterval(c), []diag.Object{c.Origin.Object}, raw.Field("scrape_timeout")
	if text := raw.Field("scrape_interval"); text != "" && !strings.Contains(text, "$") {
		d, err := prommodel.ParseDuration(text)
		if err != nil {
			return // reported elsewhere
		}
		if d > 0 {
			every, whose = time.Duration(d), nil
		}
	}
	fail := func(code diag.Code, message string) {
		found.add(inText(raw, i.Origin, diag.Error, code, raw.Job.Line, message, whose...))
	}
	if every > truncate {
		fail(diag.IntervalAboveWAL, fmt.Sprintf("the scrape interval %s is longer than the walTruncateFrequency %s of %s",
			prommodel.Duration(every), prommodel.Duration(truncate), i.Origin.Object))
	}
	if limit == "" || strings.Contains(limit, "$") {
		return
	}
	if d, err := prommodel.ParseDuration(limit); err == nil && time.Duration(d) > every {
		fail(diag.TimeoutAboveInterval, fmt.Sprintf("the scrape timeout is longer than the scrape interval %s", prommodel.Duration(every)))
	}
}

// comparesLabelsOf reports whether a rule of a hand-written job compares labels with each other.
func comparesLabelsOf(raw model.Raw) bool {
	for _, name := range [...]string{"relabel_configs", "metric_relabel_configs"} {
		rules := raw.Child(name)
		if rules != nil && slices.ContainsFunc(rules.Content, func(r *yaml.Node) bool {
			rule := model.Raw{Job: r}
			return comparesLabels(&model.Relabel{Action: rule.Field("action")})
		}) {
			return true
		}
	}
	return false
}
