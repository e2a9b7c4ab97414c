package gitsync_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
)

// TestABranchOfVersion1 holds that a branch whose inventory has the bases, and whose units have metadata, is read as it
// is and migrated by its next commit, unit by unit.
func TestABranchOfVersion1(t *testing.T) {
	t.Parallel()
	l := rendered(t)
	l.tamper(toVersion1)
	if report := l.pass(); report.Commit != "" || report.Diags.HasErrors() {
		t.Fatalf("with nothing to do: %v %v", report.Changes, report.Diags)
	}
	l.input(map[string]string{"in/a/web.yaml": bad("a"), "in/b/web.yaml": monitor("b", "web", "other")})
	if report := l.pass(); report.Commit == "" || len(report.Held) != 1 || report.Held[0].As.Commit == "" {
		t.Fatalf("the base was not found: %+v %v", report.Held, report.Diags)
	}
	files := l.remote.read("env")
	if text := files[".agentry/inventory"].text; strings.Contains(text, "sources") ||
		!strings.Contains(text, `"version": 3`) {
		t.Errorf("the inventory is %s", text)
	}
	if text := files["hydrator.metadata"].text; !strings.Contains(text, "agentrySources") {
		t.Errorf("the bases are not in %s", text)
	}
	_, a := files["a/agent/hydrator.metadata"]
	_, b := files["b/agent/hydrator.metadata"]
	if !a || b {
		t.Errorf("metadata in the unit that stays: %v, in the one that changes: %v", a, b)
	}
	l.input(map[string]string{"in/a/web.yaml": "", "in/a/agent.yaml": "",
		"in/b/web.yaml": monitor("b", "web", "third")})
	if report := l.pass(); report.Diags.HasErrors() {
		t.Fatal(report.Diags)
	}
	for name := range l.remote.read("env") {
		if strings.HasPrefix(name, "a/") {
			t.Errorf("%s was left behind", name)
		}
	}
}

// toVersion1 makes the files those that version 1 wrote.
func toVersion1(files tree) {
	decode := func(name string) map[string]any {
		var out map[string]any
		if err := json.Unmarshal([]byte(files[name].text), &out); err != nil {
			panic(err)
		}
		return out
	}
	encode := func(name string, value map[string]any) {
		text, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			panic(err)
		}
		files[name] = entry{text: string(text) + "\n"}
	}
	metadata := decode("hydrator.metadata")
	for _, name := range []string{".agentry/inventory", "a/agent/.agentry/inventory", "b/agent/.agentry/inventory"} {
		inventory := decode(name)
		inventory["version"] = 1
		if name == ".agentry/inventory" {
			inventory["sources"] = metadata["agentrySources"]
		}
		encode(name, inventory)
	}
	delete(metadata, "agentrySources")
	for _, name := range []string{"hydrator.metadata", "a/agent/hydrator.metadata", "b/agent/hydrator.metadata"} {
		encode(name, metadata)
	}
}

// TestABranchOfVersion2 holds that a branch whose inventories have a hash of each file is read as it is, that what
// somebody changed on it is found, and that a unit's hashes go when the unit changes.
func TestABranchOfVersion2(t *testing.T) {
	t.Parallel()
	l := rendered(t)
	l.tamper(toVersion2)
	if report := l.pass(); report.Commit != "" || len(report.Diags) > 0 {
		t.Fatalf("with nothing to do: %v %v", report.Changes, report.Diags)
	}
	l.tamper(func(files tree) { files["a/agent/agent.statefulset.yaml"] = entry{text: "edited"} })
	l.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "other")})
	if report := l.pass(); !slices.Equal(codes(report, diag.Warning), []string{"drift"}) {
		t.Errorf("one file was changed by hand, found %v", report.Diags)
	}
	files := l.remote.read("env")
	for name, has := range map[string]bool{".agentry/inventory": false, "a/agent/.agentry/inventory": false,
		"b/agent/.agentry/inventory": true} {
		if strings.Contains(files[name].text, "sha256") != has {
			t.Errorf("%s is %s", name, files[name].text)
		}
	}
	l.tamper(func(files tree) { files["b/agent/agent.statefulset.yaml"] = entry{text: "edited"} })
	if report := l.pass(); !slices.Equal(codes(report, diag.Warning), []string{"drift"}) {
		t.Errorf("a file of a unit of version 2 was changed by hand, found %v", report.Diags)
	}
}

// toVersion2 makes the files those that version 2 wrote.
func toVersion2(files tree) {
	for _, dir := range []string{"", "a/agent/", "b/agent/"} {
		list := "files"
		if dir == "" {
			list = "root"
		}
		editJSON(files, dir+".agentry/inventory", func(inventory map[string]any) {
			inventory["version"] = 2
			for _, f := range inventory[list].([]any) {
				f := f.(map[string]any)
				sum := sha256.Sum256([]byte(files[dir+f["path"].(string)].text))
				f["sha256"] = hex.EncodeToString(sum[:])
			}
		})
	}
	editJSON(files, "hydrator.metadata", func(metadata map[string]any) { delete(metadata, "agentryTree") })
}

func editJSON(files tree, name string, edit func(map[string]any)) {
	var value map[string]any
	if err := json.Unmarshal([]byte(files[name].text), &value); err != nil {
		panic(err)
	}
	edit(value)
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		panic(err)
	}
	files[name] = entry{text: string(text) + "\n"}
}
