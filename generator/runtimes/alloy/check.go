package alloy

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/catalogue"
	"github.com/agentry-dev/agentry/generator/runtimes/internal/instance"
)

// check checks a configuration against what a version of Alloy refuses, and reports what it cannot do or does in
// another way than the Grafana Agent. In what it returns, hand-written jobs are like others.
func check(c *model.Config, version catalogue.Version, clusters bool) (*model.Config, diag.List) {
	found := findings{version: version, clusters: clusters, pod: c.Pod}
	found.integrations(c.Integrations)
	found.apiServer(c)
	out := *c
	if c.Metrics != nil && c.Integrations == nil {
		out.Metrics = found.metrics(c)
	}
	if c.Logs != nil && c.Integrations == nil {
		found.logs(c.Logs, c.KnownVersion)
	}
	return &out, found.List
}

// apiServer reports what becomes of the client of the API server, which all jobs with targets of Kubernetes share.
func (f *findings) apiServer(c *model.Config) {
	var all []*model.KubernetesSD
	if c.Metrics != nil {
		for _, i := range c.Metrics.Configs {
			for _, job := range i.ScrapeConfigs {
				all = append(all, job.Kubernetes)
			}
		}
	}
	if c.Logs != nil {
		for _, i := range c.Logs.Configs {
			for _, job := range i.ScrapeConfigs {
				all = append(all, job.Kubernetes)
			}
		}
	}
	if i := slices.IndexFunc(all, func(k *model.KubernetesSD) bool { return k != nil }); i >= 0 {
		f.client(model.Origin{Object: c.Origin.Object, Path: "spec.apiServer"}, &all[i].HTTPClient)
	}
}

// findings collects what is wrong with a configuration for a version of Alloy.
type findings struct {
	diag.List
	version  catalogue.Version
	clusters bool
	pod      model.Pod
}

// tooOld says that the version does not have what came with a later one.
func (f *findings) tooOld(what, since string) string {
	return fmt.Sprintf("Alloy %s has no %s, which came with %s", f.version, what, since)
}

// orLater is the way out for what came with a version.
func orLater(since string) string { return "set runtimeVersion to " + since + " or later" }

// onlyPlainVariables is the error of a text that [expanded] cannot express.
const onlyPlainVariables = "Alloy knows only ${NAME} and ${NAME:-default}, where the default has no variables"

// metrics checks the instances, and returns them with all of their jobs.
func (f *findings) metrics(c *model.Config) *model.Metrics {
	out := *c.Metrics
	out.Configs = slices.Clone(out.Configs)
	g := &c.Metrics.Global
	jobs := 0
	for _, name := range slices.Sorted(maps.Keys(g.ExternalLabels)) {
		if _, ok := expanded(g.ExternalLabels[name]); !ok {
			f.Add(c.Origin.Place(diag.NotInRuntime.At("spec.metrics.externalLabels["+name+"]", "%s",
				onlyPlainVariables)))
		}
	}
	if f.clusters {
		f.clustered(c, &out)
	}
	f.writers(g.RemoteWrite)
	for i := range out.Configs {
		one := &out.Configs[i]
		_, about := instance.WAL(one)
		f.Add(about...)
		f.instance(one)
		f.writers(one.RemoteWrite)
		for _, job := range one.ScrapeConfigs {
			f.Add(instance.Timeout(c, job)...)
			f.job(g, job)
			f.sent(g, one, job)
		}
		one.ScrapeConfigs, one.Additional = slices.Concat(one.ScrapeConfigs, f.handWritten(c, one)), nil
		jobs += len(one.ScrapeConfigs)
	}
	out.Integrations = f.collected(&out)
	f.Add(instance.Destinations(c)...)
	f.Add(instance.GlobalTimeout(c)...)
	if jobs > 0 && f.version.Has(prometheus3) {
		f.Add(c.Origin.Place(diag.RuntimeDiffers.At("spec.metrics", "%s",
			`Alloy writes le="1" and quantile="1" as le="1.0" and quantile="1.0": rules and dashboards that compare these labels with whole numbers find nothing`).As(diag.Info)))
	}
	return &out
}

// instance reports settings of a MetricsInstance that Alloy does not have.
func (f *findings) instance(i *model.Instance) {
	if i.WriteStaleOnShutdown {
		f.Add(i.Origin.Place(diag.RuntimeDiffers.At(".writeStaleOnShutdown",
			"Alloy does not have it: series end five minutes after a pod has stopped")))
	}
	if i.RemoteFlushDeadline != "" {
		f.Add(i.Origin.Place(diag.RuntimeDiffers.At(".remoteFlushDeadline",
			"Alloy does not have it: what is not sent when a pod stops is sent after the next start, if the storage "+
				"stays")))
	}
}

