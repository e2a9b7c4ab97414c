package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/completion"
)

// takes matches how a command says which words a flag takes.
var takes = regexp.MustCompile(` use (.*)\n$`)

// TestChoicesAreThoseOfTheCommands gives each command a wrong word for a flag: the error lists the right words.
func TestChoicesAreThoseOfTheCommands(t *testing.T) {
	found := 0
	for _, c := range newApp(Env{LookupEnv: os.LookupEnv}).Commands {
		for _, f := range c.Flags {
			name := f.Names()[0]
			choices := completion.Choices(c.Name, name)
			if _, isText := f.(*cli.StringFlag); !isText || choices == nil {
				if name == "format" {
					t.Errorf("%s --%s is not completed", c.Name, name)
				}
				continue
			}
			found++
			args := []string{"agentry", c.Name, "--" + name, "no-such-thing"}
			switch c.Name {
			case "doctor", "sync", "status", "version":
			case "trigger":
				args = append(args, "--all")
			case "init":
				args = append(args, "--url", "https://git.example.com/a/b.git", "--remote-write",
					"https://mimir.example.com/push")
			case "serve":
				args = append(args, "--file", "../../examples/quickstart/pipeline.yaml")
			case "import":
				args = append(args, "-")
			case "explain":
				args = append(args, "servicemonitor", "../../examples/quickstart")
			case "diff":
				args = append(args, "../../examples/quickstart", "../../examples/quickstart")
			default:
				args = append(args, "../../examples/quickstart")
			}
			var out, errs strings.Builder
			code := Run(t.Context(), args,
				Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, LookupEnv: os.LookupEnv})
			got := ""
			if m := takes.FindStringSubmatch(errs.String()); m != nil {
				got = strings.ReplaceAll(strings.TrimPrefix(m[1], "one of "), " or ", ", ")
			}
			if code != command.ExitUsage || got != strings.Join(choices, ", ") {
				t.Errorf("%s: exit code %d, and it takes %q where %q are completed:\n%s", strings.Join(args, " "), code,
					got, choices, errs.String())
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d flags with choices", found)
	}
}

// TestPipelinesOfAServiceAreCompleted asks a running service, and a service that does not run.
func TestPipelinesOfAServiceAreCompleted(t *testing.T) {
	files := t.TempDir()
	asked := "exits 0 agentry __complete trigger q\nstdout '^quickstart$'\nexits 0 agentry __complete status ''\n" +
		"stdout '^quickstart$'\n" +
		"exits 0 agentry __complete status --address http://127.0.0.1:1 ''\n! stdout .\n"
	script := whileServed(asked) + prepare
	if err := os.WriteFile(filepath.Join(files, "served.txtar"), []byte(script), 0o666); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, params(files))
}
