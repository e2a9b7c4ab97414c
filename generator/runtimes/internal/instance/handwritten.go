package instance

import (
	"fmt"
	"strings"
	"time"

	prommodel "github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/agent/handwritten"
)

// HandWritten checks the hand-written jobs of an instance, alone and against the others. No message quotes their text.
// An interval longer than truncate is an error, unless truncate is zero. Unless strict, unknown fields are warnings.
func HandWritten(kind handwritten.Kind, c *model.Config, i *model.Instance, truncate time.Duration,
	strict bool) (found diag.List) {
	made := make(map[string][]diag.Object, len(i.ScrapeConfigs)+len(i.Additional))
	for _, job := range i.ScrapeConfigs {
		made[job.JobName] = []diag.Object{job.Origin.Object}
	}
	for n := range i.Additional {
		raw := &i.Additional[n]
		name := raw.Name()
		by, twice := made[name]
		if name != "" && twice {
			found.Add(InText(raw, i.Origin, raw.Job.Line, diag.DuplicateJob.At("", "the job_name appears twice in %s",
				i.Origin.Object).With(by...)))
		} else {
			made[name] = nil
		}
		found = append(found, timing(c, i, raw, truncate)...)
	}
	return append(found, againstSchema(kind, i.Additional, i.Origin, strict)...)
}

// HandWrittenLogs checks the hand-written jobs of a LogsInstance.
func HandWrittenLogs(i *model.LogsInstance, strict bool) diag.List {
	return againstSchema(handwritten.Logs, i.Additional, i.Origin, strict)
}

// againstSchema makes all checks that do not depend on other jobs.
func againstSchema(kind handwritten.Kind, list []model.Raw, instance model.Origin,
	strict bool) (found diag.List) {
	var jobs []*yaml.Node
	for i := range list {
		jobs = append(jobs, list[i].Job)
	}
	for _, d := range handwritten.Check(kind, jobs, strict) {
		found.Add(InText(&list[0], instance, d.Line, d))
	}
	return found
}

// InText returns a diagnostic about a line of the Secret with a hand-written job, for the instance that uses it.
func InText(raw *model.Raw, instance model.Origin, line int, d diag.Diagnostic) diag.Diagnostic {
	d.Related = append([]diag.Object{instance.Object}, d.Related...)
	return raw.Origin.Place(d.InLine(line))
}

// timing compares the times of a job.
func timing(c *model.Config, i *model.Instance, raw *model.Raw, truncate time.Duration) (found diag.List) {
	every, whose, limit := GlobalInterval(c), []diag.Object{c.Origin.Object}, raw.Field("scrape_timeout")
	if text := raw.Field("scrape_interval"); text != "" && !strings.Contains(text, "$") {
		d, err := prommodel.ParseDuration(text)
		if err != nil {
			return nil // reported elsewhere
		}
		if d > 0 {
			every, whose = time.Duration(d), nil
		}
	}
	fail := func(code diag.Code, message string) {
		found.Add(InText(raw, i.Origin, raw.Job.Line, code.At("", "%s", message).With(whose...)))
	}
	if truncate > 0 && every > truncate {
		fail(diag.IntervalAboveWAL, fmt.Sprintf(
			"the scrape interval %s is longer than the walTruncateFrequency %s of %s",
			prommodel.Duration(every), prommodel.Duration(truncate), i.Origin.Object))
	}
	if limit == "" || strings.Contains(limit, "$") {
		return found
	}
	if d, err := prommodel.ParseDuration(limit); err == nil && time.Duration(d) > every {
		fail(diag.TimeoutAboveInterval,
			fmt.Sprintf("the scrape timeout is longer than the scrape interval %s", prommodel.Duration(every)))
	}
	return found
}
