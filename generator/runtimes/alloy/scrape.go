package alloy

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/alloynames"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/catalogue"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
)

// scrapes are the components of one instance that scrape.
type scrapes struct {
	*file
	global   *model.Global
	instance string // its label
	of       diag.Object
	groups   map[string]*scrape
	ordered  []*scrape
	rules    map[string]syntax.Expr // the receivers for lists of rules for samples, by their text
	labels   map[string]bool        // of the components, which must differ
	metadata bool                   // samples are stored with their metadata
}

// scrape is the component that endpoints with equal settings share, or several components if the endpoints are many.
type scrape struct {
	block     syntax.Block // without its targets
	endpoints []endpoint
	forwardTo syntax.Expr
}

// endpoint is a job among those that share settings.
type endpoint struct {
	targets   syntax.Expr
	label     string
	namespace string // of the object that it is for
	at        uint64 // its place, if they are too many for one component
}

// maxEndpoints limits the endpoints that share a component. Alloy evaluates it with all its targets when the targets of
// one endpoint change, so without a limit a pod with thousands of monitors would do little else while it starts.
const maxEndpoints = 250

// instance writes the components of one MetricsInstance.
func (f *file) instance(global *model.Global, i *model.Instance) {
	s := scrapes{file: f, global: global, instance: alloynames.Label(i.Name), of: i.Origin.Object,
		groups: map[string]*scrape{}, rules: map[string]syntax.Expr{}, labels: map[string]bool{}}
	s.metadata = slices.ContainsFunc(writers(global, i), isV2)
	f.remoteWrite(global, i, s.instance)
	for _, job := range i.ScrapeConfigs {
		s.add(job)
	}
	for _, g := range s.ordered {
		if f.clustered {
			g.block.Add(clustering())
		}
		if len(g.endpoints) > maxEndpoints {
			for i, e := range g.endpoints {
				g.endpoints[i].at = alloynames.Place(e.namespace, e.label)
			}
		}
		f.scrape(g, g.endpoints, "")
	}
}

// scrape writes the component of endpoints, or the components of either half: those whose places begin with the bits.
func (f *file) scrape(g *scrape, endpoints []endpoint, bits string) {
	if len(endpoints) > maxEndpoints && len(bits) < 64 {
		var halves [2][]endpoint
		for _, e := range endpoints {
			bit := e.at >> (63 - len(bits)) & 1
			halves[bit] = append(halves[bit], e)
		}
		f.scrape(g, halves[0], bits+"0")
		f.scrape(g, halves[1], bits+"1")
		return
	}
	if len(endpoints) == 0 {
		return
	}
	c := component{Block: g.block, targets: make([]syntax.Expr, len(endpoints))}
	for i, e := range endpoints {
		c.targets[i] = e.targets
	}
	if bits != "" {
		c.Label += "__part_" + bits
	}
	c.Attrs = append([]syntax.Attr{{Name: "forward_to", Value: g.forwardTo}}, g.block.Attrs...)
	f.instances = append(f.instances, c)
}

// concat returns one list of targets.
func concat(lists []syntax.Expr) syntax.Expr {
	if len(lists) == 1 {
		return lists[0]
	}
	return syntax.Lines("array.concat(", lists, ")")
}

// add adds a job to the component with its settings.
func (s *scrapes) add(job *model.ScrapeConfig) {
	key := s.settingsText(job, false)
	if s.targetLimit(job) != 0 {
		key = job.JobName // the limit is for the targets of one job
	}
	g, known := s.groups[key]
	if !known {
		g = s.group(job)
		s.groups[key] = g
		s.ordered = append(s.ordered, g)
	}
	g.endpoints = append(g.endpoints,
		endpoint{targets: s.relabelTargets(job), label: s.label(job), namespace: s.namespace(job)})
}

// settingsText returns the settings and rules of a job as text. Jobs with equal texts share a component.
func (s *scrapes) settingsText(job *model.ScrapeConfig, redact bool) string {
	other := file{values: values{redact: redact}, timings: s.timings}
	var b syntax.Block
	other.scrapeSettings(&b, s.global, job)
	return syntax.Text(&b) + "\n" + rulesText(job)
}

