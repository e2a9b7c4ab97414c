package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-kit/log"
	"github.com/grafana/agent/static/integrations/v2"
	"golang.org/x/tools/txtar"
	"gopkg.in/yaml.v2"
)

const folder = "../../../generator/compile/integration/"

func TestTheCatalogueIsTheAgents(t *testing.T) {
	want, err := os.ReadFile(filepath.FromSlash(folder + "catalogue.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := write(&got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Error("catalogue.json is not what the agent says: go run ./catalogue > " +
			"../../generator/compile/integration/catalogue.json")
	}
}

// TestTheChecksAreTheAgents asks the agent what it makes of the configurations of which
// generator/compile/integration claims to know: whether it takes them, and what instance it infers.
func TestTheChecksAreTheAgents(t *testing.T) {
	archive, err := txtar.ParseFile(filepath.FromSlash(folder + "testdata/agent.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		name, text := path.Dir(f.Name), string(f.Data)
		instance, err := try(name, text)
		if refused := err != nil; refused != strings.HasSuffix(f.Name, ".refused.yaml") && !outOfReach(f.Name) {
			t.Errorf("%s: %v", f.Name, err)
		}
		for line := range strings.Lines(text) {
			if want, ok := strings.CutPrefix(line, "# instance: "); ok && strings.TrimSuffix(want, "\n") != instance {
				t.Errorf("%s: the agent infers the instance %q, we %q", f.Name, instance, want)
			}
		}
	}
}

// outOfReach are cases that the agent refuses only when it reaches what it is to measure,
// or whose constructors want what only a pod has.
func outOfReach(file string) bool {
	switch path.Dir(file) {
	case "cadvisor", "eventhandler", "gcp", "kafka":
		return true
	}
	return false
}

// try loads a configuration of one integration and makes it, as the agent does.
func try(name, text string) (instance string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Join(err, errors.New("the agent panics"))
		}
	}()
	file := "metrics: {autoscrape: {enable: false}}\n" + name + "_configs:\n-\n"
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			file += "  " + line
		}
	}
	if strings.Contains(file, "${REDIS\"") {
		return "", errors.New("an unfinished variable, which is not of YAML")
	}
	file = strings.ReplaceAll(file, "$$", "$")
	var options integrations.SubsystemOptions
	if err := yaml.UnmarshalStrict([]byte(file), &options); err != nil {
		return "", err
	}
	globals := integrations.Globals{AgentIdentifier: "pod:8080", SubsystemOpts: options}
	c := options.Configs[0]
	if instance, err = c.Identifier(globals); err != nil {
		return "", err
	}
	if err := c.ApplyDefaults(globals); err != nil || outOfReach(name+"/x") {
		return instance, err
	}
	_, err = c.NewIntegration(log.NewNopLogger(), globals)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // a file that only the pod has
	}
	return instance, err
}
