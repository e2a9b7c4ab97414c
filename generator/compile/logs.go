package compile

import (
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile/scrape"
	"github.com/agentry-dev/agentry/generator/compile/stage"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
)

// logsSettings returns the GrafanaAgent's settings for the jobs of logs pods.
func (b *builder) logsSettings(apiServer model.KubernetesSD) scrape.Settings {
	return scrape.Settings{
		IgnoreNamespaceSelectors: b.spec.Logs.IgnoreNamespaceSelectors,
		EnforcedNamespaceLabel:   b.spec.Logs.EnforcedNamespaceLabel,
		KeepEmptyTexts:           b.current,
		APIServer:                apiServer,
	}
}

// logs builds the configuration of the logs pods.
func (b *builder) logs() *model.Config {
	logs := b.logsBlock(true)
	if len(logs.Configs) == 0 {
		return nil
	}
	return b.config(nil, logs)
}

// logsBlock builds all LogsInstances. For the logs pods they have their PodLogs. The pods of integrations only
// write through the LogsInstances, so there they have none.
func (b *builder) logsBlock(podLogs bool) *model.Logs {
	logs := &model.Logs{PositionsDirectory: DataDirectory}
	for _, l := range b.hierarchy.Logs {
		if !b.left[l.Object.ID] {
			logs.Configs = append(logs.Configs, b.logsInstance(l, podLogs))
		}
	}
	return logs
}

// logsInstance builds one LogsInstance with its hand-written jobs and, with podLogs, the jobs of all PodLogs
// that it selects.
func (b *builder) logsInstance(l *hierarchy.LogsInstance, podLogs bool) model.LogsInstance {
	spec := &manifest.As[v1alpha1.LogsInstance](l.Object).Spec
	i := model.LogsInstance{Origin: model.Origin{Object: l.Object.Ref(), Path: "spec"},
		Name: l.Object.Namespace + "/" + l.Object.Name, Clients: b.clients(l.Object, spec)}
	b.report.add(readsOfOthers(b.hierarchy.Agent, l.Object)...)
	if podLogs {
		for _, o := range l.PodLogs {
			if job := b.podLogs(o); job != nil {
				i.ScrapeConfigs = append(i.ScrapeConfigs, job)
			}
		}
	}
	if t := spec.TargetConfig; t != nil {
		b.report.goDuration(l.Object, "spec.targetConfig.syncPeriod", t.SyncPeriod)
		i.TargetConfig = &model.TargetConfig{SyncPeriod: t.SyncPeriod}
	}
	i.Additional = b.additional(b.secrets.In(l.Object), spec.AdditionalScrapeConfigs)
	return i
}

// podLogs returns the job of a PodLogs, or nil if it is left out.
func (b *builder) podLogs(o *manifest.Object) *model.LogsScrapeConfig {
	if b.left[o.ID] {
		return nil
	}
	job, ok := b.builtLogs[o]
	if !ok {
		p := manifest.As[v1alpha1.PodLogs](o)
		var findings diag.List
		job, findings = b.logJobs.PodLogs(p)
		b.report.about(o, findings...)
		job.Stages, findings = stage.Build("spec.pipelineStages", p.Spec.PipelineStages)
		b.report.about(o, findings...)
		checkLogFiles(b.report, o, p)
		job.Origin = model.Origin{Object: o.Ref(), Path: "spec"}
		b.builtLogs[o] = job
	}
	return job
}

// checkLogFiles warns about relabelings that set the path of log files: logs pods can read the files of the
// whole node and the Secrets mounted into them.
func checkLogFiles(report *reports, o *manifest.Object, p *v1alpha1.PodLogs) {
	for i, r := range p.Spec.RelabelConfigs {
		if r == nil || r.IsPodLogPath() {
			continue
		}
		field, target := "targetLabel", r.TargetLabel
		if strings.EqualFold(r.Action, "labelmap") {
			field, target = "replacement", orDefault(r.Replacement, "")
		}
		switch target {
		case "__path__", "__path_exclude__":
			report.about(o, diag.ReadsAnyFile.At("spec.relabelings["+strconv.Itoa(i)+"]."+field,
				"sets %s, which decides which files of the node are read", target))
		}
	}
}

// clients builds the clients of a LogsInstance: its own, otherwise the GrafanaAgent's.
func (b *builder) clients(o *manifest.Object, spec *v1alpha1.LogsInstanceSpec) []model.LogsClient {
	in, path, specs := b.secrets.In(o), "spec.clients", spec.Clients
	if len(specs) == 0 {
		in, path, specs = b.secrets.In(b.hierarchy.Agent), "spec.logs.clients", b.spec.Logs.Clients
	}
	if len(specs) == 0 {
		b.report.about(o, diag.NoLogsClient.At("spec.clients",
			"neither the LogsInstance nor GrafanaAgent %s has a client: the agent does not start it",
			b.hierarchy.Name()))
	}
	var out []model.LogsClient
	for i := range specs {
		w := b.writer(in, path+"["+strconv.Itoa(i)+"]")
		out = append(out, w.logsClient(&specs[i]))
	}
	return out
}
