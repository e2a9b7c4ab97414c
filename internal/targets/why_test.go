package targets_test

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/internal/targets"
)

const probe = `
---
apiVersion: monitoring.coreos.com/v1
kind: Probe
metadata: {name: web, namespace: shop}
spec: {prober: {url: "blackbox:9115"}, targets: {ingress: {selector: {matchLabels: {app: web}}}}}
`

// TestWhyThereIsNoTarget: one line says what is in the way first.
func TestWhyThereIsNoTarget(t *testing.T) {
	const unready = `{kind: Endpoints, apiVersion: v1, metadata: {name: other, namespace: shop}}`
	for name, c := range map[string]struct {
		monitor string
		objects []string
		want    string
	}{
		"no namespace": {serviceMonitor,
			[]string{`{kind: Namespace, apiVersion: v1, metadata: {name: ops}}`, service, unready, pod("a", "")},
			"the cluster has no namespace shop"},
		"no Service": {
			strings.Replace(serviceMonitor, "spec: {", "spec: {namespaceSelector: {matchNames: [a, b]}, ", 1),
			[]string{service, unready, pod("a", "")}, "there is no Service in namespaces a, b; the selector chooses Services " +
				"in namespace shop: add shop to the matchNames of namespaceSelector"},
		"a Service of another namespace": {serviceMonitor, []string{strings.Replace(service, `"shop"`, `"web"`, 1), unready,
			pod("a", "")}, "there is no Service in namespace shop; the selector chooses Services in namespace web: " +
			"set namespaceSelector: {matchNames: [web]}"},
		"Services of other namespaces than those that are named": {
			strings.Replace(serviceMonitor, "spec: {", "spec: {namespaceSelector: {matchNames: [shop, a]}, ", 1),
			[]string{strings.Replace(service, `"app": "web"`, `"app": "wob"`, 1), unready, pod("a", ""),
				strings.Replace(service, `"shop"`, `"e"`, 1), strings.Replace(service, `"shop"`, `"b"`, 1),
				strings.Replace(service, `"shop"`, `"c"`, 1), strings.Replace(service, `"shop"`, `"d"`, 1)},
			"no Service in namespaces shop, a is selected: Service/shop/web: label app is wob, not web; the selector " +
				"chooses Services in namespaces b, c, d and 1 more: add b, c, d to the matchNames of namespaceSelector"},
		"several Services without the label": {serviceMonitor,
			[]string{unready, pod("a", ""),
				`{kind: Service, apiVersion: v1, metadata: {name: a, namespace: shop}}`,
				`{kind: Service, apiVersion: v1, metadata: {name: b, namespace: shop, labels: {app: database}}}`,
				`{kind: Service, apiVersion: v1, metadata: {name: c, namespace: shop, labels: {app: webs}}}`,
				`{kind: Service, apiVersion: v1, metadata: {name: d, namespace: shop, labels: {app: webs}}}`},
			"no Service in namespace shop is selected: Service/shop/c and 1 more: label app is webs, not web; " +
				"Service/shop/a: label app is not set (web is wanted); Service/shop/b: label app is database, not web"},
		"a Service for another host": {serviceMonitor,
			[]string{strings.Replace(service, `"spec": {`, `"spec": {"type": "ExternalName", `, 1), unready, pod("a", "")},
			"Service/shop/web is selected, and it has no endpoints: its type is ExternalName"},
		"a Service without a selector": {serviceMonitor, []string{service, unready, pod("a", "")},
			"Service/shop/web is selected, and it has no endpoints, and no selector by which Kubernetes would make them"},
		"a Service whose pods have no address": {serviceMonitor,
			[]string{strings.Replace(service, `"spec": {`, `"spec": {"selector": {"app": "web"}, `, 1), unready,
				pod("a", ""), pod("b", "")},
			"Service/shop/web is selected, and it has no endpoints: 2 pods that its own selector chooses have no address yet"},
		"endpoints that are missing": {serviceMonitor,
			[]string{strings.Replace(service, `"spec": {`, `"spec": {"selector": {"app": "web"}, `, 1), unready,
				pod("a", "10.0.0.1")},
			"Service/shop/web is selected, and it has no endpoints, although its selector app=web chooses 1 pod"},
		"two Services without endpoints": {serviceMonitor,
			[]string{service, strings.Replace(service, `"name": "web"`, `"name": "wob"`, 1), unready, pod("a", "")},
			"Service/shop/web, Service/shop/wob are selected, and none has a target; the first: it has no endpoints, " +
				"and no selector by which Kubernetes would make them"},
		"ports without names": {podMonitor, []string{strings.Replace(pod("a", "10.0.0.1"), `"name": "http",`, "", 1)},
			"Pod/shop/a is selected, but none of the ports is http: no port has a name"},
		"no ports": {strings.Replace(podMonitor, "port: http", "portNumber: 81", 1),
			[]string{strings.Replace(pod("a", "10.0.0.1"), `"ports": [{"name": "http",
		"containerPort": 80}]`, `"ports": []`, 1)},
			"Pod/shop/a is selected, but none of the ports is 81: there is none"},
		"the last of several rules": {strings.NewReplacer("selector: {matchLabels: {app: web}}, ", "selector: {}, ",
			"port: http", "port: http, relabelings: [{action: keep, sourceLabels: [pod], regex: b}]").Replace(podMonitor),
			[]string{pod("a", "10.0.0.1"), strings.Replace(pod("c", "10.0.0.1"), `"http"`, `"web"`, 1)},
			"all 2 targets that are discovered are dropped (1: port is not http; " +
				"1: spec.podMetricsEndpoints[0].relabelings[0]: keep targets where pod is b)"},
		"a reason for each": {podMonitor,
			[]string{strings.Replace(pod("a", "10.0.0.1"), `"phase": "Running"`, `"phase": "Succeeded"`, 1),
				strings.Replace(pod("b", "10.0.0.2"), `"http"`, `"web"`, 1)},
			"Pod/shop/a, Pod/shop/b are selected, and none has a target: Pod/shop/b: none of the ports is http: there is " +
				"web; Pod/shop/a: 1 target is dropped: the pod is finished"},
		"a Service has the port and another one the endpoints": {serviceMonitor,
			[]string{service, strings.Replace(service, `"name": "web"`, `"name": "wob"`, 1),
				`{kind: Endpoints, apiVersion: v1, metadata: {name: wob, namespace: shop}, subsets: [{addresses: [{ip: 10.0.0.1}],
				ports: [{name: other, port: 80}]}]}`, pod("a", "")},
			"Service/shop/web, Service/shop/wob are selected, and none has a target: Service/shop/wob: none of the ports is " +
				"http: there is other; Service/shop/web: it has no endpoints, and no selector by which Kubernetes would make them"},
		"two targets that no rule drops": {strings.Replace(podMonitor, "port: http",
			"port: http, relabelings: [{targetLabel: __address__, replacement: ''}]", 1),
			[]string{pod("a", "10.0.0.1"), pod("b", "10.0.0.2")},
			"Pod/shop/a, Pod/shop/b are selected, but 2 targets are dropped: " +
				"spec.podMetricsEndpoints[0].relabelings[0]: it has no __address__"},
		"an interval that is none": {strings.Replace(podMonitor, "port: http", "port: http, relabelings: ["+
			"{targetLabel: __scrape_interval__, replacement: fast}, {targetLabel: x, replacement: z}]", 1),
			[]string{pod("a", "10.0.0.1")},
			"Pod/shop/a is selected, but 1 target is dropped: spec.podMetricsEndpoints[0].relabelings[0]: " +
				`__scrape_interval__ is not a duration: "fast"`},
		"a timeout of 0": {strings.Replace(podMonitor, "port: http",
			"port: http, relabelings: [{targetLabel: __scrape_timeout__, replacement: 0s}]", 1),
			[]string{pod("a", "10.0.0.1")},
			"Pod/shop/a is selected, but 1 target is dropped: spec.podMetricsEndpoints[0].relabelings[0]: " +
				"__scrape_timeout__ is 0"},
		"an interval below the timeout of the job": {strings.Replace(podMonitor, "port: http",
			"port: http, relabelings: [{targetLabel: __scrape_interval__, replacement: 5s}]", 1),
			[]string{pod("a", "10.0.0.1")},
			"Pod/shop/a is selected, but 1 target is dropped: spec.podMetricsEndpoints[0].relabelings[0]: " +
				"__scrape_timeout__ is longer than __scrape_interval__: 10s > 5s"},
		"no interval": {strings.Replace(podMonitor, "port: http",
			"port: http, relabelings: [{action: labeldrop, regex: __scrape_.+}]", 1),
			[]string{pod("a", "10.0.0.1")},
			"Pod/shop/a is selected, but 1 target is dropped: spec.podMetricsEndpoints[0].relabelings[0]: " +
				"it has no __scrape_interval__"},
		"an Ingress without rules": {probe,
			[]string{`{kind: Ingress, apiVersion: networking.k8s.io/v1, metadata: {name: a, namespace: shop, labels: {app: web}}}`},
			"Ingress/shop/a is selected, and it has no rule"},
		"an Ingress without a host": {probe,
			[]string{`{kind: Ingress, apiVersion: networking.k8s.io/v1, metadata: {name: a, namespace: shop, labels: {app: web}}, spec: {rules: [{}]}}`},
			""}, // the prober is asked for no target
		"no Node": {`
---
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {name: web, namespace: shop}
spec: {selector: {}, attachMetadata: {node: true}, podMetricsEndpoints: [{port: http}]}
`, []string{pod("a", "10.0.0.1"), `{kind: Node, apiVersion: v1, metadata: {name: one}}`},
			"Pod/shop/a is selected, and its node is not one that the discovery sees"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, err := targets.FromExport([]byte(strings.Join(c.objects, "\n---\n")))
			if err != nil {
				t.Fatal(err)
			}
			report, err := targets.Compute(t.Context(), cluster, jobs(t, hierarchy+c.monitor))
			if err != nil || len(report.Jobs) != 1 {
				t.Fatal(report, err)
			}
			if got := report.Jobs[0].Why; got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestShardsOfTargets: each target says which shards scrape it, also if shards belong to zones.
func TestShardsOfTargets(t *testing.T) {
	export := []byte(strings.Join([]string{pod("a", "10.0.0.1"), pod("b", "10.0.0.2"), pod("c", "10.0.0.3"),
		`{kind: Node, apiVersion: v1, metadata: {name: one, labels: {topology.kubernetes.io/zone: north}}}`,
	}, "\n---\n"))
	export = []byte(strings.ReplaceAll(string(export), `"spec": {"containers"`, `"spec": {"nodeName": "one", "containers"`))
	for name, c := range map[string]struct {
		metrics, monitor, want string
	}{
		"one shard":  {"", "", "- - -"},
		"two shards": {"shards: 2, ", "", "1 1 0"},
		"zones": {"shards: 4, shardingStrategy: {mode: Topology, topology: {values: [south, north]}}, ",
			"attachMetadata: {node: true}, ", "3 3 1"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(hierarchy, "metrics: {", "metrics: {"+c.metrics, 1) +
				strings.Replace(podMonitor, "spec: {", "spec: {"+c.monitor, 1)
			cluster, err := targets.FromExport(export)
			if err != nil {
				t.Fatal(err)
			}
			report, err := targets.Compute(t.Context(), cluster, jobs(t, text))
			if err != nil || len(report.Jobs) != 1 {
				t.Fatal(report, err)
			}
			var got []string
			for _, target := range report.Jobs[0].Targets {
				word := "-"
				for _, shard := range target.Shards {
					word = strings.TrimPrefix(word, "-") + string(rune('0'+shard))
				}
				got = append(got, word)
			}
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("got %s, want %s; %s", text, c.want, report.Jobs[0])
			}
		})
	}
}
