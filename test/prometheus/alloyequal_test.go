package prometheus

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	commonconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery"
	_ "github.com/prometheus/prometheus/discovery/http" // http_sd_configs
	"github.com/prometheus/prometheus/model/labels"
	"go.yaml.in/yaml/v2"

	"github.com/agentry-dev/agentry/generator/runtimes/agent"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy"
)

var secretVariable = regexp.MustCompile(`AGENTRY_\w+`)

// TestAlloyScrapesTheSameTargets compares what the agent and Alloy make of the same objects: for each job, its service
// discovery, settings and rules for samples; and for many discovered targets the labels, URL, interval and timeout.
// Both are read from what is printed, by Prometheus' own code.
func TestAlloyScrapesTheSameTargets(t *testing.T) {
	commonconfig.MarshalSecretValue = true
	defer func() { commonconfig.MarshalSecretValue = false }()
	var counted equalCounts
	eachAlloyFixture(t, func(t *testing.T, w alloyFixture) {
		static, staticErrors := w.render(t, agent.Runtime())
		native, nativeErrors := w.render(t, alloy.Runtime())
		same := fmt.Sprint(staticErrors) == fmt.Sprint(nativeErrors)
		if same && !slices.Equal(slices.Sorted(maps.Keys(static)), slices.Sorted(maps.Keys(native))) {
			t.Errorf("%s: the units differ", w.name)
		}
		for unit, text := range static {
			if _, ok := native[unit]; !ok {
				continue
			}
			for _, shard := range []string{"0", "1"} {
				e := equality{t, w.name + ": " + unit, w.text, same, &counted}
				e.instances(readStatic(t, text, podEnv(shard)), readAlloy(t, native[unit], podEnv(shard)))
			}
		}
	})
	t.Logf("%+v", counted)
	if *alloyOnly == "" && (counted.jobs < 2000 || counted.kept < 5000 || counted.dropped < 5000 ||
		counted.writers < 500 || counted.others < 100) {
		t.Errorf("too few were compared: %+v", counted)
	}
}

type equalCounts struct{ jobs, kept, dropped, withoutJob, writers, others int }

// equality compares one configuration.
type equality struct {
	*testing.T
	name, text string
	same       bool // nothing is left out by one runtime alone
	counted    *equalCounts
}

func (e equality) instances(static map[string]staticInstance, native map[string]alloyInstance) {
	if e.same && len(static) != len(native) {
		e.Errorf("%s: %d instances, and %d for Alloy", e.name, len(static), len(native))
	}
	for name, want := range static {
		got, ok := native[strings.NewReplacer("/", "__", "-", "_", ".", "_D_").Replace(name)]
		if !ok {
			if e.same {
				e.Errorf("%s: %s is not rendered for Alloy", e.name, name)
			}
			continue
		}
		e.writers(name, want, got)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(want.jobs)), slices.Sorted(maps.Keys(got.jobs))); e.same &&
			diff != "" {
			e.Errorf("%s: %s: jobs (-agent +alloy):\n%s", e.name, name, diff)
		}
		for job := range want.jobs {
			if got.jobs[job].ScrapeConfig != nil {
				e.counted.others += len(want.jobs[job].others)
				e.job(name+": "+job, want.jobs[job], got.jobs[job])
			}
		}
	}
}

func (e equality) writers(name string, want staticInstance, got alloyInstance) {
	e.counted.writers += len(want.writers)
	if diff := cmp.Diff(asYAML(e.T, want.writers), asYAML(e.T, withMessagesOf(want.writers, got.writers))); diff != "" {
		e.Errorf("%s: %s: remote writes (-agent +alloy):\n%s", e.name, name, diff)
	}
	withoutEmpty := func(all map[string]any) map[string]any {
		out := maps.Clone(all)
		maps.DeleteFunc(out, func(_ string, v any) bool { return v == "" || v == nil })
		return out
	}
	if diff := cmp.Diff(withoutEmpty(want.external), withoutEmpty(got.external), cmpopts.EquateEmpty()); diff != "" {
		e.Errorf("%s: %s: external labels (-agent +alloy):\n%s", e.name, name, diff)
	}
}

