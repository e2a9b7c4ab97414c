package agentconfig

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/agentyaml"
	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/scrape"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// The agent's own defaults for the WAL of an instance (agent v0.44.8).
const (
	defaultTruncate    = time.Hour
	defaultMinWALTime  = 5 * time.Minute
	defaultMaxWALTime  = 4 * time.Hour
	defaultFlushPeriod = time.Minute
)

// duration checks a duration field; the CRDs of the operator do not. It returns zero
// for an absent or wrong one.
func (b *builder) duration(o *manifest.Object, path, value string) time.Duration {
	if value == "" {
		return 0
	}
	d, err := model.ParseDuration(value)
	if err != nil {
		b.error(o, diag.InvalidDuration, path, "%q is not a duration, like 30s or 1h30m", value)
	}
	return time.Duration(d)
}

func orDuration(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}

// globalInterval is the interval of jobs that have none. A bad one has been reported.
func (b *builder) globalInterval() time.Duration {
	d, err := model.ParseDuration(b.spec.Metrics.ScrapeInterval)
	if err != nil || d == 0 {
		return scrape.DefaultInterval
	}
	return time.Duration(d)
}

var (
	logLevel  = regexp.MustCompile(`^(debug|info|warn|error)$`)
	logFormat = regexp.MustCompile(`^(logfmt|json)$`)
)

// checkAgent checks the settings of the GrafanaAgent that go into the configuration.
func (b *builder) checkAgent() {
	agent, m := b.hierarchy.Agent, &b.spec.Metrics
	b.duration(agent, "spec.metrics.scrapeInterval", m.ScrapeInterval)
	b.duration(agent, "spec.metrics.scrapeTimeout", m.ScrapeTimeout)
	if l := b.spec.LogLevel; l != "" && !logLevel.MatchString(l) {
		b.error(agent, diag.InvalidSetting, "spec.logLevel", "%q is none of debug, info, warn, error", l)
	}
	if f := b.spec.LogFormat; f != "" && !logFormat.MatchString(f) {
		b.error(agent, diag.InvalidSetting, "spec.logFormat", "%q is none of logfmt, json", f)
	}
	if l := m.EnforcedNamespaceLabel; l != "" && !model.LabelName(l).IsValidLegacy() {
		b.error(agent, diag.InvalidRelabeling, "spec.metrics.enforcedNamespaceLabel", "%q is not a label name", l)
	}
}

// checkWAL checks the WAL settings of an instance against each other and returns its
// truncation frequency.
func (b *builder) checkWAL(o *manifest.Object, s *v1alpha1.MetricsInstanceSpec) time.Duration {
	b.positive(o, "spec.walTruncateFrequency", s.WALTruncateFrequency)
	b.positive(o, "spec.remoteFlushDeadline", s.RemoteFlushDeadline)
	lowest := orDuration(b.duration(o, "spec.minWALTime", s.MinWALTime), defaultMinWALTime)
	highest := orDuration(b.duration(o, "spec.maxWALTime", s.MaxWALTime), defaultMaxWALTime)
	if lowest > highest {
		b.error(o, diag.InvalidWALTimes, "spec.minWALTime", "minWALTime %s is longer than maxWALTime %s", model.Duration(lowest), model.Duration(highest))
	}
	return orDuration(b.duration(o, "spec.walTruncateFrequency", s.WALTruncateFrequency), defaultTruncate)
}

func (b *builder) positive(o *manifest.Object, path, value string) {
	if d, err := model.ParseDuration(value); err == nil && d == 0 {
		b.error(o, diag.InvalidWALTimes, path, "must be above zero")
	} else if err != nil && value != "" && path != "spec.walTruncateFrequency" {
		b.duration(o, path, value)
	}
}

// checkTruncation refuses jobs that scrape more rarely than the WAL is truncated.
func (b *builder) checkTruncation(o *manifest.Object, jobs []*agentyaml.ScrapeConfig, truncate time.Duration) {
	for i := range jobs {
		every := b.globalInterval()
		if d, err := model.ParseDuration(jobs[i].Interval); err == nil {
			every = time.Duration(d)
		}
		if every > truncate {
			b.error(o, diag.IntervalAboveWAL, intervalPath(o, i), "job %s is scraped every %s, which is longer than the instance's walTruncateFrequency %s",
				jobs[i].JobName, model.Duration(every), model.Duration(truncate))
		}
	}
}

func intervalPath(o *manifest.Object, i int) string {
	switch o.Kind {
	case "ServiceMonitor":
		return "spec.endpoints[" + strconv.Itoa(i) + "].interval"
	case "PodMonitor":
		return "spec.podMetricsEndpoints[" + strconv.Itoa(i) + "].interval"
	}
	return "spec.interval"
}

// fileField returns the first field of an endpoint that names a file of the agent.
func fileField(i int, ep *monitoringv1.Endpoint) (string, bool) {
	path := "spec.endpoints[" + strconv.Itoa(i) + "]."
	if ep.BearerTokenFile != "" {
		return path + "bearerTokenFile", true
	}
	if t := ep.TLSConfig; t != nil {
		for _, f := range [...][2]string{{"caFile", t.CAFile}, {"certFile", t.CertFile}, {"keyFile", t.KeyFile}} {
			if f[1] != "" {
				return path + "tlsConfig." + f[0], true
			}
		}
	}
	return "", false
}

