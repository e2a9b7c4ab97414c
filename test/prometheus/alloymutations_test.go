package prometheus

import (
	"regexp"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy"
	"github.com/agentry-dev/agentry/generator/secretref"
	alloycheck "github.com/agentry-dev/agentry/test/prometheus/alloy"
)

// alloyMutation makes one thing wrong in a line of a good file, or returns the line as it is.
type alloyMutation struct {
	name   string
	mutate func(line string) string
}

func alloyMutations() []alloyMutation {
	replaced := func(pattern, with string) func(string) string {
		re := regexp.MustCompile(pattern)
		return func(line string) string { return re.ReplaceAllString(line, with) }
	}
	return []alloyMutation{
		{"an unknown attribute", replaced(`^(\t+)([a-z_]+)( +=)`, "${1}${2}x$3")},
		{"an unknown block", replaced(`^(\t+)([a-z_]+)( \{)`, "${1}${2}x$3")},
		{"an unknown component", replaced(`^([a-z._]+)( "| \{)`, "${1}x$2")},
		{"a component without a label", replaced(`^([a-z._]+) "\w+"`, "$1")},
		{"a block without its label", replaced(`^(\t+[a-z_]+) "\w+" \{`, "$1 {")},
		{"a block with a label", replaced(`^(\t+(?:rule|endpoint|queue_config)) \{`, `$1 "x" {`)},
		{"a list for a text", replaced(`^(\t+[a-z_0-9]+ += )(".*")$`, `${1}[$2]`)},
		{"a number for a text", replaced(`^(\t+[a-z_0-9]+ += )".*"$`, `${1}17`)},
		{"a text for a number or a boolean", replaced(`^(\t+[a-z_0-9]+ += )(true|false|\d+)$`, `${1}"$2"`)},
		{"a text for a list", replaced(`^(\t+[a-z_]+ += )\[.*\]$`, `${1}"x"`)},
		{"a missing attribute", replaced(`^\t+(targets|forward_to|url|role|filename) += .*[^({\[]$`, "")},
		{"a reference to no component", replaced(`(discovery|prometheus|loki)(\.\w+\.\w+)(\.\w+[,\]]?)`, "$1${2}x$3")},
		{"a reference to no export", replaced(`\.(receiver|output|targets|content)([,\])]|$)`, ".${1}x$2")},
		{"a reference to another kind of export", replaced(`\.(receiver)([,\])]|$)`, ".rules$2")},
		{"an unknown action", replaced(`(action += ")`, "${1}x")},
		{"an unknown role", replaced(`(role += ")`, "${1}x")},
		{"an invalid expression", replaced(`(regex += ")`, "$1(")},
		{"an invalid label", replaced(`(target_label += ")`, "${1}-")},
		{"an invalid duration", replaced(`(_interval|_timeout|_frequency|_time)( += ")`, "${1}${2}x")},
		{"an unknown function", replaced(`(sys\.env|coalesce|array\.concat|string\.trim_space)\(`, "${1}x(")},
		{"a secret as a text", replaced(`convert\.nonsensitive\((.*?)\)`, "$1")},
		{"a component that depends on itself",
			replaced(`^(prometheus\.relabel "(\w+)" \{)$`,
				"$1\n\tforward_to = [prometheus.relabel.$2.receiver]\n}\nprometheus.echo \"x\" {")},
		{"what a version lacks", replaced(`^(prometheus\.scrape .*)$`, "$1\n\thonor_metadatax = true")},
		{"a forbidden component", replaced(`^discovery\.kubernetes ("\w+") \{$`, "prometheus.operator.probes $1 {")},
		{"a stage of another name", replaced(`^(\t+stage\.[a-z_]+)( \{)`, "${1}x$2")},
		{"a stage that is no stage", replaced(`^(\t+)stage\.([a-z_]+ \{)`, "${1}stages.$2")},
		{"an unknown kind of metric", replaced(`^(\t+metric\.[a-z]+)( \{)`, "${1}x$2")},
		{"a stage without what it needs", replaced(`^\t+(values|selector|firstline|buckets|rate|burst) += [^{]*$`, "")},
		{"an invalid expression of a stage", replaced(`((?:expression|firstline) += ")`, "$1(")},
		{"an invalid size", replaced(`((?:longer_than|batch_size) += ")`, "${1}x")},
		{"an invalid period", replaced(
			`((?:older_than|batch_wait|sync_period|max_idle_duration|min_backoff_period) += ")`, "${1}x")},
		{"an unknown constant", replaced(`constants\.hostname`, "constants.node")},
		{"a syntax error", replaced(`^(\t+[a-z_]+) += `, "$1 ")},
	}
}

// mutatedLines is how many lines of a file are mutated in each way.
const mutatedLines = 20

// TestMutationsOfGoodFilesAreFound makes one thing wrong in a good file, at each of the first lines where it can be.
func TestMutationsOfGoodFilesAreFound(t *testing.T) {
	good := goodAlloyFiles(t)
	for _, m := range alloyMutations() {
		made := 0
		for name, text := range good {
			lines := strings.Split(text, "\n")
			here := 0
			for i, line := range lines {
				mutated := m.mutate(line)
				if mutated == line || here == mutatedLines {
					continue
				}
				here++
				made++
				lines[i] = mutated
				if problems := alloycheck.Check([]byte(strings.Join(lines, "\n")), "v1.18.1"); len(problems) == 0 {
					t.Errorf("%s: %s is not found: %s", name, m.name, mutated)
				}
				lines[i] = line
			}
		}
		if made == 0 {
			t.Errorf("%s: made nowhere", m.name)
		}
	}
	for name, text := range good {
		if problems := alloycheck.Check([]byte(text+"\n"+text), "v1.18.1"); len(problems) == 0 {
			t.Errorf("%s: duplicate names are not found", name)
		}
	}
}

// TestVersionsAreKnown: an argument is refused before the version that it came with.
func TestVersionsAreKnown(t *testing.T) {
	text := []byte("discovery.kubernetes \"x\" {\n\trole = \"pod\"\n\n\tattach_metadata {\n\t\tnamespace = true\n" +
		"\t}\n}\n")
	if found := alloycheck.Check(text, "v1.12.0"); len(found) > 0 {
		t.Error(found)
	}
	if found := alloycheck.Check(text, "v1.11.3"); len(found) != 1 {
		t.Error("an argument of v1.12.0 is not found:", found)
	}
}

// goodAlloyFiles returns files with everything that is rendered.
func goodAlloyFiles(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	eachAlloyFixture(t, func(t *testing.T, w alloyFixture) {
		for _, wanted := range []string{"real-kube-prometheus/", "rw-oauth2/", "rw-basic-auth/", "rw-sigv4/",
			"rw-queue-metadata/", "agent-log-settings/", "agent-apiserver-bearer/", "alloy-logs.txtar/",
			"real-log-pipelines/", "logs-client-full/", "stages-metrics/"} {
			if !strings.HasPrefix(w.name, wanted) || w.mode != manifest.Operator || w.policy != secretref.Reference {
				continue
			}
			configs, _ := w.render(t, alloy.Runtime())
			for unit, text := range configs {
				out[wanted+unit] = text
			}
			logs, _ := w.renderLogs(t, alloy.Runtime())
			for unit, text := range logs {
				out[wanted+unit+": logs"] = text
			}
		}
	})
	for _, p := range mutatedCase(t).native.pods {
		if p.runsIntegrations() {
			out[p.name] = p.config
		}
	}
	if len(out) < 6 {
		t.Fatalf("only %d files", len(out))
	}
	return out
}
