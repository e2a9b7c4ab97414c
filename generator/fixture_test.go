package generator_test

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// fixture is a random set of objects that is edited at random. It is small, so that names
// meet: references find and miss, names conflict, selectors match and do not.
type fixture struct {
	random *rand.Rand
	// ignored decides about annotations, which change nothing that is rendered.
	ignored *rand.Rand
	ids     []string // sorted
	texts   map[string]string
	parsed  map[string]manifest.Result // by text, so that what is not edited stays the same object
	secret  int
	// uniform fixtures give all objects the same labels: edits change nothing but what is in them.
	uniform bool
}

func newFixture(seed int64) *fixture {
	w := &fixture{random: rand.New(rand.NewSource(seed)), ignored: rand.New(rand.NewSource(seed)),
		texts: map[string]string{}, parsed: map[string]manifest.Result{}}
	for range 25 {
		w.edit()
	}
	return w
}

// edit adds, changes or removes an object and says which.
func (w *fixture) edit() string {
	kinds := []func() (string, string){w.agent, w.instance, w.serviceMonitor, w.serviceMonitor, w.podMonitor, w.probe,
		w.secretObject, w.secretObject, w.additional, w.namespace, w.logsInstance, w.podLogs, w.podLogs}
	id, text := kinds[w.random.Intn(len(kinds))]()
	i, found := slices.BinarySearch(w.ids, id)
	switch {
	case found && w.chance(3):
		w.ids = slices.Delete(w.ids, i, i+1)
		delete(w.texts, id)
		return "removed " + id
	case !found:
		w.ids = slices.Insert(w.ids, i, id)
	}
	w.texts[id] = text
	return "wrote " + id
}

func (w *fixture) parse() []manifest.Result {
	var results []manifest.Result
	for _, id := range w.ids {
		text := w.texts[id]
		r, ok := w.parsed[text]
		if !ok {
			r = manifest.Parse(manifest.File{Path: id + ".yaml", Data: []byte(text)}, manifest.Options{})
			w.parsed[text] = r
		}
		results = append(results, r)
	}
	return results
}

// chance is true once in n times.
func (w *fixture) chance(n int) bool { return w.random.Intn(n) == 0 }

func (w *fixture) pick(options ...string) string { return options[w.random.Intn(len(options))] }

func (w *fixture) selector() string {
	return w.pick("{}", "{}", "{matchLabels: {t: x}}", "{matchLabels: {t: z}}",
		"{matchExpressions: [{key: t, operator: Exists}]}",
		"{matchExpressions: [{key: t, operator: NotIn, values: [x]}]}", "{matchExpressions: [{key: t, operator: In}]}",
		"null")
}

func (w *fixture) labels() string {
	if w.uniform {
		return "{t: x}"
	}
	return w.pick("{}", "{t: x}", "{t: z}", "{t: x, other: z}")
}

func (w *fixture) object(group, kind, name, spec string) (string, string) {
	ns := w.pick("one", "two")
	id := kind + "-" + ns + "-" + name
	ignored := [...]string{"", "", "", ", annotations: {agentry.dev/ignore: why}",
		", annotations: {agentry.dev/ignore: ''}"}[w.ignored.Intn(5)]
	return id, fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: %s, labels: %s%s}\n%s\n", group,
		kind, name, ns, w.labels(), ignored, spec)
}

func (w *fixture) ref() string {
	return fmt.Sprintf("{name: %s, key: %s%s}", w.pick("s1", "s2", "s-3", "s"), w.pick("k", "k2", "gone"),
		w.pick("", "", ", optional: true"))
}

func (w *fixture) agent() (string, string) {
	spec := fmt.Sprintf(
		"spec:\n  paused: %t\n  storage: %s\n  metrics:\n    shards: %d\n    instanceSelector: %s\n"+
			"    instanceNamespaceSelector: %s\n",
		w.chance(8), w.pick("null", "null", "{}"), w.random.Intn(3), w.selector(), w.selector())
	if w.chance(2) {
		spec += "    remoteWrite: [{url: https://x.example.com/push, basicAuth: {username: " + w.ref() +
			", password: " + w.ref() + "}}]\n"
	}
	spec += "  logs: {instanceSelector: " + w.selector() + ", instanceNamespaceSelector: " + w.selector() +
		w.pick("", ", clients: [{url: https://a.example.com/push}]") + "}\n"
	return w.object("monitoring.grafana.com/v1alpha1", "GrafanaAgent", w.pick("web", "web-shard-1", "s1-x"), spec)
}

