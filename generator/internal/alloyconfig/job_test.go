package alloyconfig_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/internal/alloyconfig"
)

// whole is a configuration in which all jobs are read.
func whole(text string) map[string]any {
	config := alloyconfig.Config(text)
	for _, jobs := range jobsOf(config) {
		for i, job := range jobs {
			jobs[i] = job.(*alloyconfig.Job).Fields()
		}
	}
	return config
}

// jobsOf returns the lists of jobs of a configuration, by their instances.
func jobsOf(config map[string]any) map[string][]any {
	out := map[string][]any{}
	for _, kind := range []string{"metrics", "logs"} {
		block, _ := config[kind].(map[string]any)
		instances, _ := block["configs"].([]any)
		for _, instance := range instances {
			i := instance.(map[string]any)
			out[kind+" "+i["name"].(string)], _ = i["scrape_configs"].([]any)
		}
	}
	return out
}

// TestJobsAreTheSameIfTheirTextsAre edits each line of the configurations of every fixture, takes away each block, and repeats each inner
// block: a job whose fields change is never the same, and most others are.
func TestJobsAreTheSameIfTheirTextsAre(t *testing.T) {
	changed, same, unlike := 0, 0, 0
	for _, text := range rendered(t) {
		before := jobsOf(alloyconfig.Config(text))
		for name, after := range edits(t, text) {
			for instance, jobs := range jobsOf(alloyconfig.Config(after)) {
				for i := range min(len(jobs), len(before[instance])) {
					old, now := before[instance][i].(*alloyconfig.Job), jobs[i].(*alloyconfig.Job)
					isEqual := reflect.DeepEqual(old.Fields(), now.Fields())
					switch isSame := old.IsSame(now); {
					case isSame && isEqual:
						same++
					case isSame:
						t.Fatalf("%s: the job %s counts as the same, and was\n%v\nnow\n%v", name, old.Name, old.Fields(), now.Fields())
					case isEqual:
						unlike++
					default:
						changed++
					}
					if name, _ := now.Fields()["job_name"].(string); name != now.Name {
						t.Fatalf("the job %s calls itself %s", now.Name, name)
					}
				}
			}
		}
	}
	if changed < 500 || same < 20*unlike {
		t.Errorf("%d jobs changed and %d are the same; %d are read though they did not change", changed, same, unlike)
	}
}

// edits returns a text with one edit each, by what it is.
func edits(t *testing.T, text string) map[string]string {
	t.Helper()
	out := map[string]string{}
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		edited := strings.Replace(line, `"`, `"other`, 1)
		if line == edited {
			edited = strings.Replace(line, "true", "false", 1)
		}
		if line != edited {
			out[fmt.Sprintf("line %d, %s", i+1, edited)] = strings.Join(lines[:i], "") + edited + strings.Join(lines[i+1:], "")
		}
	}
	blocks, err := alloyconfig.Blocks(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		out["without "+b.ID()] = strings.Replace(text, b.Text, "", 1)
		for _, inner := range b.Blocks {
			head, rest, _ := strings.Cut(b.Text, b.Blocks[0].Text)
			repeated := head + inner.Text + "\n" + inner.Text + "\n" + b.Blocks[0].Text + rest
			out["with repeated "+inner.Text+" in "+b.ID()] = strings.Replace(text, b.Text, repeated, 1)
		}
	}
	return out
}