func (e equality) job(name string, want, got scrapeJob) {
	e.counted.jobs++
	if diff := cmp.Diff(settingsOf(e.T, want), settingsOf(e.T, withFormatsOf(want, got))); diff != "" {
		e.Errorf("%s: %s: settings (-agent +alloy):\n%s", e.name, name, diff)
	}
	for _, d := range e.discovered(want) {
		visible, url, interval, timeout := want.targets(d)
		visible2, url2, interval2, timeout2 := got.targets(d)
		if visible.IsEmpty() {
			e.counted.dropped++
		} else {
			e.counted.kept++
		}
		if removed := visible2.Get("job"); !visible.IsEmpty() && visible.Get("job") == "" &&
			strings.HasPrefix(removed, "prometheus.scrape.") {
			e.counted.withoutJob++ // the one difference that is known, which is reported where a rule removes it always
			visible2 = labels.NewBuilder(visible2).Del("job").Labels()
		}
		if !labels.Equal(visible, visible2) || url != url2 || interval != interval2 || timeout != timeout2 {
			e.Errorf("%s: %s: discovered %v\nagent: %s %s %s %s\nalloy: %s %s %s %s", e.name, name, d, visible, url,
				interval, timeout, visible2, url2, interval2, timeout2)
			return
		}
	}
}

// withMessagesOf returns the writers of Alloy with what the agent's writers have for settings that no agent has.
func withMessagesOf(agent, alloy []*config.RemoteWriteConfig) (out []*config.RemoteWriteConfig) {
	for i, w := range alloy {
		with := *w
		if i < len(agent) {
			from := agent[i]
			with.RoundRobinDNS, with.ProtobufMessage = from.RoundRobinDNS, from.ProtobufMessage
			if w.ProtobufMessage != from.ProtobufMessage { // metadata is a part of these messages
				with.MetadataConfig.Send = from.MetadataConfig.Send
			}
			if s := w.SigV4Config; s != nil {
				older := *s
				older.ExternalID, older.UseFIPSSTSEndpoint = "", false
				with.SigV4Config = &older
			}
		}
		out = append(out, &with)
	}
	return out
}

// withFormatsOf returns the job of Alloy with what the agent's job has for settings that no agent has: fixtures hold
// what they become.
func withFormatsOf(agent, alloy scrapeJob) scrapeJob {
	with := *alloy.ScrapeConfig
	from := agent.ScrapeConfig
	with.ScrapeProtocols, with.ScrapeFallbackProtocol = from.ScrapeProtocols, from.ScrapeFallbackProtocol
	with.ScrapeNativeHistograms, with.ConvertClassicHistogramsToNHCB = from.ScrapeNativeHistograms,
		from.ConvertClassicHistogramsToNHCB
	with.NativeHistogramMinBucketFactor, with.EnableCompression = from.NativeHistogramMinBucketFactor,
		from.EnableCompression
	with.MetricNameValidationScheme, with.MetricNameEscapingScheme = from.MetricNameValidationScheme,
		from.MetricNameEscapingScheme
	alloy.ScrapeConfig = &with
	return alloy
}

// discovered returns targets for a job. A server may set labels that Kubernetes does not.
func (e equality) discovered(job scrapeJob) []model.LabelSet {
	random := rand.New(rand.NewPCG(7, 7))
	out := discoveredTargets(job.ScrapeConfig, random)
	if kinds(job.ScrapeConfig)["http"] || len(job.others) > 0 {
		for _, target := range slices.Clone(out) {
			more := target.Clone()
			for _, name := range fromServer {
				if random.IntN(3) == 0 {
					more[model.LabelName(name)] = model.LabelValue(hostile[random.IntN(len(hostile))])
				}
			}
			out = append(out, more)
		}
	}
	return out
}

func kinds(job *config.ScrapeConfig) map[string]bool {
	out := map[string]bool{}
	for _, sd := range job.ServiceDiscoveryConfigs {
		out[sd.Name()] = true
	}
	return out
}

// settingsOf returns what is left of a job without what is in its targets.
func settingsOf(t *testing.T, job scrapeJob) string {
	t.Helper()
	c := *job.ScrapeConfig
	c.RelabelConfigs, c.Params = nil, nil
	c.MetricsPath, c.Scheme, c.ScrapeInterval, c.ScrapeTimeout = "", "", 0, 0
	c.ServiceDiscoveryConfigs = slices.DeleteFunc(slices.Clone(c.ServiceDiscoveryConfigs),
		func(sd discovery.Config) bool {
			// IntegrationMonitors ask no server in Alloy, and here are no integrations.
			return sd.Name() == "static" || sd.Name() == "http" && strings.HasPrefix(job.JobName, "integrationMonitor/")
		})
	return asYAML(t, c) + fmt.Sprint(staticTargets(job.ScrapeConfig)) + asYAML(t, job.others)
}

func asYAML(t *testing.T, v any) string {
	t.Helper()
	data, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
