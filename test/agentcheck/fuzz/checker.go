package fuzz

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentry-dev/agentry/test/fixtures"
)

// checker renders fixtures and says what is wrong with what comes out.
type checker struct {
	*fixtures.Renderer
	dir     string
	renders int // how often
}

// failure is one thing that should not be. Failures of one class are about the same.
type failure struct{ class, text string }

func (f failure) String() string { return f.text }

var details = regexp.MustCompile(`"(\\.|[^"\\])*"|'[^']*'|\x60[^\x60]*\x60|[0-9]+|[^ ]*/[^ ]*|instance [^ ]+`)

func fail(policy, format string, args ...any) failure {
	text := fmt.Sprintf(format, args...)
	class := details.ReplaceAllString(text, "_")
	if i := strings.Index(class, "yaml:"); i >= 0 {
		class = class[:min(len(class), i+60)]
	}
	return failure{class[:min(len(class), 90)], policy + ": " + text}
}

// failures are what is wrong with the render of a fixture, whatever it is.
func (j *checker) failures(objects []*yaml.Node) (out []failure, answers map[string]fixtures.Answer, err error) {
	text, err := fixtures.Encode(objects)
	if err != nil {
		return nil, nil, nil // not even YAML
	}
	j.renders++
	if answers, err = j.Render(text); err != nil {
		return nil, nil, fmt.Errorf("%w, in the fixture\n%s", err, text)
	}
	for policy, a := range answers {
		if a.Panic != "" {
			out = append(out, fail(policy, "panic: %s", a.Panic))
		}
		if a.Differs != "" {
			out = append(out, fail(policy, "renders differently each time: %s", a.Differs))
		}
		list, err := refusals(a, j.dir)
		if err != nil {
			return nil, nil, err
		}
		if liveJobs(objects) {
			list = nil
		}
		for _, v := range list {
			out = append(out, fail(policy, "%s", v))
		}
	}
	return out, answers, nil
}

// liveJobs reports whether hand-written scrape configurations have variables in them. What
// stands in the place of a variable is not judged: it may be anything.
func liveJobs(objects []*yaml.Node) bool {
	for _, o := range objects {
		if fixtures.Kind(o) != "Secret" {
			continue
		}
		data := fixtures.Child(o, "stringData")
		if data == nil {
			continue
		}
		for _, v := range data.Content {
			if strings.Contains(v.Value, "job_name") &&
				(strings.Contains(v.Value, "$(") || strings.Contains(v.Value, "${")) {
				return true
			}
		}
	}
	return false
}

// crossObject are the codes of rules that blame an object for what stands in another one.
var crossObject = map[string]bool{
	"unique-integration": true, "integration-instance": true, "name-conflict": true, "duplicate-job": true,
	"secret-key-collision": true, "mount-conflict": true, "missing-secret": true, "missing-key": true,
	"instance-not-selected": true, "timeout-above-interval": true, "interval-above-wal-truncation": true,
	"duplicate-logs-client": true, "duplicate-remote-write": true,
	"incomplete-tls": true, "incomplete-basic-auth": true, "auth-conflict": true, // by an optional Secret
	"duplicate-object": true, "secret-not-text": true, "file-not-mounted": true, "invalid-rendered-object": true,
	"not-in-runtime": true, // by the instances that select it
}

// blamed are failures to blame the right object: an error of an object that was not changed
// and had none before, by a rule that is about one object alone.
func blamed(before, after fixtures.Answer, touched map[string]bool, policy string) (out []failure) {
	had := map[string]bool{}
	for _, f := range before.Findings {
		had[f.Object+f.Code] = true
	}
	for _, f := range after.Findings {
		if f.Severity == "error" && f.Object != "" && !touched[f.Object] && !had[f.Object+f.Code] &&
			!crossObject[f.Code] && !names(f.Message, touched) &&
			!slices.ContainsFunc(strings.Fields(f.Related), func(o string) bool { return touched[o] }) &&
			!strings.Contains(f.Message, "undefined variable") {
			out = append(out, failure{"blame " + f.Code,
				fmt.Sprintf("%s: %s is blamed, which was not changed: %s: %s", policy, f.Object, f.Code, f.Message)})
		}
	}
	return out
}

func names(message string, touched map[string]bool) bool {
	for id := range touched {
		_, name, _ := strings.Cut(id, "/")
		if strings.Contains(message, name) {
			return true
		}
	}
	return false
}

// leaves are the kinds of objects whose mistakes are their own.
var leaves = []string{"ServiceMonitor", "PodMonitor", "Probe", "ScrapeConfig", "PodLogs", "Integration",
	"MetricsIntegration", "IntegrationMonitor"}

// lost are units whose files are gone although only monitors and the like were changed.
func lost(before, after fixtures.Answer, touched map[string]bool, policy string) (out []failure) {
	for id := range touched {
		kind, _, _ := strings.Cut(id, "/")
		if !slices.Contains(leaves, kind) {
			return nil
		}
	}
	for name := range before.Files {
		if strings.HasSuffix(name, "-integrations-ds.daemonset.yaml") || strings.Contains(name, "-integrations-") {
			continue // goes with its only integration
		}
		if _, ok := after.Files[name]; !ok {
			out = append(out, failure{"lost", fmt.Sprintf("%s: %s is not rendered any more", policy, name)})
		}
	}
	return out
}

// smaller makes a failing fixture as small as a number of attempts gets it.
func (j *checker) smaller(objects []*yaml.Node, class string, attempts int) []*yaml.Node {
	return fixtures.Smaller(objects, attempts, func(objects []*yaml.Node) bool {
		found, _, err := j.failures(objects)
		return err == nil && slices.ContainsFunc(found, func(f failure) bool { return f.class == class })
	})
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
