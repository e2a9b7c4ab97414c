package alloy

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	agentstages "github.com/agentry-dev/agentry/generator/runtime/agent/stages"
	"github.com/agentry-dev/agentry/generator/runtime/alloy/stages"
)

// logs checks LogsInstances and the pipelines of PodLogs.
func (f *findings) logs(l *model.Logs) {
	seen := map[*model.LogsScrapeConfig]bool{}
	for i := range l.Configs {
		one := &l.Configs[i]
		f.logsInstance(one)
		for _, job := range one.ScrapeConfigs {
			if seen[job] {
				continue
			}
			seen[job] = true
			for _, found := range stages.Check(job.Stages) {
				f.add(model.Finding{Object: job.Origin.Object, Finding: found})
			}
		}
	}
	f.add(agentstages.CheckAll(l)...)
}

func (f *findings) logsInstance(i *model.LogsInstance) {
	if t := i.TargetConfig; t != nil {
		if d, err := time.ParseDuration(t.SyncPeriod); err == nil && d <= 0 {
			f.add(i.Origin.Find(diag.Error, diag.InvalidSetting, ".targetConfig.syncPeriod", "must be above zero: the program would crash"))
		}
	}
	for n, c := range i.Clients {
		f.logsClient(&c)
		for _, other := range i.Clients[:n] {
			origin := other.Origin
			if other.Origin = c.Origin; reflect.DeepEqual(other, c) {
				f.add(c.Origin.Find(diag.Error, diag.DuplicateLogsClient, "", "is equal to "+origin.Path+": every line would be sent twice"))
				break
			}
		}
	}
}

func (f *findings) logsClient(c *model.LogsClient) {
	f.client(c.Origin, &model.HTTPClient{HTTPAuth: c.HTTPAuth, TLS: c.TLS})
	for _, name := range slices.Sorted(maps.Keys(c.ExternalLabels)) {
		if _, ok := expanded(c.ExternalLabels[name]); !ok {
			f.add(c.Origin.Find(diag.Error, diag.NotInRuntime, ".externalLabels["+name+"]", onlyPlainVariables))
		}
	}
}
