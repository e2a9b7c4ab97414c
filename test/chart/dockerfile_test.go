package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// instruction is one of a Dockerfile, its lines joined.
type instruction struct{ stage, name, args string }

func dockerfile(t *testing.T, path string) []instruction {
	t.Helper()
	var out []instruction
	stage := ""
	text := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(read(t, path), "")
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
	checkDockerfile(t, root+"/Dockerfile", "--from=build /licenses /licenses")
	checkDockerfile(t, root+"/dist/image/Dockerfile", "LICENSE THIRD-PARTY-NOTICES.txt /licenses/")
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, root+"/go.mod"))[1]
	if text := read(t, root+"/Dockerfile"); !strings.Contains(text, "ARG GO_IMAGE=golang:"+version+"-") {
		t.Errorf("the image is not built with Go %s", version)
	}
	if _, err := os.Stat(root + "/.dockerignore"); err != nil {
		t.Error(err)
	}
}

func checkDockerfile(t *testing.T, path, licences string) {
	t.Helper()
	known := []string{"ARG", "FROM", "WORKDIR", "COPY", "RUN", "ENV", "LABEL", "USER", "EXPOSE", "ENTRYPOINT"}
	stages, entry, licensed := []string{"scratch"}, map[string]string{}, map[string]bool{}
	for _, i := range dockerfile(t, path) {
		if !slices.Contains(known, i.name) {
			t.Errorf("instruction %s", i.name)
		}
		switch i.name {
		case "FROM":
			stages = append(stages, i.stage)
			if base := strings.Fields(strings.TrimPrefix(i.args,
				"--platform=$BUILDPLATFORM "))[0]; !strings.HasPrefix(base, "${") && !slices.Contains(stages, base) {
				t.Errorf("stage %s is from %s", i.stage, base)
			}
		case "USER":
			if i.stage != "base" || i.args != "65532:65532" {
				t.Errorf("stage %s runs as %s", i.stage, i.args)
			}
		case "COPY":
			licensed[i.stage] = licensed[i.stage] || i.args == licences
		case "ENTRYPOINT":
			entry[i.stage] = i.args
		}
	}
	for _, name := range []string{"agentry", "sd-aggregator"} {
		if !licensed["base"] && !licensed[name] {
			t.Errorf("the licences of what is linked are not in the image %s", name)
		}
		if entry[name] != `["/`+name+`"]` {
			t.Errorf("stage %s starts %s", name, entry[name])
		}
	}
}

// TestPinImages runs the target with a docker that knows a digest for each image, twice: a pin can be renewed.
func TestPinImages(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("Makefile", read(t, root+"/Makefile"), 0o666)
	write("Dockerfile", read(t, root+"/Dockerfile"), 0o666)
	for _, digest := range []string{"sha256:" + strings.Repeat("a", 64), "sha256:" + strings.Repeat("b", 64)} {
		write("docker", "#!/bin/sh\n[ \"$1 $2 $3 $4\" = 'buildx imagetools inspect --format' ] && echo "+digest+"\n",
			0o777)
		pin := exec.Command("make", "-C", dir, "pin-images")
		pin.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		if out, err := pin.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		pinned := regexp.MustCompile(`(?m)^ARG [A-Z]+_IMAGE=[^@\n]+@(.*)$`).FindAllStringSubmatch(read(t,
			filepath.Join(dir, "Dockerfile")), -1)
		if len(pinned) != 2 || pinned[0][1] != digest || pinned[1][1] != digest {
			t.Errorf("pinned %q, want %s twice", pinned, digest)
		}
	}
}
