package fuzz

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/test/agentcheck/check"
	"github.com/agentry-dev/agentry/test/agentcheck/rendered"
	"github.com/agentry-dev/agentry/test/fixtures"
)

// configs are the configurations among rendered files.
func configs(files map[string]string, dir string) ([]rendered.Config, error) {
	var all strings.Builder
	for _, name := range sortedKeys(files) {
		all.WriteString("---\n" + files[name] + "\n")
	}
	if err := os.WriteFile(filepath.Join(dir, "all.yaml"), []byte(all.String()), 0o600); err != nil {
		return nil, err
	}
	return rendered.Read(dir)
}

// refusals are what the agent has against rendered files, but for missing destinations, which
// are the user's to decide. What is only a warning of the agent's may have been agentry's, too.
func refusals(a fixtures.Answer, dir string) (out []string, err error) {
	list, err := configs(a.Files, dir)
	if err != nil {
		return []string{"the rendered files cannot be read: " + err.Error()}, nil
	}
	for _, c := range list {
		if c.Workload == "" {
			out = append(out, "no workload mounts "+c.File)
		}
		for _, f := range check.Check(c.Text, c.Pod) {
			if f.Rule == check.Destination || unknowable(f, c) || f.Level == check.Warning && warned(a, f.Rule) {
				continue
			}
			out = append(out, f.String())
		}
	}
	return out, nil
}

// unknowable reports findings that hang on what only the cluster knows: a variable from a
// Secret, or the arguments that a user gave the agent.
func unknowable(f check.Finding, c rendered.Config) bool {
	return strings.Contains(f.Message, "error parsing flags") ||
		(f.Rule == check.Start || f.Rule == check.Load) &&
			slices.Contains(slices.Collect(maps.Values(c.Pod.Agent)), "from-a-secret") && strings.Contains(c.Text, "${")
}

// warned reports whether there is a warning about what the agent's warning is about.
func warned(a fixtures.Answer, rule check.Rule) bool {
	for _, f := range a.Findings {
		switch {
		case f.Severity != "warning":
		case rule == check.LabelName && f.Code == "invalid-label-name",
			rule == check.Path && f.Code == "integration-instance",
			rule == check.Unique && f.Code == "unique-integration",
			rule == check.Reference && f.Code == "instance-not-selected":
			return true
		}
	}
	return false
}
