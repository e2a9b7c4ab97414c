package integration

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLookup(t *testing.T) {
	for name, want := range map[string]string{"mysql": "mysql true", "mysqld_exporter": "mysql false",
		"node_exporter": "node_exporter true", "snmp_exporter": "snmp false", "MySQL": "", "": ""} {
		got := ""
		if found, canonical := Default().Lookup(name); found != nil {
			got = found.Name + map[bool]string{true: " true", false: " false"}[canonical]
		}
		if got != want {
			t.Errorf("Lookup(%q) is %q, want %q", name, got, want)
		}
	}
}

func TestTheVersionIsTheFiles(t *testing.T) {
	var file struct{ Agent string }
	if err := json.Unmarshal(reflected, &file); err != nil || file.Agent != AgentVersion {
		t.Errorf("catalogue.json is of agent %q (%v), want %q", file.Agent, err, AgentVersion)
	}
}

// TestEveryRuleHasAnObject holds that the places of rules are in the catalogue.
func TestEveryRuleHasAnObject(t *testing.T) {
	found := map[string]bool{}
	var walk func(n *node, where string)
	walk = func(n *node, where string) {
		for n.item != nil {
			n = n.item
		}
		found[where] = found[where] || n.rule != nil
		for _, f := range n.fields {
			walk(f, where+"."+f.Name)
		}
	}
	for name, typ := range Default().types {
		walk(typ.config, name)
	}
	for where := range rules {
		if !found[where] {
			t.Errorf("no object is at %s", where)
		}
	}
	for name := range inferences {
		if Default().types[name] == nil {
			t.Errorf("%s, of which the instance is inferred, is not in the catalogue", name)
		}
	}
}

// TestFactsNameExistingFields holds that what is kept by hand says something of fields that there
// are, but for those of node_exporter's older names.
func TestFactsNameExistingFields(t *testing.T) {
	for name, typ := range Default().types {
		for _, f := range typ.Fields {
			if f.Type == "" {
				t.Errorf("%s.%s has no type", name, f.Name)
			}
		}
		if typ.Targets != "" && typ.config.field(typ.Targets) == nil {
			t.Errorf("%s has no field %s", name, typ.Targets)
		}
	}
}

func TestExtend(t *testing.T) {
	entries := `[
		{"name": "nginx", "oldNames": ["nginx_exporter"], "fields": [{"name": "uri", "type": "url", "required": "start"}]},
		{"name": "redis", "fields": [{"name": "new_field", "type": "list of int"}, {"name": "is_cluster", "type": "string"}]},
		{"name": "etcd"},
		{"name": "mysql", "unchecked": true},
		{"name": "statsd", "singleton": false}
	]`
	c := extend(t, entries)
	for name, in := range map[string][2]string{
		"nginx": {"uri: http://a", ""},
		"nginx_exporter": {"url: a", "# info[old-integration-name] spec.name: the agent calls nginx_exporter nginx: " +
			"it is rendered under that name (write nginx)\n" +
			"# error[unknown-integration-field] spec.config.url: url is not a field of nginx that the agent knows " +
			"(did you mean uri?)\n# error[invalid-integration-config] spec.config: uri is missing: the agent would " +
			"not start\n"},
		"redis": {"{redis_addr: a, new_field: [1], is_cluster: x, is_tile38: x}",
			"# error[invalid-integration-config] spec.config.is_tile38: is a text, and the agent wants a boolean\n"},
		"etcd":  {"{anything: {goes: [1]}, instance: a}", ""},
		"mysql": {"{data_source_name: root@(db:3306)/, new: 1}", ""},
	} {
		checked := c.Check(with(t, Input{Name: name, Strict: true}, in[0]))
		if diff := cmp.Diff(in[1], describe(checked.Findings)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if old, _ := Default().Lookup("statsd"); !old.Singleton {
		t.Error("extending changed the catalogue")
	}
	if now, _ := c.Lookup("statsd"); now.Singleton {
		t.Error("statsd is still a singleton")
	}
}

func extend(t *testing.T, text string) *Catalogue {
	t.Helper()
	var entries []Entry
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&entries); err != nil {
		t.Fatal(err)
	}
	c, err := Default().Extend(entries)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestExtendRefuses(t *testing.T) {
	for want, e := range map[string]Entry{
		`integrations[0]: "" is not a name of an integration: it is the key of the agent's configuration without _configs, as in mysql`:                                             {},
		`integrations[0]: "mysql_configs" is not a name of an integration: it is the key of the agent's configuration without _configs, as in mysql`:                                {Name: "mysql_configs"},
		`integrations[0]: x: placement "there" is not one of every-node, once and anywhere`:                                                                                         {Name: "x", Placement: "there"},
		`x: the old name mysql is that of mysql as well`:                                                                                                                            {Name: "x", OldNames: []string{"mysql"}},
		`x: the old name redis_exporter is that of redis as well`:                                                                                                                   {Name: "x", OldNames: []string{"redis_exporter"}},
		`x: field x.a: required is "always", which is neither start nor scrape`:                                                                                                     {Name: "x", Fields: []Field{{Name: "a", Type: "int", Required: "always"}}},
		`x: field x.a: "number" is not a type; types are any, bool, duration, float, int, interval, object, regex, secret, string, timeout, url, and list of or map of one of them`: {Name: "x", Fields: []Field{{Name: "a", Type: "list of number"}}},
	} {
		if _, err := Default().Extend([]Entry{e}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestManualIsUpToDate holds the table of the manual to the catalogue.
func TestManualIsUpToDate(t *testing.T) {
	const begin, end = "<!-- catalogue: generated, go test ./generator/compile/integration -update -->\n",
		"<!-- end of catalogue -->\n"
	file := filepath.FromSlash("../../../docs/integrations.md")
	manual, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(manual), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the catalogue", file)
	}
	table := markdown(Default())
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+table+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(table, old); diff != "" {
		t.Errorf("%s is stale, run make generate (-want +got):\n%s", file, diff)
	}
}

func markdown(c *Catalogue) string {
	var out strings.Builder
	out.WriteString("\n| `name` | also called | where | how often in a pod | `job` of its targets | targets |\n" +
		"|---|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(c.types)) {
		t, _ := c.Lookup(name)
		where := map[Placement]string{EveryNode: "every node", Once: "once", Anywhere: "either"}[t.Placement]
		often, targets := "any number", "1"
		if t.Singleton {
			often = "once"
		}
		switch {
		case !t.Metrics:
			targets = "none: it makes logs"
		case !t.Listed:
			targets = "none on Linux"
		case t.Targets != "":
			targets = "each of `" + t.Targets + "`"
		}
		out.WriteString("| `" + name + "` | " + code(strings.Join(t.OldNames, "`, `")) + " | " + where + " | " + often +
			" | " + code(t.JobLabel) + " | " + targets + " |\n")
	}
	out.WriteByte('\n')
	return out.String()
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
