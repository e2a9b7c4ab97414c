package targets

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy"
	"github.com/agentry-dev/agentry/internal/scrapetarget"
)

// job is a scrape job as it is computed.
type job struct {
	*explain.ScrapeJob
	settings    scrapetarget.Settings
	discoveries []*discovery
	written     []written // targets in lists
	rules       []*model.Relabel
	// sharing are the shards that share the targets by rules, or one that stands for all.
	sharing []explain.Shard
	// others are the discoveries that are not computed.
	others []string
}

// written are targets that somebody wrote into a list.
type written struct {
	targets []string
	labels  map[string]string
}

// readJob reads a job, of whatever it was made.
func readJob(of *explain.ScrapeJob) *job {
	j := &job{ScrapeJob: of}
	config := of.Config
	if of.Raw != nil {
		config = alloy.HandWritten(of.Raw)
		j.others = unread(of.Raw, config)
	}
	if config.Variables {
		config = withoutEscapes(config)
	}
	j.rules, j.sharing = config.Relabel, []explain.Shard{{}}
	if len(of.Shards) > 0 && slices.ContainsFunc(j.rules, isOfShard) {
		j.sharing = of.Shards
	}
	j.settings = scrapetarget.Settings{Job: config.JobName, Interval: cmp.Or(config.Interval, of.Global.ScrapeInterval),
		Timeout: cmp.Or(config.Timeout, of.Global.ScrapeTimeout), Path: config.MetricsPath, Scheme: config.Scheme,
		Params: config.Params}
	if sd := config.Kubernetes; sd != nil {
		j.kubernetes(&discovery{role: sd.Role, namespaces: sd.Namespaces,
			attachesNode: sd.AttachNode != nil && *sd.AttachNode}, sd.Selectors)
	}
	if config.HTTP != nil {
		j.others = append(j.others, "http_sd")
	}
	if s := config.Static; s != nil {
		j.written = append(j.written, written{s.Targets, s.Labels})
	}
	for i := range config.Discoveries {
		j.discovery(&config.Discoveries[i])
	}
	return j
}

func isOfShard(r *model.Relabel) bool { return r.Shard != model.NoShardValue }

// unread returns the discoveries of a job that were not read.
func unread(raw *model.Raw, config *model.ScrapeConfig) (out []string) {
	for i := 0; i+1 < len(raw.Job.Content); i += 2 {
		mechanism, is := strings.CutSuffix(raw.Job.Content[i].Value, "_sd_configs")
		if is && !slices.ContainsFunc(config.Discoveries, func(d model.Discovery) bool {
			return d.Mechanism == mechanism
		}) {
			out = append(out, mechanism+"_sd")
		}
	}
	return out
}

// discovery adds a discovery of a ScrapeConfig, or one that is written by hand.
func (j *job) discovery(d *model.Discovery) {
	switch d.Mechanism {
	case "static":
		labels := map[string]string{}
		of, _ := d.Settings.Get("labels").(model.Map)
		for _, pair := range of {
			if text, isText := pair.Value.(model.String); isText {
				labels[pair.Key] = string(text)
			}
		}
		j.written = append(j.written, written{model.Texts(d.Settings.Get("targets")), labels})
	case "kubernetes":
		j.inKubernetes(d)
	default:
		if name := d.Mechanism + "_sd"; !slices.Contains(j.others, name) {
			j.others = append(j.others, name)
		}
	}
}

func (j *job) inKubernetes(d *model.Discovery) {
	if d.Settings.Get("api_server") != nil || d.Settings.Get("kubeconfig_file") != nil {
		j.others = append(j.others, "kubernetes_sd of another API server")
		return
	}
	role, _ := d.Settings.Get("role").(model.String)
	of := &discovery{role: strings.ToLower(string(role))}
	namespaces, _ := d.Settings.Get("namespaces").(model.Map)
	of.namespaces = model.Texts(namespaces.Get("names"))
	if namespaces.Get("own_namespace") == model.Bool(true) {
		own, _, _ := strings.Cut(j.Unit, "/")
		of.namespaces = append(of.namespaces, own)
	}
	attach, _ := d.Settings.Get("attach_metadata").(model.Map)
	of.attachesNode = attach.Get("node") == model.Bool(true)
	list, _ := d.Settings.Get("selectors").(model.List)
	var selectors []model.RoleSelector
	for _, item := range list {
		s, _ := item.(model.Map)
		text := func(name string) string {
			value, _ := s.Get(name).(model.String)
			return string(value)
		}
		selectors = append(selectors, model.RoleSelector{Role: text("role"), Label: text("label"),
			Field: text("field")})
	}
	j.kubernetes(of, selectors)
}

func (j *job) kubernetes(d *discovery, selectors []model.RoleSelector) {
	var why string
	if d.selectors, why = selectorsOf(selectors); why != "" {
		j.others = append(j.others, "kubernetes_sd with "+why)
		return
	}
	j.discoveries = append(j.discoveries, d)
}

// withoutEscapes returns a job as the agent reads it, but for references to variables, which only pods know: $$ is a
// dollar.
func withoutEscapes(config *model.ScrapeConfig) *model.ScrapeConfig {
	plain := func(s string) string { return strings.ReplaceAll(s, "$$", "$") }
	out := *config
	out.Relabel = nil
	for _, r := range config.Relabel {
		rule := *r
		rule.Regex.Value, rule.Replacement.Value = plain(r.Regex.Value), plain(r.Replacement.Value)
		rule.TargetLabel, rule.Separator.Value = plain(r.TargetLabel), plain(r.Separator.Value)
		out.Relabel = append(out.Relabel, &rule)
	}
	return &out
}

// part returns a rule in words, with the field that its author wrote.
func (j *job) part(i int) explain.Part {
	if j.Raw != nil || j.Config.HandWritten {
		return explain.Part{Text: explain.RuleInWords(j.rules[i]), From: &j.From}
	}
	return j.Targets[i]
}
