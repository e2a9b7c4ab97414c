package relabel

import (
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"
	prommodel "github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	prometheus "github.com/prometheus/prometheus/model/relabel"
	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// found describes labels that a discovery sets, and one that it never sets.
func found() Labels {
	return Labels{What: "target", Needed: "__address__", Of: func(label string) Presence {
		switch label {
		case "__address__":
			return Always
		case "nope", "__meta_nope", "__name__":
			return Absent
		}
		return Any
	}, Elsewhere: func(string) (string, string) { return "no discovery gives it", "leave it out" }}
}

func keep(regex string, sources ...string) *model.Relabel {
	return &model.Relabel{Action: "keep", SourceLabels: sources, Regex: model.Present(regex)}
}

func drop(regex string, sources ...string) *model.Relabel {
	return &model.Relabel{Action: "drop", SourceLabels: sources, Regex: model.Present(regex)}
}

// TestLint holds that Prometheus drops everything if Lint says that a rule does.
func TestLint(t *testing.T) {
	rules := func(r ...*model.Relabel) []*model.Relabel { return r }
	for name, c := range map[string]struct {
		rules []*model.Relabel
		want  []diag.Code // of the last rule
	}{
		"a drop with nothing else": {rules(&model.Relabel{Action: "drop"}),
			[]diag.Code{diag.DropsEverything}},
		"a drop without sources":               {rules(drop(".*")), []diag.Code{diag.DropsEverything}},
		"a drop without sources, of a text":    {rules(drop("x")), nil},
		"a keep without sources":               {rules(keep("x")), []diag.Code{diag.DropsEverything}},
		"a keep without sources, of all":       {rules(&model.Relabel{Action: "Keep"}), nil},
		"a drop of every value":                {rules(drop("(.*)", "a")), []diag.Code{diag.DropsEverything}},
		"a drop of every value that is there":  {rules(drop(".+", "a")), nil},
		"a drop of what is always there":       {rules(drop(".+", "__address__")), []diag.Code{diag.DropsEverything}},
		"a drop of two joined values":          {rules(drop(".+", "a", "b")), []diag.Code{diag.DropsEverything}},
		"a keep of an absent label":            {rules(keep("x", "nope")), []diag.Code{diag.DropsEverything}},
		"a keep of an absent label, or none":   {rules(keep("x|", "nope")), nil},
		"a keep of an absent label and others": {rules(keep("x;y", "nope", "a")), nil},
		"a keep of absent labels": {rules(keep("x;y", "nope", "__name__")),
			[]diag.Code{diag.DropsEverything}},
		"a keep of absent labels, joined":  {rules(keep(";", "nope", "__name__")), nil},
		"a drop of an absent label":        {rules(drop("", "nope")), []diag.Code{diag.DropsEverything}},
		"a keep of the empty value":        {rules(keep("", "__address__")), []diag.Code{diag.DropsEverything}},
		"a keep of the empty value of any": {rules(keep("", "a")), nil},
		"a label that a rule before sets": {rules(&model.Relabel{TargetLabel: "nope", SourceLabels: []string{"a"}},
			keep("x", "nope")), nil},
		"a label that a group may name": {rules(&model.Relabel{TargetLabel: "n$1", SourceLabels: []string{"a"}},
			keep("x", "nope")), nil},
		"a label that a group cannot name": {rules(&model.Relabel{TargetLabel: "m$1", SourceLabels: []string{"a"}},
			keep("x", "nope")), []diag.Code{diag.DropsEverything}},
		"a label that labelmap may copy": {rules(&model.Relabel{Action: "labelmap",
			Regex: model.Present("x_(.+)")}, keep("x", "nope")), nil},
		"a label that a rule before may take": {rules(&model.Relabel{TargetLabel: "__address__",
			SourceLabels: []string{"a"}}, drop(".+", "__address__")), nil},
		"a drop of the label that is needed": {rules(&model.Relabel{Action: "labeldrop",
			Regex: model.Present("__.*")}), []diag.Code{diag.DropsEverything}},
		"a drop of every label": {rules(&model.Relabel{Action: "labeldrop"}),
			[]diag.Code{diag.DropsEverything}},
		"a drop of another label": {rules(&model.Relabel{Action: "labeldrop",
			Regex: model.Present("pod")}), nil},
		"a keep of other labels": {rules(&model.Relabel{Action: "labelkeep",
			Regex: model.Present("pod")}), []diag.Code{diag.DropsEverything}},
		"a meta label that is not there": {rules(&model.Relabel{TargetLabel: "x",
			SourceLabels: []string{"a", "__meta_nope"}}), []diag.Code{diag.UnknownMetaLabel}},
		"a keep by it": {rules(keep("x", "__meta_nope")), []diag.Code{diag.UnknownMetaLabel}},
		"a labelmap of it": {rules(&model.Relabel{Action: "labelmap",
			Regex: model.Present("__meta_nope")}), []diag.Code{diag.UnknownMetaLabel}},
		"an invalid regex": {rules(keep("(", "nope")), nil},
		"another action":   {rules(&model.Relabel{TargetLabel: "x"}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			before, last := c.rules[:len(c.rules)-1], c.rules[len(c.rules)-1]
			var got []diag.Code
			drops := false
			for _, p := range found().Lint(before, last) {
				got = append(got, p.Code)
				drops = drops || p.Code == diag.DropsEverything
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			if drops && keptByPrometheus(t, c.rules) {
				t.Error("Prometheus keeps some targets")
			}
		})
	}
}

// keptByPrometheus reports whether the rules keep one of many targets that a discovery can find.
func keptByPrometheus(t *testing.T, rules []*model.Relabel) bool {
	t.Helper()
	configs := make([]*prometheus.Config, len(rules))
	for i, r := range rules {
		written := map[string]any{}
		set := func(name string, present bool, value any) {
			if present {
				written[name] = value
			}
		}
		set("source_labels", len(r.SourceLabels) > 0, r.SourceLabels)
		set("regex", r.Regex.Set, r.Regex.Value)
		set("target_label", r.TargetLabel != "", r.TargetLabel)
		set("action", r.Action != "", r.Action)
		text, err := yaml.Marshal(written)
		if err != nil {
			t.Fatal(err)
		}
		configs[i] = &prometheus.Config{}
		if err := yaml.Unmarshal(text, configs[i]); err != nil {
			t.Fatal(err)
		}
		if err := configs[i].Validate(prommodel.LegacyValidation); err != nil {
			t.Fatal(err)
		}
	}
	random := rand.New(rand.NewSource(1))
	for range 200 {
		target := map[string]string{"__address__": "10.0.0.1:80"}
		for _, name := range []string{"a", "b", "x_nope", "pod"} {
			if value := []string{"", "x", "y", ";"}[random.Intn(4)]; value != "" {
				target[name] = value
			}
		}
		left := labels.NewBuilder(labels.FromMap(target))
		if prometheus.ProcessBuilder(left, configs...) && left.Get("__address__") != "" {
			return true
		}
	}
	return false
}

// TestSamples holds that samples have a name and no discovery labels.
func TestSamples(t *testing.T) {
	for name, c := range map[string]struct {
		rule *model.Relabel
		want string
	}{
		"no name": {keep("", "__name__"),
			"drops every sample: regex matches the empty value only, and the value is never empty"},
		"every name": {drop(".+", "__name__"),
			"drops every sample: regex matches every value that is not empty, and the value is never empty"},
		"a name": {keep("up", "__name__"), ""},
		"a label of discovery": {keep("x", "__meta_kubernetes_namespace"),
			"no sample has __meta_kubernetes_namespace here: labels of the discovery are gone once a target is " +
				"scraped; so the rule drops every sample"},
		"a label": {drop("x", "pod"), ""},
	} {
		got := ""
		for _, p := range Samples().Lint(nil, c.rule) {
			got += p.Message
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
