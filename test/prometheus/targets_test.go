package prometheus

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	commonconfig "github.com/prometheus/common/config"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/kubernetes"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/scrape"
	"k8s.io/apimachinery/pkg/fields"
	apilabels "k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/internal/targets"
)

// TestComputedTargetsAreThoseThatPrometheusScrapes compares "agentry targets" with Prometheus's own service discovery
// and scrape manager, over random objects of a cluster, for jobs with all roles.
func TestComputedTargetsAreThoseThatPrometheusScrapes(t *testing.T) {
	text, err := os.ReadFile("testdata/targets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	read := manifest.Parse(manifest.File{Path: "targets.yaml", Data: text},
		manifest.Options{Compatibility: manifest.Current})
	out := generator.Render(manifest.NewSet(read), generator.Options{Secrets: "plaintext",
		Compatibility: manifest.Current}, nil)
	if found := append(read.Diags, out.Diags...); len(found) > 0 {
		t.Fatal(found)
	}
	jobs, _ := explain.New(out.Explained()).ScrapeJobs()
	configs := scrapeConfigs(t, out)
	if len(configs) != len(jobs) {
		t.Fatalf("%d jobs are rendered, and %d computed", len(configs), len(jobs))
	}
	var mutex sync.Mutex
	kept := map[string]int{}
	t.Run("clusters", func(t *testing.T) {
		for seed := range uint64(12) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				for name, n := range compareTargets(t, randomCluster(rand.New(rand.NewPCG(seed, 0))), jobs, configs) {
					mutex.Lock()
					kept[name] += n
					mutex.Unlock()
				}
			})
		}
	})
	for name := range configs {
		if kept[name] == 0 {
			t.Errorf("%s has never had a target", name)
		}
	}
}

// compareTargets compares the targets of jobs in a cluster, and returns how many each job has.
func compareTargets(t *testing.T, objects []map[string]any, jobs []explain.ScrapeJob,
	configs map[string]*config.ScrapeConfig) map[string]int {
	t.Helper()
	export, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := targets.FromExport(export)
	if err != nil {
		t.Fatal(err)
	}
	report, err := targets.Compute(t.Context(), cluster, jobs)
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]int{}
	for _, j := range report.Jobs {
		var got []string
		for _, target := range j.Targets {
			got = append(got, target.URL+" "+labels.FromMap(target.Labels).String())
		}
		slices.Sort(got)
		if diff := gocmp.Diff(scrapedTargets(t, configs[j.Name], objects), got); diff != "" {
			t.Fatalf("%s: -Prometheus +agentry:\n%s\n%s", j.Name, diff, export)
		}
		if kept[j.Name] = len(got); j.Kept == 0 && j.Why == "" {
			t.Errorf("%s: nothing says why there is no target", j.Name)
		}
	}
	return kept
}

