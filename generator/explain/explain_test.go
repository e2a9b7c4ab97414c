package explain_test

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/kustomize"
	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/passthrough"
	"github.com/agentry-dev/agentry/generator/patch"
	"github.com/agentry-dev/agentry/generator/runtimes"
)

const parents = `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: m, labels: {run: "yes"}}
spec:
  metrics: {instanceSelector: {matchLabels: {a: b}}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: m, labels: {a: b}}
spec:
  serviceMonitorSelector: {SELECTOR}
  serviceMonitorNamespaceSelector: {NAMESPACES}
  remoteWrite: [{url: "https://u:hunter2@x.example.com/push", basicAuth: {username: {name: login, key: user}, password: {name: login, key: pass}}}]
`

const monitor = `apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: shop, namespace: one, labels: {team: a}}
spec: {selector: {}, endpoints: [{port: web}]}
`

// explainer returns the explainer of a render of texts.
func explainer(t testing.TB, opts generator.Options, texts ...string) *explain.Explainer {
	t.Helper()
	var results []manifest.Result
	for i, text := range texts {
		r := manifest.Parse(manifest.File{Path: fmt.Sprintf("%d.yaml", i), Data: []byte(text)}, manifest.Options{})
		results = append(results, r)
	}
	return explain.New(generator.Render(manifest.NewSet(results...), opts, nil).Explained())
}

func with(selector, namespaces string) string {
	return strings.NewReplacer("{SELECTOR}", selector, "{NAMESPACES}", namespaces).Replace(parents)
}

var shop = manifest.ID{Kind: "ServiceMonitor", Namespace: "one", Name: "shop"}

