// Command rendered records everything that a build of agentry renders and reports, so that two builds can be compared:
//
//	go run ./test/rendered -agentry old/agentry -o /tmp/old
//	go run ./test/rendered -agentry bin/agentry -o /tmp/new
//	diff -r /tmp/old /tmp/new
//
// Its inputs are the conformance cases, the scenarios of the generator and the examples, each in both modes, for both
// runtimes and under the policies reference and plaintext. It runs the program, so it works across any change of the
// code.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/tools/txtar"
)

func main() {
	agentry := flag.String("agentry", "bin/agentry", "the `PROGRAM` to run")
	out := flag.String("o", "", "the `FOLDER` to write to")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := record(ctx, *agentry, *out); err != nil {
		stop()
		log.Fatal(err)
	}
}

// record renders every input with the program and writes to out what it prints.
func record(ctx context.Context, agentry, out string) error {
	if out == "" {
		return errors.New("-o is missing")
	}
	agentry, err := filepath.Abs(agentry)
	if err != nil {
		return err
	}
	inputs, err := os.MkdirTemp("", "rendered")
	if err != nil {
		return err
	}
	defer os.RemoveAll(inputs)
	cases, err := gather(inputs)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	for _, name := range cases {
		group.Go(func() error {
			for _, options := range combinations() {
				target := filepath.Join(out, name, strings.Join(options, "-"))
				if err := render(ctx, agentry, filepath.Join(inputs, name), options, target); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// combinations lists compatibility, runtime and policy of each render.
func combinations() (out [][]string) {
	for _, mode := range []string{"operator", "current"} {
		for _, runtime := range []string{"agent", "alloy"} {
			for _, policy := range []string{"reference", "plaintext"} {
				out = append(out, []string{mode, runtime, policy})
			}
		}
	}
	return out
}

// render writes TARGET.yaml, which the program prints, and TARGET.report, with its diagnostics and exit code.
func render(ctx context.Context, agentry, input string, options []string, target string) error {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, agentry, "render", "--compatibility", options[0], "--runtime", options[1],
		"--secrets", options[2], ".")
	cmd.Dir, cmd.Stdout, cmd.Stderr = input, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || ctx.Err() != nil {
			return fmt.Errorf("render %s: %w", input, err)
		}
	}
	fmt.Fprintf(&stderr, "exit code %d\n", cmd.ProcessState.ExitCode())
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(target+".yaml", stdout.Bytes(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(target+".report", stderr.Bytes(), 0o644)
}

// gather copies each input to a folder of its own below dir and returns the names of these folders.
func gather(dir string) (names []string, err error) {
	cases, err := filepath.Glob("test/conformance/*/*/input.yaml")
	if err != nil {
		return nil, err
	}
	for _, file := range cases {
		name, err := filepath.Rel("test/conformance", filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := write(filepath.Join(dir, name, "input.yaml"), text); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	scenarios, err := filepath.Glob("generator/testdata/*.txtar")
	if err != nil {
		return nil, err
	}
	for _, file := range scenarios {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			return nil, err
		}
		name := filepath.Join("scenarios", strings.TrimSuffix(filepath.Base(file), ".txtar"))
		for _, f := range archive.Files {
			if input, found := strings.CutPrefix(f.Name, "in/"); found {
				if err := write(filepath.Join(dir, name, input), f.Data); err != nil {
					return nil, err
				}
			}
		}
		names = append(names, name)
	}
	for _, name := range []string{"examples/quickstart", "examples/platform"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(name)); err != nil {
			return nil, err
		}
		if err := os.Remove(filepath.Join(dir, name, "pipeline.yaml")); err != nil { // the options govern
			return nil, err
		}
		names = append(names, name)
	}
	if len(cases) == 0 || len(scenarios) == 0 {
		return nil, errors.New("no inputs: run this at the top of the repository")
	}
	return names, nil
}

func write(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}
