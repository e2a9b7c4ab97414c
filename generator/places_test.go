package generator_test

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/runtimes"
)

// TestPlacesOfJobs holds that an explanation finds each job in the files of its unit, also where a patch moves the
// configuration.
func TestPlacesOfJobs(t *testing.T) {
	const patched = "patches:\n- target: {kind: Secret}\n  patch: |\n" +
		"    - {op: add, path: /metadata/annotations/example.com~1owner, value: team}\n"
	for _, r := range generator.Runtimes() {
		for name, changes := range map[string]string{"plain": "", "patched": patched} {
			opts := generator.Options{Runtimes: runtimes.Choice{Default: r}}
			if changes != "" {
				opts.Changes = changesIn(t, []byte(changes))
			}
			out := generator.Render(readText(faultyAgent+faultyMonitor("one", "")+faultyMonitor("two", "")), opts, nil)
			if out.Diags.HasErrors() {
				t.Fatal(out.Diags)
			}
			texts := map[string]string{}
			for _, f := range out.Units[0].Files {
				texts[out.Units[0].Name+"/"+f.Path] = string(f.Data)
			}
			jobs := 0
			for _, f := range out.Explained().Units[0].Print().Files {
				text := texts[f.Path]
				if strings.Contains(text, "example.com/owner: team") != (changes != "") {
					t.Fatalf("%s, %s: not as it is asked:\n%s", r.Name, name, text)
				}
				for _, p := range f.Parts {
					jobs++
					rest := strings.Join(strings.SplitAfter(text, "\n")[p.Line-1:], "")
					first, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
					if first != "- job_name: "+p.Name &&
						first != `discovery.relabel "`+strings.ReplaceAll(p.Name, "/", "__")+`" {` ||
						!strings.HasSuffix(rest[:p.Bytes], "\n") {
						t.Errorf("%s, %s: %s is at line %d, where there is %s", r.Name, name, p.Name, p.Line, first)
					}
				}
			}
			if jobs != 2 {
				t.Errorf("%s, %s: %d jobs", r.Name, name, jobs)
			}
		}
	}
}
