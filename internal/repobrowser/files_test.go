package repobrowser

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/test/outputs"
)

// TestTheFilesOfTheOutput goes from the units to the lines of each file, which show no secret.
func TestTheFilesOfTheOutput(t *testing.T) {
	w := outputs.New(t)
	w.Pass()
	w.Remote.Commit("out", map[string]string{"m/agent/agent-operated.service.yaml": "nothing: " + outputs.Password +
		"\n", "m/agent/mine.yaml": outputs.Password})
	w.Pass()
	s := storeOf(w)
	top, refused := s.Output("prod", "")
	if refused != nil || len(top.Units) != 1 || top.Units[0] != "m/agent" {
		t.Fatal(top, refused)
	}
	unit, refused := s.Output("prod", "m/agent")
	if refused != nil {
		t.Fatal(refused)
	}
	var names []string
	for _, f := range unit.Files {
		names = append(names, f.Name)
		file, refused := s.Output("prod", "m/agent/"+f.Name)
		if refused != nil {
			t.Errorf("%s: %v", f.Name, refused)
			continue
		}
		if all := strings.Join(file.Lines,
			"\n"); strings.Contains(all, outputs.Password) || strings.Contains(all, outputs.User) ||
			len(file.Lines) < 3 {
			t.Errorf("%s is shown as\n%s", f.Name, all)
		}
	}
	for _, want := range []string{"agent-config.secret.yaml", "agent-secrets.secret.yaml", "agent.statefulset.yaml"} {
		if !strings.Contains(strings.Join(names, " "), want) {
			t.Errorf("%s is not among %q", want, names)
		}
	}
	for _, at := range []string{"m/agent/mine.yaml", "m/agent/.agentry/inventory", "m", "../x", "README.md"} {
		if _, refused := s.Output("prod", at); refused == nil || refused.Status != 404 {
			t.Errorf("%s: %v", at, refused)
		}
	}
}
