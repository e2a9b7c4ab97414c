package chart

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// instruction is one of a Dockerfile, its lines joined.
type instruction struct{ stage, name, args string }

func dockerfile(t *testing.T) []instruction {
	t.Helper()
	var out []instruction
	stage := ""
	text := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(read(t, root+"/Dockerfile"), "")
	for _, line := range strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		name, args, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" {
			continue
		}
		if name == "FROM" {
			stage = args[strings.LastIndex(args, " ")+1:]
		}
		out = append(out, instruction{stage, name, strings.Join(strings.Fields(args), " ")})
	}
	return out
}

// TestDockerfile checks what can be checked without an engine.
func TestDockerfile(t *testing.T) {
	known := []string{"ARG", "FROM", "WORKDIR", "COPY", "RUN", "ENV", "LABEL", "USER", "EXPOSE", "ENTRYPOINT"}
	stages, entry := []string{}, map[string]string{}
	for _, i := range dockerfile(t) {
		if !slices.Contains(known, i.name) {
			t.Errorf("instruction %s", i.name)
		}
		switch i.name {
		case "FROM":
			stages = append(stages, i.stage)
			if base := strings.Fields(strings.TrimPrefix(i.args, "--platform=$BUILDPLATFORM "))[0]; !strings.HasPrefix(base, "${") && !slices.Contains(stages, base) {
				t.Errorf("stage %s is from %s", i.stage, base)
			}
		case "USER":
			if i.stage != "base" || i.args != "65532:65532" {
				t.Errorf("stage %s runs as %s", i.stage, i.args)
			}
		case "ENTRYPOINT":
			entry[i.stage] = i.args
		}
	}
	for _, name := range []string{"agentry", "sd-aggregator"} {
		if entry[name] != `["/`+name+`"]` {
			t.Errorf("stage %s starts %s", name, entry[name])
		}
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, root+"/go.mod"))[1]
	if text := read(t, root+"/Dockerfile"); !strings.Contains(text, "ARG GO_IMAGE=golang:"+version+"-") {
		t.Errorf("the image is not built with Go %s", version)
	}
	if _, err := os.Stat(root + "/.dockerignore"); err != nil {
		t.Error(err)
	}
}