// writers checks a list of remote writes.
func (f *findings) writers(list []model.RemoteWrite) {
	named := map[model.String]int{}
	for n, w := range list {
		f.client(w.Origin, &w.HTTPClient)
		f.needsOfWriter(&w)
		f.writer(&w)
		printed := newFile(false)
		printed.endpoint(&w)
		f.expressible(w.Origin, printed)
		if first, taken := named[w.Name]; taken && w.Name != "" {
			f.Add(w.Origin.Place(diag.DuplicateRemoteWrite.At(".name", "%q is the name of %s too", w.Name,
				list[first].Origin.Path)))
		}
		named[w.Name] = n
		for _, other := range list[:n] {
			origin := other.Origin
			if other.Origin = w.Origin; reflect.DeepEqual(other, w) {
				f.Add(w.Origin.Place(diag.DuplicateRemoteWrite.At("", "%s",
					"is equal to "+origin.Path+": every sample would be sent twice")))
				break
			}
		}
	}
}

// prometheus3 is the first version of Alloy with Prometheus 3, which writes whole numbers in le and quantile as floats.
const prometheus3 = "v1.11.0"

// expressible reports references to variables in a writer or client that Alloy cannot express.
func (f *findings) expressible(o model.Origin, printed *file) {
	for _, setting := range printed.inexpressible {
		f.Add(o.Place(diag.NotInRuntime.At("", "%s",
			setting+" has a reference to a variable that Alloy cannot express: "+onlyPlainVariables)))
	}
}

// job reports what becomes of a job in Alloy.
func (f *findings) job(global *model.Global, job *model.ScrapeConfig) {
	f.client(job.Origin, &job.HTTPClient)
	f.discoveries(job)
	if f.clusters {
		f.ownShards(job)
	}
	if limits := samplesLimits(global, job); limits != "" && len(job.MetricRelabel) > 0 {
		f.Add(job.Origin.Place(diag.RuntimeDiffers.At(".metricRelabelings", "%s",
			"Alloy compares "+limits+" with what the target answers, before these rules: a target that is above it "+
				"fails as a whole")))
	}
	f.settings(job)
	if removesJob(job.Relabel) {
		f.Add(job.Origin.Place(diag.RuntimeDiffers.At(".relabelings",
			"a rule removes the label job: Alloy sets it again, to the name of the component that scrapes")))
	}
}

// samplesLimits returns the limits of a job that Alloy compares before the rules for samples.
func samplesLimits(global *model.Global, job *model.ScrapeConfig) string {
	var out []string
	for _, c := range [...]model.Count{model.Samples, model.Labels, model.LabelNameLength, model.LabelValueLength} {
		if limitOf(job.Counts[c], global.Counts[c]) > 0 {
			out = append(out, c.Field())
		}
	}
	return strings.Join(out, ", ")
}

// removesJob reports whether targets have no job after the rules.
func removesJob(rules []*model.Relabel) (removed bool) {
	cache := regexes{}
	for _, r := range rules {
		switch action := strings.ToLower(r.Action); {
		case action == "labeldrop":
			removed = removed || cache.matches(r, "job")
		case action == "labelkeep":
			removed = removed || !cache.matches(r, "job")
		case r.TargetLabel == "job" && (action == "" || action == "replace"):
			removed = r.Replacement.Set && r.Replacement.Value == ""
		}
	}
	return removed
}

// client warns about settings that Alloy reads in another way or does not have. The origin is the object that has the
// client's fields.
func (f *findings) client(o model.Origin, c *model.HTTPClient) {
	switch {
	case c.BasicAuth == nil || c.BasicAuth.Username.File == "":
	case !f.pod.MayHave(c.BasicAuth.Username.File):
		f.needsFiles(o, 0, []string{c.BasicAuth.Username.File})
	default:
		one := o.Place(diag.NeededAtStart.At(".basicAuth.username",
			"Alloy reads user names when it starts: it does not start without this Secret and its key").As(diag.Info))
		one.Hint = "let the Secret exist before the pods start"
		f.Add(one)
	}
	f.tls(o, ".tlsConfig", c.TLS)
	if c.OAuth2 != nil {
		f.tls(o, ".oauth2.tlsConfig", c.OAuth2.TLS)
	}
}

func (f *findings) tls(o model.Origin, field string, t *model.TLS) {
	if t != nil && t.MaxVersion != "" {
		f.Add(o.Place(diag.RuntimeDiffers.At(field+".maxVersion",
			"Alloy does not have it: any version of TLS from minVersion on is used")))
	}
}