// checkNames refuses two writers of one name, and names writers that the agent could
// not tell apart: it compares unnamed ones with their secrets masked.
func (b *builder) checkNames(in secretref.Scope, path string, specs []v1alpha1.RemoteWriteSpec, list []agentyaml.RemoteWrite) {
	names := map[string]int{}
	masked := map[string][]int{}
	for i := range list {
		if name := list[i].Name; name != "" {
			if n, taken := names[name]; taken {
				b.error(in.Object(), diag.DuplicateRemoteWrite, path+"["+strconv.Itoa(i)+"].name", "%q is the name of %s[%d] too", name, path, n)
			}
			names[name] = i
			continue
		}
		text := maskedText(list[i])
		masked[text] = append(masked[text], i)
	}
	for _, text := range slices.Sorted(maps.Keys(masked)) {
		same := masked[text]
		for _, i := range same[1:] {
			if fullText(list[i]) == fullText(list[same[0]]) {
				b.error(in.Object(), diag.DuplicateRemoteWrite, path+"["+strconv.Itoa(i)+"]", "is equal to %s[%d]: every sample would be sent twice", path, same[0])
			}
		}
		for _, i := range same {
			if len(same) > 1 {
				list[i].Name = "agentry-" + strconv.Itoa(i)
			}
		}
	}
}

func maskedText(w agentyaml.RemoteWrite) string {
	if a := w.Authorization; a != nil && a.Credentials.Set {
		c := *a
		c.Credentials.Value = "<secret>"
		w.Authorization = &c
	}
	if s := w.SigV4; s != nil && s.SecretKey.Present() {
		c := *s
		c.SecretKey = agentyaml.Secret{Value: "<secret>", Set: true}
		w.SigV4 = &c
	}
	return fullText(w)
}

func fullText(w agentyaml.RemoteWrite) string {
	return string(agentyaml.Encode(&agentyaml.Config{Metrics: &agentyaml.Metrics{Global: agentyaml.Global{RemoteWrite: []agentyaml.RemoteWrite{w}}}}))
}

// checkDestinations warns of instances whose samples go nowhere.
func (b *builder) checkDestinations(m *agentyaml.Metrics) {
	if len(m.Global.RemoteWrite) > 0 {
		return
	}
	n := 0
	for _, instance := range b.hierarchy.Metrics {
		if b.left[instance.Object.ID] {
			continue
		}
		if len(m.Configs[n].RemoteWrite) == 0 {
			b.warn(instance.Object, diag.NoDestination, "spec.remoteWrite", "neither the MetricsInstance nor GrafanaAgent %s has a remoteWrite: samples go nowhere", b.hierarchy.Name())
		}
		n++
	}
}

// separateShared keeps instances apart that the agent would merge although they share a
// job: it merges all instances with equal settings, and a group with a job name twice
// never gets ready. Only then is distinct mode worth moving the WAL.
func (b *builder) separateShared(m *agentyaml.Metrics) {
	if len(m.Configs) < 2 {
		return
	}
	groups := map[string]map[string]string{} // settings -> job name -> instance
	for i := range m.Configs {
		instance := m.Configs[i]
		jobs := instance.ScrapeConfigs
		name := instance.Name
		instance.Name, instance.ScrapeConfigs, instance.Additional = "", nil, nil
		key := string(agentyaml.Encode(&agentyaml.Config{Metrics: &agentyaml.Metrics{Configs: []agentyaml.Instance{instance}}}))
		if groups[key] == nil {
			groups[key] = map[string]string{}
		}
		for n := range jobs {
			job := jobs[n].JobName
			if other, twice := groups[key][job]; twice && other != name {
				m.InstanceMode = "distinct"
				b.warn(b.hierarchy.Agent, diag.SharedInstances, "spec.metrics.instanceSelector",
					"MetricsInstances %s and %s have equal settings and both select %s: instance_mode is set to distinct, which moves their write-ahead log", other, name, job)
				return
			}
			groups[key][job] = name
		}
	}
}

// checkVariables warns of references in live text that no variable of the pod answers.
func (b *builder) checkVariables(o *manifest.Object, path, text string) {
	for _, name := range variables(text) {
		if !b.podDefines(strings.Trim(name, "$(){}")) {
			d := o.Diag(diag.Warning, diag.EnvReference, path, "%s is not a variable that the pods define", name)
			d.Hint = "with an undefined $(NAME) the config reloader refuses every new configuration; add it by spec.containers, to both containers"
			b.diags = append(b.diags, d)
		}
	}
}

// variables lists the $(NAME) and ${NAME...} references in a text.
func variables(text string) []string {
	var out []string
	for {
		i := strings.IndexByte(text, '$')
		if i < 0 || i+1 >= len(text) {
			return out
		}
		text = text[i+1:]
		if name := agentyaml.Variable(text); name != "" {
			out = append(out, "$("+name+")")
			continue
		}
		if text[0] == '$' {
			text = text[1:]
			continue
		}
		if text[0] == '{' {
			end := strings.IndexAny(text, "}:-#%/^,")
			if end > 1 && strings.Trim(text[1:end], "0123456789") != "" {
				out = append(out, "${"+text[1:end]+"}")
			}
		}
	}
}

func (b *builder) podDefines(name string) bool {
	switch name {
	case "POD_NAME", "AGENT_DEPLOY_MODE", "SHARD", "SHARDS", "STATEFULSET_ORDINAL_NUMBER":
		return true
	}
	for i := range b.spec.Containers {
		c := &b.spec.Containers[i]
		if len(c.EnvFrom) > 0 {
			return true // may be in there
		}
		for n := range c.Env {
			if c.Env[n].Name == name {
				return true
			}
		}
	}
	return false
}