// group returns a new component for a job and those with equal settings. Its name tells no secret value.
func (s *scrapes) group(job *model.ScrapeConfig) *scrape {
	name := s.instance
	text := s.settingsText(job, true)
	switch {
	case s.targetLimit(job) != 0:
		name += "__" + s.label(job)
	case text != s.settingsText(&model.ScrapeConfig{}, true):
		name = alloynames.Hashed(name+"__"+specials(job), text)
	}
	for n, first := 2, name; s.labels[name]; n++ { // equal but for secret values
		name = first + "_" + strconv.Itoa(n)
	}
	s.labels[name] = true
	g := &scrape{block: syntax.Block{Name: "prometheus.scrape", Label: name}, forwardTo: s.receivers(job)}
	s.scrapeSettings(&g.block, s.global, job)
	setTrue(&g.block, "honor_metadata", s.metadata)
	return g
}

// specials returns words for the most telling settings of a job.
func specials(job *model.ScrapeConfig) string {
	out := []string{}
	for _, w := range [...]struct {
		word string
		is   bool
	}{
		{"honor_labels", job.Switches[model.HonorLabels] != nil && *job.Switches[model.HonorLabels]},
		{"basic_auth", job.BasicAuth != nil}, {"authorization", job.Authorization != nil || job.BearerToken.Present()},
		{"oauth2", job.OAuth2 != nil},
		{"tls", job.TLS != nil}, {"proxy", job.ProxyURL.Set}, {"limits", job.Limits != (model.Limits{})},
		{"rules", len(job.MetricRelabel) > 0},
	} {
		if w.is {
			out = append(out, w.word)
		}
	}
	if len(out) == 0 {
		return "settings"
	}
	return strings.Join(out, "_")
}

// label returns the label of an endpoint. The job of an IntegrationMonitor depends on the instance that runs it, and
// hand-written ones of two instances may have one name.
func (s *scrapes) label(job *model.ScrapeConfig) string {
	name := alloynames.Label(job.JobName)
	switch {
	case job.HandWritten:
		return "additional__" + s.instance + "__" + name
	case job.HTTP != nil:
		return name + "__" + s.instance
	}
	return name
}

// namespace returns the namespace of the object that a job is for. A hand-written job is for its instance.
func (s *scrapes) namespace(job *model.ScrapeConfig) string {
	if job.HandWritten {
		return s.of.Namespace
	}
	return job.Origin.Object.Namespace
}

// relabelTargets returns the targets of an endpoint after its rules. Instances that scrape one endpoint share them.
func (s *scrapes) relabelTargets(job *model.ScrapeConfig) syntax.Expr {
	name := s.label(job)
	at, known := s.relabelled[name]
	if !known {
		b := syntax.Block{Name: "discovery.relabel", Label: name}
		if !s.withoutRules {
			b.Blocks = s.file.rules(s.global, job)
		}
		if len(b.Blocks) == 0 && !s.withoutRules {
			return s.discover(job)
		}
		replaced(job, &b)
		b.Set("targets", s.discover(job))
		at = len(s.file.targets)
		s.file.targets = append(s.file.targets, component{Block: b, namespace: s.namespace(job)})
		s.relabelled[name] = at
	}
	c := &s.file.targets[at]
	c.parts = append(c.parts, runtimes.Span{Instance: s.of, Name: job.JobName, Origin: job.Origin,
		HandWritten: job.HandWritten})
	return syntax.Expr("discovery.relabel." + name + ".output")
}

// targetLimit returns how many targets a job may have, or 0.
func (s *scrapes) targetLimit(job *model.ScrapeConfig) int64 {
	return limitOf(job.Counts[model.Targets], s.global.Counts[model.Targets])
}

// limitOf returns the limit of a job: a limit of zero is none, and the global one counts then.
func limitOf(own, global *int64) int64 {
	switch {
	case own != nil && *own != 0:
		return *own
	case global != nil:
		return *global
	}
	return 0
}

