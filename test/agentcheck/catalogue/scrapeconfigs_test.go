package main

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/agentry-dev/agentry/test/agentcheck/check"
)

const scrapeFolder = "../../../generator/runtimes/agent/handwritten/"

func TestTheSchemaIsTheAgents(t *testing.T) {
	want, err := os.ReadFile(filepath.FromSlash(scrapeFolder + "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := writeScrapeConfigs(&got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Error("schema.json is not what the agent says: go run ./catalogue scrapeconfigs > " +
			"../../generator/runtimes/agent/handwritten/schema.json")
	}
}

// TestTheScrapeConfigsAreTheAgents asks the agent what it makes of the scrape configurations
// of which generator/runtimes/agent/handwritten claims to know.
func TestTheScrapeConfigsAreTheAgents(t *testing.T) {
	archive, err := txtar.ParseFile(filepath.FromSlash(scrapeFolder + "testdata/agent.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		if strings.HasSuffix(f.Name, ".start.yaml") {
			continue // the agent would dial, or listen
		}
		findings := check.Check(agentFile(path.Dir(f.Name), string(f.Data)), check.DefaultPod())
		refused := ""
		for _, f := range findings {
			if f.Level == check.Error {
				refused = f.String()
			}
		}
		if (refused != "") != strings.HasSuffix(f.Name, ".refused.yaml") {
			t.Errorf("%s: %s", f.Name, refused)
		}
	}
}

// agentFile is a whole configuration with one scrape configuration.
func agentFile(kind, job string) string {
	job = "      - " + strings.TrimSpace(strings.ReplaceAll(job, "\n", "\n        ")) + "\n"
	if kind == "logs" {
		return "logs:\n  positions_directory: /p\n  configs:\n    - name: i\n      clients: [{url: http://l}]\n" +
			"      scrape_configs:\n" + job
	}
	return "metrics:\n  wal_directory: /w\n  configs:\n    - name: i\n      remote_write: [{url: http://m}]\n" +
		"      scrape_configs:\n" + job
}