func TestMisses(t *testing.T) {
	for name, test := range map[string]struct {
		selector, namespaces, more string
		want                       []string // reasons, and the last is how far away
		changes                    []string
	}{
		"a label that differs": {"{matchLabels: {team: b}}", "{}", "",
			[]string{"selector wants `team=b`, label is `a`", "one label away"},
			[]string{"set label team=b on ServiceMonitor/one/shop"}},
		"a label that is not there": {"{matchLabels: {tier: x}}", "{}", "",
			[]string{"selector wants `tier=x`, label `tier` is not set", "one label away"},
			[]string{"set label tier=x on ServiceMonitor/one/shop"}},
		"a label that must not be there": {"{matchExpressions: [{key: team, operator: DoesNotExist}]}", "{}", "",
			[]string{"selector wants `!team`, label is `a`", "one label away"},
			[]string{"remove label team from ServiceMonitor/one/shop"}},
		"two requirements of one label": {
			"{matchExpressions: [{key: team, operator: In, values: [a, b]}, {key: team, operator: NotIn, values: [a]}]}", "{}", "",
			[]string{"selector wants `team notin (a)`, label is `a`", "one label away"},
			[]string{"set label team=b on ServiceMonitor/one/shop"}},
		"requirements that contradict": {
			"{matchLabels: {team: b}, matchExpressions: [{key: team, operator: NotIn, values: [b]}]}", "{}", "",
			[]string{"selector wants `team=b`, label is `a`", "no labels meet all of the selector", ""}, nil},
		"a namespace without a manifest": {"{}", "{matchLabels: {mon: 'on'}}", "",
			[]string{"namespace one has no manifest here, so it has only its name label",
				"namespace selector wants `mon=on`, label of namespace one `mon` is not set",
				"one label of the namespace away"},
			[]string{"add a manifest of Namespace/one with label mon=on"}},
		"a namespace with another label": {"{}", "{matchLabels: {mon: 'on'}}",
			"apiVersion: v1\nkind: Namespace\nmetadata: {name: one, labels: {mon: 'off'}}\n",
			[]string{"namespace selector wants `mon=on`, label of namespace one is `off`",
				"one label of the namespace away"},
			[]string{"set label mon=on on Namespace/one"}},
		"another namespace by name, and a label": {"{matchLabels: {team: b}}",
			"{matchLabels: {kubernetes.io/metadata.name: two}}", "",
			[]string{"selector wants `team=b`, label is `a`",
				"it looks only in namespaces with kubernetes.io/metadata.name=two", "one label and one selector away"},
			[]string{"set label team=b on ServiceMonitor/one/shop",
				`set spec.serviceMonitorNamespaceSelector of MetricsInstance/m/main to {"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"In","values":["one","two"]}]}`}},
		"its own namespace": {"{}", "null", "",
			[]string{"spec.serviceMonitorNamespaceSelector is not set: it looks only in its own namespace, m",
				"one selector away"},
			[]string{`set spec.serviceMonitorNamespaceSelector of MetricsInstance/m/main to {"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"In","values":["m","one"]}]}`}},
		"no selector": {"null", "{}", "",
			[]string{"spec.serviceMonitorSelector is not set: it selects nothing", "one selector away"},
			[]string{`set spec.serviceMonitorSelector of MetricsInstance/m/main to {"matchLabels":{"team":"a"}}`}},
		"an invalid selector": {"{matchExpressions: [{key: team, operator: In}]}", "{}", "",
			[]string{"the selector is invalid: values: Invalid value: null: for 'in', 'notin' operators, values set " +
				"can't be empty", ""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			x := explainer(t, generator.Options{}, with(test.selector, test.namespaces), monitor, test.more)
			e, ok := x.Explain(shop)
			if !ok || len(e.Misses) != 1 || e.State != explain.NotSelected {
				t.Fatalf("%t %+v", ok, e)
			}
			m := e.Misses[0]
			if diff := gocmp.Diff(test.want, append(m.Reasons, m.Away)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			var changes []string
			for _, c := range m.Changes {
				changes = append(changes, c.String())
			}
			if diff := gocmp.Diff(test.changes, changes); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			instance, _ := x.Explain(manifest.ID{Kind: "MetricsInstance", Namespace: "m", Name: "main"})
			if len(m.Changes) > 0 && !strings.HasPrefix(m.Reasons[0], "spec.serviceMonitorSelector") &&
				(len(instance.Selects[0].Closest) != 1 || instance.Selects[0].Closest[0].Object.ID() != shop) {
				t.Errorf("the selector is close to %v", instance.Selects[0].Closest)
			}
		})
	}
}

func TestNearestComeFirst(t *testing.T) {
	far := strings.ReplaceAll(with("{matchLabels: {team: b, tier: x}}", "{}"), "main", "far")
	none := strings.ReplaceAll(with("null", "{}"), "main", "none")
	_, far, _ = strings.Cut(far, "---\n")
	_, none, _ = strings.Cut(none, "---\n")
	x := explainer(t, generator.Options{}, none, far, with("{matchLabels: {team: b}}", "{}"), monitor)
	e, _ := x.Explain(shop)
	var got []string
	for _, m := range e.Misses {
		got = append(got, m.By.Name)
	}
	if diff := gocmp.Diff([]string{"main", "far", "none"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAgentSelector(t *testing.T) {
	s, _ := labels.Parse("run=no")
	x := explainer(t, generator.Options{AgentSelector: s}, with("{}", "{}"), monitor)
	e, _ := x.Explain(manifest.ID{Kind: "GrafanaAgent", Namespace: "m", Name: "agent"})
	if e.State != explain.NotSelected || e.Why != "its labels do not match the agent selector run=no" {
		t.Errorf("%s: %s", e.State, e.Why)
	}
	e, _ = x.Explain(shop)
	if e.State != explain.NotSelected || len(e.SelectedBy) != 1 || !e.SelectedBy[0].Ends {
		t.Errorf("%s: %v", e.State, e.SelectedBy)
	}
}

func TestSecretsAreNamedOnly(t *testing.T) {
	const hostile = "apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: m}\n" +
		"stringData: {user: hunter3, pass: hunter4}\n"
	for _, policy := range []generator.Options{{}, {Secrets: "plaintext"}} {
		text := with("{}", "{}")
		if policy.Secrets == "" {
			text = strings.Replace(text, "u:hunter2@", "", 1) // which this policy refuses
		}
		x := explainer(t, policy, text, monitor, hostile)
		var b strings.Builder
		for _, found := range x.Index().Search("", math.MaxInt).Entries {
			e, _ := x.Explain(found.ID())
			b.WriteString(e.Text())
		}
		if strings.Contains(b.String(), "hunter") || !strings.Contains(b.String(), "with Secret/m/login (pass, user)") {
			t.Errorf("%s", b.String())
		}
	}
}

func TestTextsSteerNoTerminal(t *testing.T) {
	hostile := strings.Replace(monitor, "port: web",
		`port: web, metricRelabelings: [{action: drop, sourceLabels: [a], regex: "x\x1b\n::error::y\u202e"}]`, 1)
	x := explainer(t, generator.Options{Secrets: "plaintext"},
		strings.Replace(with("{}", "{}"),
			", basicAuth: {username: {name: login, key: user}, password: {name: login, key: pass}}", "", 1), hostile)
	e, _ := x.Explain(shop)
	text := e.Text()
	if strings.ContainsAny(text, "\x1b\u202e") || strings.Contains(text, "\n::error") ||
		!strings.Contains(text, "drop series where a is x") {
		t.Errorf("%q", text)
	}
}

func TestKinds(t *testing.T) {
	for word, want := range map[string]string{
		"ServiceMonitor": "ServiceMonitor", "servicemonitors": "ServiceMonitor", "smon": "ServiceMonitor",
		"SMON": "ServiceMonitor", "servicemonitor.monitoring.coreos.com": "ServiceMonitor",
		"pmon": "PodMonitor", "prb": "Probe", "scfg": "ScrapeConfig", "podlogs": "PodLogs",
		"grafanaagent": "GrafanaAgent", "cm": "ConfigMap", "ns": "Namespace", "secrets": "Secret",
		"pod": "", "": "", "smons": "",
	} {
		if got, ok := explain.Kind(word); got != want || ok != (want != "") {
			t.Errorf("%q is %q", word, got)
		}
	}
}

func TestResolve(t *testing.T) {
	other := strings.NewReplacer("name: shop", "name: shop", "namespace: one", "namespace: two", "team: a",
		"team: b").Replace(monitor)
	invalid := "apiVersion: monitoring.coreos.com/v1\nkind: Probe\nmetadata: {name: a/b//c, namespace: one}\nspec: {}\n"
	x := explainer(t, generator.Options{}, with("{}", "{}"), monitor, other, invalid)
	for name, test := range map[string]struct {
		references []string
		selector   string
		want       string
	}{
		"by its whole name": {[]string{"smon/one/shop"}, "", "[ServiceMonitor/one/shop]"},
		"in any namespace":  {[]string{"smon/shop"}, "", "[ServiceMonitor/one/shop ServiceMonitor/two/shop]"},
		"all of a kind":     {[]string{"smon"}, "", "[ServiceMonitor/one/shop ServiceMonitor/two/shop]"},
		"twice": {[]string{"smon/one/shop", "smon"}, "",
			"[ServiceMonitor/one/shop ServiceMonitor/two/shop]"},
		"an invalid name":     {[]string{"probe/one/a/b//c"}, "", "[Probe/one/a/b//c]"},
		"by labels":           {nil, "team", "[ServiceMonitor/one/shop ServiceMonitor/two/shop]"},
		"of a kind by labels": {[]string{"smon"}, "team=b", "[ServiceMonitor/two/shop]"},
		"no such labels":      {nil, "team=x", "no object has labels team=x; agentry tree prints all objects"},
		"a typo": {[]string{"smon/one/shpo"}, "",
			"there is no smon/one/shpo; did you mean ServiceMonitor/one/shop, ServiceMonitor/two/shop?"},
		"another namespace": {[]string{"smon/three/shop"}, "",
			"there is no smon/three/shop; did you mean ServiceMonitor/one/shop, ServiceMonitor/two/shop?"},
		"a kind without any": {[]string{"pmon/one/shop"}, "",
			"there is no pmon/one/shop; the inputs have no PodMonitor"},
		"no kind": {[]string{"servicemonitr/one/shop"}, "",
			`"servicemonitr/one/shop" is not KIND/namespace/name; did you mean ServiceMonitor?`},
		"too many parts": {[]string{"smon/one/shop/x"}, "",
			`"smon/one/shop/x" is not KIND/namespace/name; write it like servicemonitor/team-shop/checkout`},
	} {
		t.Run(name, func(t *testing.T) {
			var s labels.Selector
			if test.selector != "" {
				s, _ = labels.Parse(test.selector)
			}
			ids, err := x.Resolve(test.references, s)
			got := fmt.Sprint(ids)
			if unknown, ok := err.(*explain.UnknownError); ok {
				got = unknown.Message + "; " + unknown.Hint
			}
			if got != test.want {
				t.Errorf("%s", got)
			}
		})
	}
}

func TestSearch(t *testing.T) {
	ix := explainer(t, generator.Options{}, with("{}", "{}"), monitor).Index()
	for query, want := range map[string]int{"": 4, "shop": 1, "SHOP one": 1, "team=a": 1,
		"servicemonitor 1.yaml rendered": 1, "shop two": 0, "/m/": 3, "secret/m/login": 1} {
		if got := ix.Search(query, 10); got.Total != want || len(got.Entries) != want {
			t.Errorf("%q finds %d", query, got.Total)
		}
	}
	got := ix.Search("", 1)
	if got.Total != 4 || got.More() != 3 || len(got.Entries) != 1 || got.Entries[0].Kind != "GrafanaAgent" {
		t.Errorf("%+v", got)
	}
	want := explain.Entry{State: explain.Rendered, Object: explain.Object{Kind: "ServiceMonitor", Namespace: "one",
		Name: "shop", File: "1.yaml", Line: 1, Labels: map[string]string{"team": "a"}}}
	if diff := gocmp.Diff([]explain.Entry{want}, ix.Search("shop", 1).Entries); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSearchInPipelines finds names of all groups, and words in the name of a pipeline.
func TestSearchInPipelines(t *testing.T) {
	const login = "apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: m}\n" +
		"stringData: {user: hunter3, pass: hunter4}\n"
	ix := explainer(t, generator.Options{Secrets: "plaintext"}, with("{}", "{}"), monitor,
		strings.ReplaceAll(monitor, "name: shop", "name: shopping"), login).Index()
	for query, want := range map[string][]string{
		"shop":        {"4 ServiceMonitor/one/shop", "4 serviceMonitor/one/shop/0", "0", "0"},
		"shop prod":   {"2 ServiceMonitor/one/shop", "2 serviceMonitor/one/shop/0", "0", "0"},
		"prod":        {"0", "0", "0", "0"},
		"m/agent":     {"2 GrafanaAgent/m/agent", "0", "0", "8 agent-config.secret.yaml"},
		"example.com": {"0", "0", "2 https://<redacted>@x.example.com/push", "0"},
		"hunter":      {"0", "0", "0", "0"},
	} {
		s := explain.NewSearch(query, 1)
		s.In("prod", ix)
		s.In("test", ix)
		var got []string
		for _, g := range []explain.Group{explain.Objects, explain.Jobs, explain.Writers, explain.Files} {
			found := s.Result(g)
			line := strconv.Itoa(found.Total)
			for _, e := range found.Entries {
				line += " " + cmp.Or(e.Text, e.ID().String())
			}
			got = append(got, line)
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%q: -want +got:\n%s", query, diff)
		}
	}
}

// TestWhatIsPassedThrough is explained, and found with its file.
func TestWhatIsPassedThrough(t *testing.T) {
	kinds, _, _, _ := passthrough.Parse([]string{"PrometheusRule"})
	r := manifest.Parse(manifest.File{Path: "a.yaml", Data: []byte("apiVersion: monitoring.coreos.com/v1\n" +
		"kind: PrometheusRule\nmetadata: {name: alerts, namespace: one}\nspec: {groups: []}\n")},
		manifest.Options{PassThrough: kinds})
	x := explain.New(generator.Render(manifest.NewSet(r), generator.Options{}, nil).Explained())
	e, ok := x.Explain(manifest.ID{Kind: "PrometheusRule", Namespace: "one", Name: "alerts"})
	if !ok || e.State != explain.Rendered || e.Why != "it is passed through" {
		t.Errorf("%+v", e)
	}
	s := explain.NewSearch("alerts", 1)
	s.In("", x.Index())
	if objects, files := s.Result(explain.Objects), s.Result(explain.Files); objects.Total != 1 || files.Total != 1 {
		t.Errorf("%+v %+v", objects, files)
	}
}

// TestEveryJobHasAPlace finds the jobs of all kinds of objects in the text of each runtime.
func TestEveryJobHasAPlace(t *testing.T) {
	const logs = `apiVersion: monitoring.grafana.com/v1alpha1
kind: LogsInstance
metadata: {name: logs, namespace: m, labels: {a: b}}
spec: {podLogsSelector: {}, podLogsNamespaceSelector: {}, clients: [{url: "https://x/push"}], additionalScrapeConfigs: {name: more, key: logs}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: PodLogs
metadata: {name: shop, namespace: one}
spec: {selector: {}}
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: m}
stringData: {user: u, pass: p}
---
apiVersion: v1
kind: Secret
metadata: {name: more, namespace: m}
stringData: {logs: "[{job_name: by-hand, static_configs: [{targets: [localhost], labels: {__path__: /var/log/x}}]}]"}
`
	agent := strings.NewReplacer("u:hunter2@", "", "instanceSelector: {matchLabels: {a: b}}}",
		"instanceSelector: {matchLabels: {a: b}}}\n  logs: {instanceSelector: {matchLabels: {a: b}}}").
		Replace(with("{}", "{}"))
	for _, r := range generator.Runtimes() {
		x := explainer(t, generator.Options{Runtimes: runtimes.Choice{Default: r}}, agent, monitor, logs)
		for _, id := range []manifest.ID{shop, {Kind: "PodLogs", Namespace: "one", Name: "shop"},
			{Kind: "Secret", Namespace: "m", Name: "more"}} {
			e, _ := x.Explain(id)
			jobs := 0
			for _, rendered := range e.Renders {
				for _, job := range rendered.Jobs {
					if jobs++; job.File == "" || job.Line == 0 || job.Bytes < 20 {
						t.Errorf("%s: %s: %+v", r.Name, id, job)
					}
				}
			}
			if jobs != 1 {
				t.Errorf("%s: %s has %d jobs: %s", r.Name, id, jobs, e.Why)
			}
		}
	}
}

// TestShards: the memory of shards says how many series they can take, up to a million each.
func TestShards(t *testing.T) {
	for spec, want := range map[string]string{
		"metrics: {": "1 shard: each can take about 90000 active series for each GiB of its memory, which " +
			"nothing limits",
		"metrics: {shards: 3,": "3 shards: each can take about 90000 active series",
		"resources: {requests: {memory: 1Gi}, limits: {memory: 2Gi}}\n  metrics: {shards: 2,": "2 shards with 2 GiB of memory: about 363000 active series in all, which are 363000 for each of 1 job\n",
		"resources: {requests: {memory: 512Mi}}\n  metrics: {":                                "1 shard with 0.5 GiB of memory: about 45000 active series in all",
		"resources: {limits: {memory: 64Gi}}\n  metrics: {shards: 2,":                         "2 shards with 64 GiB of memory: about 2000000 active series in all",
	} {
		text := strings.Replace(with("{}", "{}"), "metrics: {", spec, 1)
		before, _, _ := strings.Cut(text, "remoteWrite:")
		text = before + "remoteWrite: [{url: \"https://x.example.com/push\"}]\n"
		x := explainer(t, generator.Options{Compatibility: manifest.Current}, text, monitor)
		e, found := x.Explain(manifest.ID{Kind: "GrafanaAgent", Namespace: "m", Name: "agent"})
		if !found || !strings.Contains(e.Text(), want) {
			t.Errorf("%s: want %q:\n%s", spec, want, e.Text())
		}
	}
}

// TestShardsHaveTheMemoryOfTheirPods: workloads and patches of the pipeline count, and the smallest shard if they
// differ.
func TestShardsHaveTheMemoryOfTheirPods(t *testing.T) {
	text, _, _ := strings.Cut(strings.Replace(with("{}", "{}"), "metrics: {",
		"resources: {limits: {memory: 1Gi}}\n  metrics: {shards: 2,", 1), "remoteWrite:")
	text += "remoteWrite: [{url: \"https://x.example.com/push\"}]\n"
	larger := patch.Settings{Resources: map[string]any{"limits": map[string]any{"memory": "4Gi"}}}
	smaller := patch.Patch{Target: &kustomize.Selector{Kind: "StatefulSet", Name: "agent-shard-1"},
		Patch: "- {op: replace, path: /spec/template/spec/containers/1/resources/limits/memory, value: 512Mi}"}
	for want, all := range map[string]patch.All{
		"2 shards with 1 GiB of memory":   {},
		"2 shards with 4 GiB of memory":   {Workloads: []patch.Settings{larger}},
		"2 shards with 0.5 GiB of memory": {Workloads: []patch.Settings{larger}, Patches: []patch.Patch{smaller}},
	} {
		changes, wrong := patch.New(all, func(string) patch.Place { return patch.Place{} })
		if len(wrong) > 0 {
			t.Fatal(wrong)
		}
		clustered, err := generator.RuntimesAt("alloy", "", true)
		if err != nil {
			t.Fatal(err)
		}
		programs := generator.Runtimes()
		if want != "2 shards with 0.5 GiB of memory" { // the pods of a cluster are alike: there is no set for the patch
			programs = append(programs, clustered.Default)
		}
		for _, r := range programs {
			x := explainer(t, generator.Options{Compatibility: manifest.Current, Changes: changes,
				Runtimes: runtimes.Choice{Default: r}}, text, monitor)
			e, found := x.Explain(manifest.ID{Kind: "GrafanaAgent", Namespace: "m", Name: "agent"})
			if !found || !strings.Contains(e.Text(), want) {
				t.Errorf("%s: want %q:\n%s", r.Name, want, e.Text())
			}
		}
	}
}