func (w *fixture) instance() (string, string) {
	spec := fmt.Sprintf(
		"spec:\n  serviceMonitorSelector: %s\n  serviceMonitorNamespaceSelector: %s\n  podMonitorSelector: %s\n"+
			"  probeSelector: %s\n  walTruncateFrequency: %s\n",
		w.selector(), w.selector(), w.selector(), w.selector(), w.pick("60m", "1h", "30s", "2h"))
	if w.chance(2) {
		spec += "  additionalScrapeConfigs: {name: extra, key: jobs}\n"
	}
	if w.chance(3) {
		spec += "  remoteWrite: [{url: https://y.example.com/push, sigv4: {accessKey: " + w.ref() + ", secretKey: " +
			w.ref() + "}}]\n"
	}
	return w.object("monitoring.grafana.com/v1alpha1", "MetricsInstance", w.pick("i", "j"), spec)
}

func (w *fixture) logsInstance() (string, string) {
	spec := "spec: {podLogsSelector: " + w.selector() + ", podLogsNamespaceSelector: " + w.selector() +
		w.pick("", ", targetConfig: {syncPeriod: 30s}")
	if w.chance(2) {
		spec += ", clients: [{url: https://b.example.com/push, basicAuth: {username: " + w.ref() + ", password: " +
			w.ref() + "}}]"
	}
	return w.object("monitoring.grafana.com/v1alpha1", "LogsInstance", w.pick("i", "j"), spec+"}")
}

func (w *fixture) podLogs() (string, string) {
	return w.object("monitoring.grafana.com/v1alpha1", "PodLogs", w.pick("a", "b", "c"),
		"spec: {selector: {}, pipelineStages: ["+
			w.pick("", "cri: {}", "drop: {longerThan: 1kb}", "regex: {expression: '('}",
				"multiline: {firstLine: x, maxWaitTime: 0s}",
				"metrics: {lines: {type: counter, action: inc, matchAll: true}}")+"]}")
}

func (w *fixture) endpoint() string {
	return "{port: " + w.pick("web", "admin") +
		w.pick("", ", interval: 45s", ", interval: 10s, scrapeTimeout: 20s", ", interval: 90m",
			", bearerTokenSecret: "+w.ref(), ", basicAuth: {username: "+w.ref()+", password: "+w.ref()+"}",
			", tlsConfig: {ca: {secret: "+w.ref()+"}}", ", authorization: {credentials: "+w.ref()+"}") + "}"
}

func (w *fixture) serviceMonitor() (string, string) {
	return w.object("monitoring.coreos.com/v1", "ServiceMonitor", w.pick("a", "b", "c"),
		"spec: {selector: {}, endpoints: ["+w.endpoint()+"]}")
}

func (w *fixture) podMonitor() (string, string) {
	return w.object("monitoring.coreos.com/v1", "PodMonitor", w.pick("a", "b"),
		"spec: {selector: {}, podMetricsEndpoints: ["+w.endpoint()+"]}")
}

func (w *fixture) probe() (string, string) {
	return w.object("monitoring.coreos.com/v1", "Probe", "p",
		"spec: {prober: {url: p}, targets: "+w.pick("{staticConfig: {static: [x]}}", "{}")+", bearerTokenSecret: "+
			w.ref()+"}")
}

// secretObject is a Secret; its values can be told from all other text. Now and then it has
// the name of an object that is rendered.
func (w *fixture) secretObject() (string, string) {
	var data []string
	for _, key := range []string{"k", "k2"} {
		if !w.chance(3) {
			w.secret++
			data = append(data, fmt.Sprintf("%s: 'hunter-%d-%s'", key, w.secret, w.pick("$(x)", "${y", "", "\"\\")))
		}
	}
	return w.object("v1", "Secret", w.pick("s1", "s2", "s-3", "s", "web-config"),
		"stringData: {"+strings.Join(data, ", ")+"}")
}

func (w *fixture) additional() (string, string) {
	return w.object("v1", "Secret", "extra",
		"stringData: {jobs: '"+w.pick("[{job_name: x}]", "[{job_name: x}, {job_name: x}]", "[{job_name: y}]",
			"{job_name: 1}", "")+"'}")
}

func (w *fixture) namespace() (string, string) {
	name := w.pick("one", "two")
	return "Namespace-" + name, fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s, labels: %s}\n", name,
		w.labels())
}
