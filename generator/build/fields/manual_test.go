package fields

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	promv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the tables of the manual")

// TestManualIsUpToDate holds the tables of docs/compatibility.md against the table of fields.
func TestManualIsUpToDate(t *testing.T) {
	const file, begin, end = "../../../docs/compatibility.md", "<!-- fields: generated -->\n", "<!-- fields: end -->\n"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), begin)
	old, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s lacks the marks of the tables", file)
	}
	text := markdown()
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+text+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(old, text); diff != "" {
		t.Errorf("%s is stale, run make generate (-want +got):\n%s", file, diff)
	}
}

// place is a field of a kind.
type place struct {
	kind, path string
	rule       *Rule
}

// places returns all fields that have findings in some mode, each where it is met first.
func places() (out []place) {
	rules := byType()
	for _, root := range []struct {
		kind string
		of   reflect.Type
	}{
		{"ServiceMonitor", reflect.TypeFor[monitoringv1.ServiceMonitorSpec]()},
		{"PodMonitor", reflect.TypeFor[monitoringv1.PodMonitorSpec]()},
		{"Probe", reflect.TypeFor[monitoringv1.ProbeSpec]()},
		{"ScrapeConfig", reflect.TypeFor[promv1alpha1.ScrapeConfigSpec]()},
		{"MetricsInstance", reflect.TypeFor[v1alpha1.MetricsInstanceSpec]()},
		{"GrafanaAgent", reflect.TypeFor[v1alpha1.GrafanaAgentSpec]()},
	} {
		var look func(t reflect.Type, path string, under bool) // under a field of mode current
		look = func(t reflect.Type, path string, under bool) {
			many := t.Kind() == reflect.Slice
			if t = element(t); t.Kind() != reflect.Struct || !ours(t) {
				return
			}
			if many {
				path += "[]"
			}
			for _, f := range jsonFields(t) {
				at := strings.TrimPrefix(path+"."+f.name, ".")
				ends, below := false, under
				i := slices.IndexFunc(f.owners, func(o reflect.Type) bool { return len(rules[o][f.name]) > 0 })
				if i >= 0 {
					for _, r := range rules[f.owners[i]][f.name] {
						if r.Fate == Current && (under || root.kind == "ScrapeConfig") {
							continue // it goes without saying
						}
						if r.Fate != Rendered {
							out = append(out, place{root.kind, at, r})
						}
						ends = ends || r.Fate != Rendered && r.Fate != Current && r.Only == ""
						below = below || r.Fate == Current
					}
				}
				if !ends {
					look(f.typ, at, below)
				}
			}
		}
		look(root.of, "", false)
	}
	return out
}

// rows returns the rows of a table: one for each field, with the kinds that have it.
func rows(fate Fate, columns func(*Rule) []string) string {
	var order []string
	kinds := map[string][]string{}
	for _, p := range places() {
		if p.rule.Fate != fate {
			continue
		}
		path := p.path
		for _, prefix := range []string{"metrics.", "endpoints[].", "podMetricsEndpoints[]."} {
			path = strings.TrimPrefix(path, prefix)
		}
		name := "`" + path + "`"
		if p.rule.Only != "" {
			name += " " + strings.Join(strings.Fields(p.rule.Only), ", ")
		}
		row := name + "\x00" + strings.Join(columns(p.rule), " | ")
		if kinds[row] == nil {
			order = append(order, row)
		}
		if !slices.Contains(kinds[row], p.kind) {
			kinds[row] = append(kinds[row], p.kind)
		}
	}
	var b strings.Builder
	for _, row := range order {
		name, rest, _ := strings.Cut(row, "\x00")
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, strings.Join(kinds[row], ", "), rest)
	}
	return b.String()
}

// markdown returns the tables.
func markdown() string {
	var b strings.Builder
	b.WriteString("Dropped with the warning [`field-not-rendered`](diagnostics.md#field-not-rendered), because they only tune:\n\n")
	b.WriteString("| field | of | first Prometheus | values that need no warning |\n|---|---|---|---|\n")
	b.WriteString(rows(Dropped, func(r *Rule) []string {
		return []string{orNone(r.Since, "gone since 2.11"), strings.Join(strings.Fields(r.Silent), ", ")}
	}))
	b.WriteString("\nRefused with the error [`needs-newer-prometheus`](diagnostics.md#needs-newer-prometheus):\n\n")
	b.WriteString("| field | of | first Prometheus | because without it |\n|---|---|---|---|\n")
	b.WriteString(rows(Refused, func(r *Rule) []string { return []string{r.Since, r.Why} }))
	b.WriteString("\nRendered in mode `current` only; in mode `operator` they get the warning `field-not-rendered`. ")
	b.WriteString("Fields of endpoints stand without `endpoints[]`, those of a GrafanaAgent without `metrics`, and ScrapeConfigs are for mode `current` as a whole.\n\n")
	b.WriteString("| field | of | values that need no warning |\n|---|---|---|\n")
	b.WriteString(rows(Current, func(r *Rule) []string { return []string{strings.Join(strings.Fields(r.Silent), ", ")} }))
	return b.String()
}

func orNone(s, none string) string {
	if s == "" {
		return none
	}
	return s
}