// scrapeConfigs returns the jobs of a configuration as Prometheus reads them, by their names.
func scrapeConfigs(t *testing.T, out *generator.Output) map[string]*config.ScrapeConfig {
	t.Helper()
	var c agentConfig
	if err := yaml.Unmarshal([]byte(expand(t, rendered(t, out, "agent-config.secret.yaml"))), &c); err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(map[string]any{"scrape_configs": c.Metrics.Configs[0].ScrapeConfigs})
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(string(text), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*config.ScrapeConfig{}
	for _, job := range loaded.ScrapeConfigs {
		all[job.JobName] = job
	}
	return all
}

// scrapedTargets returns the targets that Prometheus scrapes for a job in a cluster.
func scrapedTargets(t *testing.T, job *config.ScrapeConfig, objects []map[string]any) (out []string) {
	t.Helper()
	server := httptest.NewServer(lister{objects})
	defer server.Close()
	lb := labels.NewBuilder(labels.EmptyLabels())
	for _, sd := range job.ServiceDiscoveryConfigs {
		var groups []*targetgroup.Group
		switch sd := sd.(type) {
		case discovery.StaticConfig:
			groups = sd
		case *kubernetes.SDConfig:
			groups = discovered(t, *sd, server.URL, objects)
		}
		for _, group := range groups {
			found, _ := scrape.TargetsFromGroup(group, job, nil, lb) // without those that cannot be scraped
			for _, target := range found {
				if series := target.Labels(lb); !series.IsEmpty() {
					out = append(out, withPort(target.URL(), series))
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// withPort returns a target in the way of the agent's Prometheus: with the port of its scheme. Prometheus 3 does not
// add it.
func withPort(scraped *url.URL, series labels.Labels) string {
	port := ":80"
	if scraped.Scheme == "https" {
		port = ":443"
	}
	host := scraped.Host
	_, _, has := net.SplitHostPort(host)
	if _, _, err := net.SplitHostPort(host + port); has != nil && err == nil {
		scraped.Host += port
		if series.Get("instance") == host {
			series = labels.NewBuilder(series).Set("instance", scraped.Host).Labels()
		}
	}
	return scraped.String() + " " + series.String()
}

// discovered returns the groups of targets that Prometheus's service discovery finds at an API server. It ends when
// there is a group for each object that the role is about.
func discovered(t *testing.T, sd kubernetes.SDConfig, server string, objects []map[string]any) []*targetgroup.Group {
	t.Helper()
	address, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	sd.APIServer = commonconfig.URL{URL: address}
	expected := map[string]bool{}
	for _, o := range objects {
		resource, source := about(o)
		if !resource.is(string(sd.Role)) || len(sd.NamespaceDiscovery.Names) > 0 && sd.Role != kubernetes.RoleNode &&
			!slices.Contains(sd.NamespaceDiscovery.Names, metadata(o, "namespace")) {
			continue
		}
		shown := true
		for _, s := range sd.Selectors {
			if string(s.Role) == string(sd.Role) {
				shown = shown && selects(o, s.Label, s.Field)
			}
		}
		if shown {
			expected[source] = true
		}
	}
	d, err := kubernetes.New(nil, sd.NewDiscovererMetrics(prometheus.NewRegistry(), nil), &sd)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	groups, ended := make(chan []*targetgroup.Group), make(chan struct{})
	go func() {
		defer close(ended)
		d.Run(ctx, groups)
	}()
	found := map[string]*targetgroup.Group{}
	for len(expected) > 0 {
		for _, group := range <-groups {
			found[group.Source] = group
			delete(expected, group.Source)
		}
	}
	stop()
	for {
		select {
		case <-groups:
			continue
		case <-ended:
		}
		break
	}
	var out []*targetgroup.Group
	for _, group := range found {
		out = append(out, group)
	}
	return out
}

// resource is a resource of the API, with its path.
type resource struct{ role, path, plural string }

func (r resource) is(role string) bool { return r.role == role }

// about returns the resource of an object, and the source of its group of targets.
func about(o map[string]any) (resource, string) {
	name := metadata(o, "namespace") + "/" + metadata(o, "name")
	switch o["kind"] {
	case "Node":
		return resource{"node", "/api/v1/", "nodes"}, "node" + name
	case "Pod":
		return resource{"pod", "/api/v1/", "pods"}, "pod/" + name
	case "Service":
		return resource{"service", "/api/v1/", "services"}, "svc/" + name
	case "Endpoints":
		return resource{"endpoints", "/api/v1/", "endpoints"}, "endpoints/" + name
	case "EndpointSlice":
		return resource{"endpointslice", "/apis/discovery.k8s.io/v1/", "endpointslices"}, "endpointslice/" + name
	}
	return resource{"ingress", "/apis/networking.k8s.io/v1/", "ingresses"}, "ingress/" + name
}

func metadata(o map[string]any, field string) string {
	text, _ := o["metadata"].(map[string]any)[field].(string)
	return text
}

// selects reports whether an object has the labels and fields that selectors want.
func selects(o map[string]any, label, field string) bool {
	of, _ := o["metadata"].(map[string]any)["labels"].(map[string]any)
	set := apilabels.Set{}
	for name, value := range of {
		set[name] = value.(string)
	}
	byLabel, _ := apilabels.Parse(label)
	byField, _ := fields.ParseSelector(field)
	return byLabel.Matches(set) && !slices.ContainsFunc(byField.Requirements(), func(r fields.Requirement) bool {
		var value any = o
		for name := range strings.SplitSeq(r.Field, ".") {
			inner, _ := value.(map[string]any)
			value = inner[name]
		}
		text, _ := value.(string)
		return (text == r.Value) == (r.Operator == "!=")
	})
}

// lister is an API server whose objects never change.
type lister struct{ objects []map[string]any }

func (l lister) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	w.Header().Set("Content-Type", "application/json")
	if query.Get("sendInitialEvents") != "" {
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure",
			"reason": "Invalid", "code": http.StatusUnprocessableEntity})
		return
	}
	if query.Get("watch") != "" {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	}
	items := []any{}
	apiVersion, kind := "v1", "List"
	for _, o := range l.objects {
		of, _ := about(o)
		path := of.path + of.plural
		inNamespace := of.path + "namespaces/" + metadata(o, "namespace") + "/" + of.plural
		if (r.URL.Path == path || r.URL.Path == inNamespace) &&
			selects(o, query.Get("labelSelector"), query.Get("fieldSelector")) {
			items = append(items, o)
			apiVersion, kind = o["apiVersion"].(string), o["kind"].(string)+"List"
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"resourceVersion": "1"}, "items": items})
}

// randomCluster returns objects of a cluster: some belong together, and some are as strange as the API allows.
func randomCluster(r *rand.Rand) (out []map[string]any) {
	pick := func(from ...any) any { return from[r.IntN(len(from))] }
	some := func(from map[string]any) map[string]any {
		kept := map[string]any{}
		for _, name := range slices.Sorted(func(yield func(string) bool) {
			for name := range from {
				if !yield(name) {
					return
				}
			}
		}) {
			if value := from[name]; value != nil && r.IntN(4) > 0 {
				kept[name] = value
			}
		}
		return kept
	}
	object := func(apiVersion, kind, namespace, name string, more map[string]any) {
		meta := map[string]any{"name": name, "uid": "uid-" + name, "labels": some(map[string]any{
			"app": pick("web", "db"), "app.kubernetes.io/name": pick("web", ""), "team": pick("a", "b", "c")}),
			"annotations": some(map[string]any{"example.com/path": pick("/x", "/metrics"), "port": pick("80", "81")})}
		if n := len(out); n%4 > 0 {
			durations := []string{"fast", "0", "0s", "5s", "1m", "1h30m", "30", " ", "-1s", "1s500ms", "2m"}
			of := meta["annotations"].(map[string]any)
			of["interval"], of["timeout"] = durations[n*n%len(durations)], durations[n%len(durations)]
		}
		if namespace != "" {
			meta["namespace"] = namespace
		}
		if kind == "Pod" && r.IntN(2) == 0 {
			meta["ownerReferences"] = []any{map[string]any{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs",
				"uid": "1", "controller": pick(true, true, false)}}
		}
		o := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": meta}
		for name, value := range more {
			o[name] = value
		}
		out = append(out, o)
	}
	port := func(nameField, numberField string) map[string]any {
		return some(map[string]any{nameField: pick("http", "metrics", ""), "protocol": pick("TCP", "UDP"),
			numberField: pick(80, 81, 9090)})
	}
	for n := range 2 {
		object("v1", "Node", "", fmt.Sprint("node-", n), map[string]any{"spec": map[string]any{"providerID": "id"},
			"status": map[string]any{"addresses": []any{
				map[string]any{"type": "Hostname", "address": fmt.Sprint("node-", n)},
				map[string]any{"type": pick("InternalIP", "ExternalIP", "InternalDNS"), "address": "192.0.2.1"}},
				"conditions":      []any{map[string]any{"type": "Ready", "status": pick("True", "False", "Unknown")}},
				"daemonEndpoints": map[string]any{"kubeletEndpoint": map[string]any{"Port": 10250}}}})
	}
	for _, namespace := range []string{"shop", "ops"} {
		for n := range 4 {
			container := func(name string) map[string]any {
				ports := []any{}
				for range r.IntN(3) {
					p := port("name", "containerPort")
					p["containerPort"] = pick(80, 81, 9090)
					ports = append(ports, p)
				}
				return map[string]any{"name": name, "image": "image:" + name, "ports": ports}
			}
			status := some(map[string]any{"podIP": fmt.Sprint("10.0.0.", n), "hostIP": "192.0.2.1"})
			status["phase"] = pick("Running", "Running", "Pending", "Failed")
			status["conditions"] = []any{map[string]any{"type": pick("Ready", "Initialized"),
				"status": pick("True", "False")}}
			status["containerStatuses"] = []any{map[string]any{"name": "one", "containerID": "docker://1"}}
			object("v1", "Pod", namespace, fmt.Sprint("pod-", n), map[string]any{"status": status,
				"spec": map[string]any{"nodeName": pick("node-0", "node-1", "gone", ""),
					"containers":     []any{container("one"), container("two")},
					"initContainers": []any{container("init")}}})
		}
		for n := range 3 {
			name := fmt.Sprint("service-", n)
			kind := pick("ClusterIP", "LoadBalancer", "ExternalName").(string)
			if r.IntN(4) > 0 {
				object("v1", "Service", namespace, name, map[string]any{"spec": map[string]any{"type": kind,
					"clusterIP": "10.96.0.1", "externalName": "x.example.com", "loadBalancerIP": "192.0.2.9",
					"ports": []any{map[string]any{"name": pick("http", "metrics"), "port": 80, "protocol": "TCP"}}}})
			}
			reference := func() map[string]any {
				return map[string]any{"kind": pick("Pod", "Pod", "Pod", "Node"), "namespace": namespace,
					"name": pick("pod-0", "pod-1", "pod-9", "node-0")}
			}
			var addresses, endpoints []any
			for i := range 1 + r.IntN(3) {
				a := some(map[string]any{"nodeName": pick("node-0", "node-1"), "hostname": "h",
					"targetRef": reference()})
				e := some(map[string]any{"nodeName": pick("node-0", "node-1"), "hostname": "h", "zone": "z",
					"targetRef": reference(), "deprecatedTopology": map[string]any{"example.com/rack": "r"},
					"conditions": some(map[string]any{"ready": pick(true, false), "serving": true,
						"terminating": false})})
				a["ip"], e["addresses"] = fmt.Sprint("10.0.0.", i), []any{fmt.Sprint("10.0.0.", i), "fd00::1"}
				addresses, endpoints = append(addresses, a), append(endpoints, e)
			}
			numbered := port("name", "port")
			numbered["port"] = pick(80, 81)
			object("v1", "Endpoints", namespace, name, map[string]any{"subsets": []any{map[string]any{
				"addresses": addresses, "notReadyAddresses": addresses[:r.IntN(2)],
				"ports": []any{numbered, map[string]any{"name": "metrics", "port": 9090}}}}})
			object("discovery.k8s.io/v1", "EndpointSlice", namespace, name+"-x", map[string]any{"addressType": "IPv4",
				"endpoints": endpoints, "ports": []any{port("name", "port"), numbered}})
			if r.IntN(4) > 0 {
				meta := out[len(out)-1]["metadata"].(map[string]any)
				meta["labels"].(map[string]any)["kubernetes.io/service-name"] = name
			}
		}
		rule := map[string]any{"host": pick("shop.example.com", "a.b.example.com", "")}
		if r.IntN(2) == 0 {
			rule["http"] = map[string]any{"paths": []any{map[string]any{"path": pick("/x", "")},
				map[string]any{"path": "/y"}}}
		}
		object("networking.k8s.io/v1", "Ingress", namespace, "ingress", map[string]any{"spec": some(map[string]any{
			"ingressClassName": "nginx", "rules": []any{rule},
			"tls": []any{map[string]any{"hosts": []any{pick("*.example.com", "shop.example.com")}}}})})
	}
	return out
}
