package explain_test

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/runtimes"
)

// said returns the parts of a way: a mark for those that can drop something, the words, and the field in the inputs.
func said(parts []explain.Part) (out []string) {
	for _, p := range parts {
		text := p.Text
		if p.Filters {
			text = "! " + text
		}
		if p.From != nil {
			text += " @ " + p.From.Path
			if p.From.Line == 0 {
				text += " (no line)"
			}
		}
		out = append(out, text)
	}
	return out
}

// TestRulesInWords explains rules that somebody wrote, of all actions, for all runtimes.
func TestRulesInWords(t *testing.T) {
	for rule, want := range map[string]string{
		"{action: keep, sourceLabels: [a, b], regex: x;y}":                        "! keep series where a, b is x;y",
		"{action: drop, sourceLabels: [a]}":                                       "! drop series where a is (.*)",
		"{action: keepequal, sourceLabels: [a], targetLabel: b}":                  "! keep series where a equals b",
		"{action: DropEqual, sourceLabels: [a], targetLabel: b}":                  "! drop series where a equals b",
		"{sourceLabels: [a, b], targetLabel: c}":                                  "set c to the value of a, b",
		"{targetLabel: c, replacement: x}":                                        "set c to x",
		"{targetLabel: c, replacement: ''}":                                       "remove c",
		"{sourceLabels: [a], regex: x, targetLabel: c}":                           "set c to $1 where a is x",
		"{sourceLabels: [a], regex: (.+):1, targetLabel: c, replacement: '$1:2'}": "set c to $1:2 where a is (.+):1",
		"{action: hashmod, sourceLabels: [a], targetLabel: c, modulus: 3}":        "set c to the hash of a modulo 3",
		"{action: lowercase, sourceLabels: [a], targetLabel: c}":                  "set c to a in lower case",
		"{action: Uppercase, sourceLabels: [a], targetLabel: c}":                  "set c to a in upper case",
		"{action: labelmap, regex: x_(.+)}":                                       "copy the labels that match x_(.+) to $1",
		"{action: labeldrop, regex: x}":                                           "remove the labels that match x",
		"{action: labelkeep, regex: x}":                                           "remove the labels that do not match x",
		"{targetLabel: __param_token, replacement: hunter2}":                      "set __param_token to <redacted>",
		"{targetLabel: c, replacement: 'https://u:hunter2@x.example.com'}":        "set c to https://<redacted>@x.example.com",
	} {
		text := strings.Replace(monitor, "port: web", "port: web, metricRelabelings: ["+rule+"]", 1)
		for _, r := range generator.Runtimes() {
			x := explainer(t, generator.Options{Secrets: "plaintext", Compatibility: manifest.Current,
				Runtimes: runtimes.Choice{Default: r}}, withoutCredentials(), text)
			e, _ := x.Explain(shop)
			if len(e.Renders) != 1 || len(e.Renders[0].Jobs) != 1 {
				t.Errorf("%s: %s: %s", r.Name, rule, e.Text())
				continue
			}
			got := said(e.Renders[0].Jobs[0].Series)
			if diff := gocmp.Diff([]string{want + " @ spec.endpoints[0].metricRelabelings[0]"}, got); diff != "" {
				t.Errorf("%s: %s: -want +got:\n%s", r.Name, rule, diff)
			}
		}
	}
}

// withoutCredentials returns parents whose writer needs no Secret.
func withoutCredentials() string {
	return strings.NewReplacer("u:hunter2@", "",
		", basicAuth: {username: {name: login, key: user}, password: {name: login, key: pass}}", "").
		Replace(with("{}", "{}"))
}

// TestTheWayOfAJob: from what finds its targets to its writers, each part with the field that its author wrote, also if
// that is one of the GrafanaAgent.
func TestTheWayOfAJob(t *testing.T) {
	agent := strings.NewReplacer("metrics: {", "metrics: {scrapeInterval: 20s, scrapeClasses: [{name: c, default: true, "+
		"relabelings: [{action: drop, sourceLabels: [class]}]}], ",
		`/push"`, `/push", writeRelabelConfigs: [{action: keep, sourceLabels: [team]}]`).Replace(withoutCredentials())
	text := strings.NewReplacer("selector: {}", "sampleLimit: 7, selector: {matchLabels: {app: x}}", "port: web",
		"port: web, scheme: HTTPS, path: /m, relabelings: [{targetLabel: own, replacement: x}]").Replace(monitor)
	for _, r := range generator.Runtimes() {
		opts := generator.Options{Compatibility: manifest.Current, Runtimes: runtimes.Choice{Default: r}}
		x := explainer(t, opts, agent, text)
		e, _ := x.Explain(shop)
		if len(e.Renders) != 1 || len(e.Renders[0].Jobs) != 1 || len(e.Renders[0].Writers) != 1 {
			t.Fatalf("%s: %s", r.Name, e.Text())
		}
		job, writer := e.Renders[0].Jobs[0], e.Renders[0].Writers[0]
		var written []explain.Part
		for _, p := range job.Targets {
			if p.From != nil {
				written = append(written, p)
			}
		}
		got := [][]string{said(job.Discovery), said(written), {job.Scrape}, job.Limits, said(writer.Series),
			{writer.Field.Path, writer.Field.File}}
		want := [][]string{
			{"kubernetes, role endpoints, namespace one @ spec.selector"},
			{"! keep targets where __meta_kubernetes_service_label_app, __meta_kubernetes_service_labelpresent_app is " +
				"(x);true @ spec.selector",
				"! keep targets where __meta_kubernetes_endpoint_port_name is web @ spec.endpoints[0].port",
				"! drop targets where class is (.*) @ spec.metrics.scrapeClasses[0].relabelings[0]",
				"set own to x @ spec.endpoints[0].relabelings[0]"},
			{"https, path /m, every 20s"}, {"samples 7"},
			{"! keep series where team is (.*) @ spec.remoteWrite[0].writeRelabelConfigs[0]"},
			{"spec.remoteWrite[0]", "0.yaml"},
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", r.Name, diff)
		}
	}
}
