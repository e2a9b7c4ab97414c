package prometheus

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	commonconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/http"
	"github.com/prometheus/prometheus/discovery/kubernetes"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"

	"github.com/agentry-dev/agentry/sd/merge"
)

// collected are targets of MetricsIntegrations that the pods of a GrafanaAgent scrape for IntegrationMonitors: each
// once for each shard that scrapes it. They are written in a way that does not depend on the program.
type collected struct {
	targets  []string
	settings map[string]string // of jobs, by instance and job
	dropped  int               // targets, by rules
}

// TestAlloyCollectsTheSameIntegrations compares what IntegrationMonitors collect: in the agent by the list of the
// sd-aggregator, in Alloy by discovery of the pods. Both begin with the pods and configurations that are printed.
func TestAlloyCollectsTheSameIntegrations(t *testing.T) {
	commonconfig.MarshalSecretValue = true
	defer func() { commonconfig.MarshalSecretValue = false }()
	jobs, dropped := 0, 0
	of := map[string]int{}
	eachIntegrationCase(t, func(t *testing.T, w integrationCase) {
		for unit := range w.static.metrics {
			if w.static.shards(unit) > mostShards {
				continue
			}
			want := w.static.byAgents(t, unit)
			if problems := want.unlike(w.native.byAlloys(t, unit)); len(problems) > 0 {
				t.Errorf("%s: %s (-agent +alloy):\n%s", w.name, unit, strings.Join(problems, "\n"))
			}
			jobs, dropped = jobs+len(want.settings), dropped+want.dropped
			for _, target := range want.targets {
				_, after, _ := strings.Cut(target, "prometheus.exporter.")
				name, _, _ := strings.Cut(after, " ")
				of[name]++
			}
		}
	})
	t.Logf("%d jobs, %d targets dropped, others: %v", jobs, dropped, of)
	if *alloyOnly == "" && (jobs < 200 || dropped < 1000 ||
		slices.ContainsFunc([]string{"blackbox", "snmp", "redis", "process", "unix"}, func(name string) bool {
			return of[name] < 50
		})) {
		t.Errorf("too few were compared: %d jobs, %d targets dropped, others: %v", jobs, dropped, of)
	}
}

// unlike returns the targets and settings that only one of them has.
func (c collected) unlike(other collected) (out []string) {
	rest := slices.Clone(other.targets)
	for _, target := range c.targets {
		if at := slices.Index(rest, target); at >= 0 {
			rest = slices.Delete(rest, at, at+1)
		} else {
			out = append(out, "- "+target)
		}
	}
	for _, target := range rest {
		out = append(out, "+ "+target)
	}
	if diff := gocmp.Diff(c.settings, other.settings); diff != "" {
		out = append(out, diff)
	}
	return out
}

// byAgents returns what the agent's metrics pods of a GrafanaAgent collect.
func (c cluster) byAgents(t *testing.T, unit string) collected {
	t.Helper()
	out := collected{settings: map[string]string{}}
	owner, _ := merge.ParseOwner(unit)
	all, answering := c.aggregated(t, owner), c.answering(t, agentsPaths)
	for shard := range c.shards(unit) {
		for name, i := range readStatic(t, c.metrics[unit], podEnv(strconv.Itoa(shard))) {
			name = strings.NewReplacer("/", "__", "-", "_", ".", "_D_").Replace(name)
			for _, job := range monitored(i.jobs) {
				if sd := job.ServiceDiscoveryConfigs[0].(*http.SDConfig); !strings.HasSuffix(sd.URL,
					"?grafanaagent="+unit) {
					t.Errorf("%s asks for the targets of others: %s", job.JobName, sd.URL)
				}
				out.add(t, name, job, all, answering)
			}
		}
	}
	return out
}

// byAlloys returns what Alloy's metrics pods of a GrafanaAgent collect.
func (c cluster) byAlloys(t *testing.T, unit string) collected {
	t.Helper()
	out := collected{settings: map[string]string{}}
	answering := c.answering(t, alloysPaths)
	for shard := range c.shards(unit) {
		for name, i := range readAlloy(t, c.metrics[unit], podEnv(strconv.Itoa(shard))) {
			for _, job := range monitored(i.jobs) {
				out.add(t, name, job, c.found(t, job), answering)
			}
		}
	}
	return out
}

// monitored returns the jobs of IntegrationMonitors.
func monitored(jobs map[string]scrapeJob) (out []scrapeJob) {
	for name, job := range jobs {
		if strings.HasPrefix(name, "integrationMonitor/") {
			out = append(out, job)
		}
	}
	return out
}

// found returns the targets that a job of Alloy selects from.
func (c cluster) found(t *testing.T, job scrapeJob) (out []model.LabelSet) {
	t.Helper()
	for _, from := range job.collected {
		for _, d := range c.discovered(t, from.ServiceDiscoveryConfigs[0].(*kubernetes.SDConfig)) {
			l := labels.NewBuilder(asLabels(d))
			if relabel.ProcessBuilder(l, from.RelabelConfigs...) {
				out = append(out, model.LabelSet{})
				l.Range(func(l labels.Label) { out[len(out)-1][model.LabelName(l.Name)] = model.LabelValue(l.Value) })
			}
		}
	}
	return out
}

// add adds the targets of a job that one shard scrapes. Equal targets are scraped once.
func (c *collected) add(t *testing.T, instance string, job scrapeJob, from []model.LabelSet,
	answering map[string]string) {
	t.Helper()
	c.settings[instance+" "+job.JobName] = settingsOf(t, job)
	scraped := map[string]bool{}
	for _, target := range from {
		visible, asked, interval, timeout := job.targets(target)
		if visible.IsEmpty() {
			c.dropped++
			continue
		}
		if strings.HasPrefix(visible.Get("job"), "prometheus.scrape.") {
			// one that a rule removes comes back: docs/alloy-reference.md
			visible = labels.NewBuilder(visible).Del("job").Labels()
		}
		u, err := url.Parse(asked)
		if err != nil {
			t.Fatal(err)
		}
		path := u.Path
		if path == string(target["__metrics_path__"]) {
			path = cmp.Or(answering[string(target["__address__"])+path], "nothing at "+path)
		}
		scraped[fmt.Sprintf("%s %s: %s://%s %s ?%s %s %s %s", instance, job.JobName, u.Scheme, u.Host, path,
			paramsOf(t, asked), visible, interval, timeout)] = true
	}
	c.targets = slices.AppendSeq(c.targets, maps.Keys(scraped))
}

// answering returns which exporter of which MetricsIntegration answers at an address with a path.
func (c cluster) answering(t *testing.T, paths func(*testing.T, *pod) map[string]string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, p := range c.pods {
		if p.runsIntegrations() {
			for path, who := range paths(t, p) {
				out[netip.AddrPortFrom(p.ip, port).String()+path] = who
			}
		}
	}
	return out
}

func agentsPaths(t *testing.T, p *pod) map[string]string {
	out := map[string]string{}
	for _, i := range readIntegrations(t, agentsText(t, p.config, p.env())) {
		out[i.path] = fmt.Sprintf("prometheus.exporter.%s of %v", cmp.Or(inAlloy[i.name], i.name), i.config["instance"])
	}
	return out
}

func alloysPaths(t *testing.T, p *pod) map[string]string {
	out := map[string]string{}
	for id, b := range newReader(t, p.config, p.env()).file.Components {
		if of, is := strings.CutPrefix(nameOf(b.Label), "metricsIntegration/"); is {
			out[alloysPath+id+"/metrics"] = b.Name + " of " + of
		}
	}
	return out
}
