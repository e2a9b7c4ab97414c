package tenancy_test

import (
	"math/rand"
	"strings"
	"testing"

	prommodel "github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile/scrape"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
)

// TestNoTenantChoosesFiles: no allowed rule of a tenant, and no label or annotation of its pods, leads to a path other
// than the pod's own files. Prometheus's own code applies the rules.
func TestNoTenantChoosesFiles(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewSource(1))
	allowed, read := 0, 0
	for range 400 {
		var rules []string
		for range 1 + random.Intn(3) {
			rules = append(rules, randomRule(random))
		}
		text := podLogs(strings.Join(rules, ", "))
		if len(breaches(t, text, nil, manifest.Operator)) > 0 {
			continue
		}
		allowed++
		for range 20 {
			after, kept := processed(t, text, hostilePod(random))
			if !kept {
				continue
			}
			if after.Get("__path_exclude__")+after.Get("__host__") != "" {
				t.Fatalf("%s\n%s", text, after)
			}
			switch path := after.Get("__path__"); path {
			case "":
			case "/var/log/pods/*own-uid/app/*.log":
				read++
			default:
				t.Fatalf("reads %s\n%s\n%s", path, text, after)
			}
		}
	}
	if allowed < 50 || read < 500 {
		t.Errorf("%d lists of rules are allowed, and %d targets are left: the test tests nothing", allowed, read)
	}
}

// pieces joins up to most random choices.
func pieces(random *rand.Rand, most int, choices ...string) string {
	var out string
	for range 1 + random.Intn(most) {
		out += choices[random.Intn(len(choices))]
	}
	return out
}

// hiddenLabels are the labels that decide which files are read.
var hiddenLabels = []string{"__path__", "__path_exclude__", "__host__", "__meta_kubernetes_pod_uid",
	"__meta_kubernetes_pod_container_name"}

// randomRule returns a rule that is likely to be about hidden labels.
func randomRule(random *rand.Rand) string {
	if random.Intn(4) == 0 {
		return ownPath
	}
	one := func(choices ...string) string { return choices[random.Intn(len(choices))] }
	expression := func() string {
		if random.Intn(2) == 0 {
			return "__meta_kubernetes_pod_" + one("", "", "annotation_x_") + "annotation_(.+)"
		}
		return one("", "__meta_kubernetes_") + one("", "pod_", "pod_annotation_x_", "pod_label_x_", ".*") +
			one("label_", "annotation_", "annotationpresent_", "", "uid", "_") +
			one("(.+)", "(.*)", "(.+)(.*)", "()", "(?P<y>.+)", "")
	}
	target := func() string {
		if random.Intn(2) == 0 {
			return one("$1", "$1x${y}", "$1x${y}", "${1}") +
				one("", "__path__", "__path__", "__meta_kubernetes_pod_uid")
		}
		return pieces(random, 3, append(hiddenLabels, "$1", "$1", "${1}", "$2", "${y}", "$1x", "_", "x", "__tmp_",
			"path__", "__meta_kubernetes_pod_")...)
	}
	var fields []string
	add := func(field, value string) { fields = append(fields, field+": '"+value+"'") }
	action := one("replace", "labelmap", "LabelMap", "labelmap", "labeldrop", "labelkeep", "lowercase", "hashmod")
	add("action", action)
	switch action {
	case "labelmap", "LabelMap":
		add("regex", expression())
		if random.Intn(3) > 0 {
			add("replacement", target())
		}
		return "{" + strings.Join(fields, ", ") + "}"
	case "labeldrop", "labelkeep":
		add("regex", one(append(hiddenLabels, ".*", "pod", "__path__|__meta_kubernetes_pod_container_name", "__.*")...))
		return "{" + strings.Join(fields, ", ") + "}"
	case "hashmod":
		fields = append(fields, "modulus: 7")
	case "replace":
		add("regex", one("(.*)", "(.+)", "(.+);(.*)"))
		add("replacement", one("$1", "/etc/shadow", "$2", "*"))
	}
	add("targetLabel", target())
	fields = append(fields, "sourceLabels: ["+one("__meta_kubernetes_pod_annotation_a", "__tmp_x", "pod", "__path__")+
		"]")
	return "{" + strings.Join(fields, ", ") + "}"
}

// hostilePod returns the labels that Prometheus's discovery gives to a pod with labels and annotations chosen by a
// tenant.
func hostilePod(random *rand.Rand) map[string]string {
	out := map[string]string{
		"__address__": "10.0.0.1:80", "__meta_kubernetes_namespace": "shop", "__meta_kubernetes_pod_name": "web-0",
		"__meta_kubernetes_pod_uid": "own-uid", "__meta_kubernetes_pod_container_name": "app",
		"__meta_kubernetes_pod_node_name": "node",
	}
	for range 1 + random.Intn(5) {
		// A name begins with a letter or a digit. Discovery replaces characters that label names cannot have with an
		// underscore.
		name := pieces(random, 1, "a", "x", "9", "x_label_", "x_annotation_", "annotation_", "y") +
			pieces(random, 3, append(hiddenLabels, "", "_", "a", "path__")...)
		for _, kind := range []string{"label", "annotation"} {
			out["__meta_kubernetes_pod_"+kind+"_"+name] = pieces(random, 1, "/etc/shadow", "*", "__path__", "../x", "")
			out["__meta_kubernetes_pod_"+kind+"present_"+name] = "true"
		}
	}
	return out
}

// processed returns the labels of a target after the rules that are rendered for a PodLogs.
func processed(t *testing.T, text string, target map[string]string) (after labels.Labels, kept bool) {
	t.Helper()
	o := manifest.Parse(manifest.File{Path: "x.yaml", Data: []byte(text)}, manifest.Options{}).Objects[0]
	job, _ := scrape.NewBuilder(scrape.Settings{}).PodLogs(manifest.As[v1alpha1.PodLogs](o))
	b := labels.NewBuilder(labels.FromMap(target))
	for _, r := range job.Relabel {
		if !relabel.ProcessBuilder(b, prometheusRule(t, r)) {
			return labels.Labels{}, false
		}
	}
	return b.Labels(), true
}

// prometheusRule converts a rule to Prometheus's type, with its defaults.
func prometheusRule(t *testing.T, r *model.Relabel) *relabel.Config {
	t.Helper()
	c := relabel.DefaultRelabelConfig
	c.NameValidationScheme, c.TargetLabel, c.Modulus = prommodel.LegacyValidation, r.TargetLabel, r.Modulus
	for _, name := range r.SourceLabels {
		c.SourceLabels = append(c.SourceLabels, prommodel.LabelName(name))
	}
	if r.Action != "" {
		c.Action = relabel.Action(strings.ToLower(r.Action))
	}
	if r.Separator.Set {
		c.Separator = r.Separator.Value
	}
	if r.Replacement.Set {
		c.Replacement = r.Replacement.Value
	}
	if r.Regex.Set {
		regex, err := relabel.NewRegexp(r.Regex.Value)
		if err != nil {
			t.Fatal(err)
		}
		c.Regex = regex
	}
	return &c
}
