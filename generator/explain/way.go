package explain

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/credential"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
)

// Way is what happens on the way from the targets of a job to the writers of its instance, in this order. A job that
// is written by hand has none.
type Way struct {
	// Discovery is where the targets come from.
	Discovery []Part `json:"discovery,omitempty"`
	// Targets are the rules for targets.
	Targets []Part `json:"targets,omitempty"`
	// Scrape says how targets are scraped. Jobs of logs have none.
	Scrape string `json:"scrape,omitempty"`
	// Limits are the job's limits, or the global ones where the job sets none.
	Limits []string `json:"limits,omitempty"`
	// Series are the rules for series.
	Series []Part `json:"series,omitempty"`
	// Stages are the stages of a pipeline of logs.
	Stages []Part `json:"stages,omitempty"`
}

// Part is one part of a [Way], in words.
type Part struct {
	Text string `json:"text"`
	// Filters means that targets, series or lines can end here.
	Filters bool `json:"filters,omitempty"`
	// From is the field that its author wrote, or nil if agentry adds it.
	From *Field `json:"from,omitempty"`

	written model.Written // From, before somebody asks for the object
}

// scraped returns the way of a job of metrics.
func scraped(j *model.ScrapeConfig, all *model.Global) Way {
	return Way{Discovery: discovered(j), Targets: rules("targets", j.Relabel), Scrape: scrape(j, all),
		Limits: limits(&j.Limits, &all.Limits), Series: rules("series", j.MetricRelabel)}
}

// read returns the way of a job of logs.
func read(j *model.LogsScrapeConfig) Way {
	w := Way{Targets: rules("targets", j.Relabel)}
	if j.Kubernetes != nil {
		w.Discovery = []Part{{Text: inCluster(j.Kubernetes), written: model.Written{Field: "spec.selector"}}}
	}
	for i := range j.Stages {
		s := &j.Stages[i]
		w.Stages = append(w.Stages, Part{Text: cmp.Or(strings.Join(s.Kinds(), ", "), "nothing"),
			Filters: s.DropsLines(), written: model.Written{Field: s.Path}})
	}
	return w
}

// discovered returns where the targets of a job come from.
func discovered(j *model.ScrapeConfig) (out []Part) {
	selector := model.Written{Field: "spec.selector"}
	if j.Origin.Object.Kind == "Probe" {
		selector = model.Written{Field: "spec.targets"}
	}
	if j.Kubernetes != nil {
		out = append(out, Part{Text: inCluster(j.Kubernetes), written: selector})
	}
	if j.HTTP != nil {
		out = append(out, Part{Text: "http, " + credential.Redacted(j.HTTP.URL), written: selector})
	}
	if j.Static != nil {
		out = append(out, Part{Text: listed(j.Static.Targets), written: selector})
	}
	for i := range j.Discoveries {
		d := &j.Discoveries[i]
		out = append(out, Part{Text: mechanism(d), written: model.Written{Field: d.Path}})
	}
	return out
}

// inCluster returns the discovery of a monitor in words.
func inCluster(sd *model.KubernetesSD) string {
	out := kubernetes(sd.Role, sd.Namespaces)
	for _, s := range sd.Selectors {
		out += ", " + s.Role + " with " + strings.Join(slices.DeleteFunc([]string{s.Label, s.Field},
			func(text string) bool { return text == "" }), " and ")
	}
	return out
}

func kubernetes(role string, namespaces []string) string {
	out := "kubernetes, role " + role
	switch len(namespaces) {
	case 0:
		return out + ", all namespaces"
	case 1:
		return out + ", namespace " + namespaces[0]
	}
	return out + ", namespaces " + strings.Join(namespaces, ", ")
}

// maxListed is how many targets of a list are named.
const maxListed = 5

// listed returns targets that are written in a list.
func listed(targets []string) string {
	var named []string
	for _, target := range targets[:min(len(targets), maxListed)] {
		named = append(named, credential.Redacted(target))
	}
	out := "static, " + strings.Join(named, ", ")
	if more := len(targets) - len(named); more > 0 {
		out += " and " + strconv.Itoa(more) + " more"
	}
	return out
}

// mechanism returns a discovery of a ScrapeConfig in words.
func mechanism(d *model.Discovery) string {
	switch d.Mechanism {
	case "kubernetes":
		namespaces, _ := d.Settings.Get("namespaces").(model.Map)
		role, _ := d.Settings.Get("role").(model.String)
		names := model.Texts(namespaces.Get("names"))
		if own, _ := namespaces.Get("own_namespace").(model.Bool); own {
			names = append(names, "of the agent itself")
		}
		return kubernetes(string(role), names)
	case "static":
		return listed(model.Texts(d.Settings.Get("targets")))
	}
	return d.Mechanism
}

