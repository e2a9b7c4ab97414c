// Command agentcheck tells whether Grafana Agent v0.44.8 would run configurations.
//
//	agentcheck [-strict] [-env NAME=VALUE ...] FILE|FOLDER...
//
// A FILE is a configuration. In a FOLDER, every Secret with a configuration counts, with
// the variables and arguments of the pods that mount it. Findings go to standard output;
// the exit code is 1 if there is an error or, with -strict, a warning, and 2 if something
// could not be read.
package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"github.com/agentry-dev/agentry/test/agentcheck/check"
	"github.com/agentry-dev/agentry/test/agentcheck/rendered"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	env := map[string]string{}
	flags := flag.NewFlagSet("agentcheck", flag.ContinueOnError)
	flags.SetOutput(stderr)
	strict := flags.Bool("strict", false, "count warnings as errors")
	flags.Func("env", "`NAME=VALUE` of a variable of the pod, any number of times", func(s string) error {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			return fmt.Errorf("%q is not NAME=VALUE", s)
		}
		env[name] = value
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() == 0 {
		fmt.Fprintln(stderr, "nothing to check: name files or folders")
		return 2
	}
	code := 0
	for _, name := range flags.Args() {
		configs, err := read(name)
		if err != nil {
			fmt.Fprintln(stderr, err)
			return 2
		}
		for _, c := range configs {
			maps.Copy(c.Pod.Reloader, env)
			maps.Copy(c.Pod.Agent, env)
			for _, f := range check.Check(c.Text, c.Pod) {
				fmt.Fprintf(stdout, "%s: %s\n", c.File, f)
				if f.Level == check.Error || *strict {
					code = 1
				}
			}
		}
	}
	return code
}

// read reads a configuration, or all of a folder.
func read(name string) ([]rendered.Config, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return rendered.Read(name)
	}
	text, err := os.ReadFile(name)
	return []rendered.Config{{File: name, Text: string(text), Pod: check.DefaultPod()}}, err
}