// scrapeSettings sets what endpoints must have in common to share a component.
func (f *file) scrapeSettings(b *syntax.Block, global *model.Global, job *model.ScrapeConfig) {
	shared := f.timings.of(global)
	setString(b, "scrape_interval", goDuration(shared.interval))
	setString(b, "scrape_timeout", goDuration(shared.timeout))
	known := catalogue.Get("prometheus.scrape").Fields
	for i, v := range job.Switches {
		if s := model.Switch(i); v != nil && *v != s.Default() && known[s.Name()].Kind != "" &&
			(s != model.NativeHistograms || asksForNative(job)) {
			b.Set(s.Name(), syntax.Bool(*v))
		}
	}
	formats(b, job)
	f.params(b, job)
	setString(b, "body_size_limit", cmp.Or(job.BodySize, global.BodySize))
	for i, own := range job.Counts {
		if name := model.Count(i).Name(); known[name].Kind != "" {
			setInt(b, name, limitOf(own, global.Counts[i]))
		}
	}
	f.client(b, &job.HTTPClient)
	replaced(job, b)
}

// params sets the parameters that labels of targets cannot hold.
func (f *file) params(b *syntax.Block, job *model.ScrapeConfig) {
	var pairs []syntax.Pair
	for _, name := range sortedKeys(job.Params) {
		if len(job.Params[name]) == 0 || !inComponent(job, name, job.Params[name]) {
			continue
		}
		var values []syntax.Expr
		for _, v := range job.Params[name] {
			values = append(values, syntax.String(f.shown(name, v)))
		}
		pairs = append(pairs, syntax.Pair{Key: name, Value: syntax.List(values...)})
	}
	if len(pairs) > 0 {
		b.Set("params", syntax.Object(pairs))
	}
}

// reports matches the samples that a scrape makes about itself.
const reports = "up|scrape_duration_seconds|scrape_samples_scraped|scrape_samples_post_metric_relabeling|scrape_series_added"

// receivers returns the components that the samples of a job go to. Prometheus applies rules for samples to the samples
// of the target, not to its own reports; here both come out of the same component, so reports have a way of their own.
func (s *scrapes) receivers(job *model.ScrapeConfig) syntax.Expr {
	writer := syntax.Expr("prometheus.remote_write." + s.instance + ".receiver")
	if len(job.MetricRelabel) == 0 {
		return syntax.List(writer)
	}
	text := rulesText(job)
	to, known := s.rules[text]
	if known {
		return to
	}
	if len(s.rules) == 0 {
		s.samples(s.instance+"__reports", writer, ofReports("keep"))
	}
	name := alloynames.Hashed(s.instance+"__rules", text)
	s.samples(name, writer, append(ofReports("drop"), sampleRules(job).Blocks...))
	to = syntax.List(syntax.Expr("prometheus.relabel."+s.instance+"__reports.receiver"),
		syntax.Expr("prometheus.relabel."+name+".receiver"))
	s.rules[text] = to
	return to
}

// ofReports returns the rule that keeps or drops reports.
func ofReports(action string) []*syntax.Block {
	b := rule("rule", &model.Relabel{SourceLabels: []string{"__name__"}, Regex: model.Present(reports), Action: action})
	return []*syntax.Block{&b}
}

// samples writes a component that applies rules to samples.
func (s *scrapes) samples(name string, to syntax.Expr, rules []*syntax.Block) {
	b := syntax.Block{Name: "prometheus.relabel", Label: name, Blocks: rules}
	b.Set("forward_to", syntax.List(to))
	s.instances = append(s.instances, component{Block: b})
}

// sampleRules returns the rules of a job for samples.
func sampleRules(job *model.ScrapeConfig) (all syntax.Block) {
	for _, r := range job.MetricRelabel {
		all.Add(rule("rule", r))
	}
	replaced(job, &all)
	return all
}

// rulesText returns the rules of a job for samples as text: it differs if one of them does.
func rulesText(job *model.ScrapeConfig) string {
	all := sampleRules(job)
	return syntax.Text(&all)
}