// defaultInterval is the interval of all runtimes.
const defaultInterval = "1m"

// scrape says how a job scrapes its targets.
func scrape(j *model.ScrapeConfig, all *model.Global) string {
	out := cmp.Or(j.Scheme, "http") + ", path " + cmp.Or(j.MetricsPath, "/metrics") + ", every " +
		cmp.Or(j.Interval, all.ScrapeInterval, defaultInterval)
	if timeout := cmp.Or(j.Timeout, all.ScrapeTimeout); timeout != "" {
		out += ", timeout " + timeout
	}
	return out
}

// limits returns the limits of a job in words.
func limits(job, all *model.Limits) (out []string) {
	for c, what := range [...]string{
		model.Samples: "samples", model.Targets: "targets", model.Labels: "labels",
		model.LabelNameLength:  "bytes of a label's name",
		model.LabelValueLength: "bytes of a label's value",
	} {
		if n := cmp.Or(job.Counts[c], all.Counts[c]); n != nil {
			out = append(out, what+" "+strconv.FormatInt(*n, 10))
		}
	}
	if size := cmp.Or(job.BodySize, all.BodySize); size != "" {
		out = append(out, "answer "+size)
	}
	return out
}

// rules returns relabeling rules for targets or series (what) in words.
func rules(what string, list []*model.Relabel) (out []Part) {
	for _, r := range list {
		text, isFilter := rule(what, r)
		out = append(out, Part{Text: text, Filters: isFilter, written: r.Written})
	}
	return out
}

// rule returns a rule in words, and whether it can drop something.
func rule(what string, r *model.Relabel) (text string, isFilter bool) {
	from, regex := strings.Join(r.SourceLabels, ", "), "(.*)"
	isAny := r.Shard == model.NoShardValue && !r.Regex.Set
	switch {
	case r.Shard != model.NoShardValue:
		regex = "the shard's number"
	case r.Regex.Set:
		regex = credential.Redacted(r.Regex.Value)
	}
	switch action := strings.ToLower(r.Action); action {
	case "keep", "drop":
		return action + " " + what + " where " + from + " is " + regex, true
	case "keepequal", "dropequal":
		return strings.TrimSuffix(action, "equal") + " " + what + " where " + from + " equals " + r.TargetLabel, true
	case "hashmod":
		modulus := strconv.FormatUint(r.Modulus, 10)
		return "set " + r.TargetLabel + " to the hash of " + from + " modulo " + modulus, false
	case "lowercase", "uppercase":
		return "set " + r.TargetLabel + " to " + from + " in " + strings.TrimSuffix(action, "case") + " case", false
	case "labelmap":
		return "copy the labels that match " + regex + " to " + replacement(r), false
	case "labeldrop":
		return "remove the labels that match " + regex, false
	case "labelkeep":
		return "remove the labels that do not match " + regex, false
	}
	to := replacement(r)
	text = "set " + r.TargetLabel + " to " + to
	switch {
	case to == "":
		text = "remove " + r.TargetLabel
	case isAny && (to == "$1" || to == "${1}"):
		return "set " + r.TargetLabel + " to the value of " + from, false
	}
	if isAny {
		return text, false
	}
	return text + " where " + from + " is " + regex, false
}

// replacement returns the replacement of a rule, without a credential.
func replacement(r *model.Relabel) string {
	switch {
	case !r.Replacement.Set:
		return "$1"
	case credential.InRule(r.TargetLabel, r.Replacement.Value):
		return "<redacted>"
	}
	return credential.Redacted(r.Replacement.Value)
}

// written returns parts with the fields that their authors wrote, for a job or writer that comes from an origin.
func (x *inputs) written(parts []Part, of model.Origin) []Part {
	out := slices.Clone(parts)
	for i, p := range out {
		if from, isWritten := p.written.Origin(of); isWritten {
			field := x.fieldOf(from.Object, from.Path)
			out[i].From = &field
		}
	}
	return out
}

// fieldOf returns a field of an object of the model, with its position if the object is known.
func (x *inputs) fieldOf(of diag.Object, path string) Field {
	if o := x.byID[manifest.IDOf(of)]; o != nil {
		return x.field(o, path)
	}
	return Field{Path: path}
}
