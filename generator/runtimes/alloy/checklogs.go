package alloy

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/agent/handwritten"
	agentstages "github.com/agentry-dev/agentry/generator/runtimes/agent/stages"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/catalogue"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/internal/promtail"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/internal/stages"
	"github.com/agentry-dev/agentry/generator/runtimes/internal/instance"
)

// logs checks LogsInstances and the pipelines of PodLogs.
func (f *findings) logs(l *model.Logs, known bool) {
	seen := map[*model.LogsScrapeConfig]bool{}
	for i := range l.Configs {
		one := &l.Configs[i]
		f.logsInstance(one)
		f.writtenLogs(one, known)
		for _, job := range one.ScrapeConfigs {
			if seen[job] {
				continue
			}
			seen[job] = true
			for _, d := range stages.Check(job.Stages) {
				d.Object = job.Origin.Object
				f.Add(d)
			}
		}
	}
	f.Add(agentstages.CheckAll(l)...)
}

// writtenLogs checks the hand-written jobs of an instance by the rules of the agent and of Alloy. Components are named
// after jobs, so no two jobs may have the same name. known means that the agent's schema has all fields of the jobs.
func (f *findings) writtenLogs(i *model.LogsInstance, known bool) {
	names := map[string]bool{}
	for _, job := range i.ScrapeConfigs {
		names[job.JobName] = true
	}
	say := func(line int, d diag.Diagnostic) {
		f.Add(instance.InText(&i.Additional[0], i.Origin, line, d))
	}
	var jobs []*yaml.Node
	for n := range i.Additional {
		raw := &i.Additional[n]
		jobs = append(jobs, raw.Job)
		if names[raw.Name()] {
			say(raw.Job.Line, diag.NotInRuntime.At("",
				"the job_name appears twice: components of Alloy are called after it"))
		}
		names[raw.Name()] = true
		read, problems := promtail.Read(raw, expanded)
		if since := catalogue.Get("loki.source.journal").Fields["legacy_position"].Since; read != nil &&
			read.Journal != nil && !f.version.Has(since) {
			say(raw.Job.Line, diag.NotInRuntime.At("", "%s",
				f.tooOld("legacy_position in loki.source.journal, by which it goes on where the agent stopped",
					since)).
				WithHint(orLater(since)))
		}
		for _, p := range problems {
			say(p.Line, p.WithHint("render its GrafanaAgent with the runtime agent, or remove what Alloy cannot do"))
		}
	}
	for _, p := range handwritten.Check(handwritten.Logs, jobs, known) {
		say(p.Line, p)
	}
}

func (f *findings) logsInstance(i *model.LogsInstance) {
	if t := i.TargetConfig; t != nil {
		if d, err := time.ParseDuration(t.SyncPeriod); err == nil && d <= 0 {
			f.Add(i.Origin.Place(diag.InvalidSetting.At(".targetConfig.syncPeriod",
				"must be above zero: the program would crash")))
		}
	}
	for n, c := range i.Clients {
		f.logsClient(&c)
		for _, other := range i.Clients[:n] {
			origin := other.Origin
			if other.Origin = c.Origin; reflect.DeepEqual(other, c) {
				f.Add(c.Origin.Place(diag.DuplicateLogsClient.At("", "%s",
					"is equal to "+origin.Path+": every line would be sent twice")))
				break
			}
		}
	}
}

func (f *findings) logsClient(c *model.LogsClient) {
	client := model.HTTPClient{HTTPAuth: c.HTTPAuth, TLS: c.TLS}
	f.client(c.Origin, &client)
	f.needsFiles(c.Origin, 0, tlsFiles(&client))
	printed := newFile(false)
	(&logs{file: printed}).endpoint(c)
	f.expressible(c.Origin, printed)
	for _, name := range slices.Sorted(maps.Keys(c.ExternalLabels)) {
		if _, ok := expanded(c.ExternalLabels[name]); !ok {
			f.Add(c.Origin.Place(diag.NotInRuntime.At(".externalLabels["+name+"]", "%s", onlyPlainVariables)))
		}
	}
}
