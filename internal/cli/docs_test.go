package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/internal/cli/command"
)

const manualHead = `# The command line

<!-- Generated from --help-all by "make generate". Do not edit. -->

Names, exit codes and what is on standard output are stable: script against them. Data goes to standard
output, everything else to standard error, in colour only on a terminal and not with ` + "`NO_COLOR`" + `.
Flags may stand before or after the paths, and each has an environment variable. ` + "`--help`" +
	` shows the options that most people need, and
` + "`--help-all`" + ` all of them, as here. Commands that render find
[the pipeline file that governs](commands.md#which-pipeline-file-governs), and say on the last line what they used.
`

const manualFoot = `
What to read next: [the pipeline file](pipeline.md), [diagnostics](diagnostics.md), [explain](explain.md), [diff](diff.md).
`

// TestManualIsUpToDate compares docs/cli.md with what --help-all prints.
func TestManualIsUpToDate(t *testing.T) {
	var b strings.Builder
	b.WriteString(manualHead)
	b.WriteString("\n## agentry\n\n```\n" + help(t, "--help") + "```\n")
	for _, c := range commands(Env{}) {
		b.WriteString("\n## agentry " + c.Name + "\n\n```\n" + help(t, c.Name, "--help-all") + "```\n")
	}
	b.WriteString(manualFoot)
	file := filepath.Join("..", "..", "docs", "cli.md")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s is stale, run make generate (-want +got):\n%s", file, diff)
	}
}

// help returns what a command prints that ends in --help or --help-all.
func help(t *testing.T, words ...string) string {
	t.Helper()
	var out, errs strings.Builder
	env := Env{Stdout: &out, Stderr: &errs, LookupEnv: os.LookupEnv}
	if code := Run(t.Context(), append([]string{"agentry"}, words...), env); code != command.ExitDone {
		t.Fatalf("help of %v: exit code %d: %s", words, code, errs.String())
	}
	return out.String()
}

// TestHelpIsReadable: lines fit a terminal, and the common options a screen.
func TestHelpIsReadable(t *testing.T) {
	fits := func(name, text string) {
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
	}
	fits("agentry", help(t, "--help"))
	for _, c := range commands(Env{}) {
		short, full := help(t, c.Name, "--help"), help(t, c.Name, "--help-all")
		fits(c.Name, short+full)
		for line := range strings.Lines(short) {
			if strings.HasPrefix(line, strings.Repeat(" ", 15)) {
				t.Errorf("%s: a common option takes more than a line: %s", c.Name, line)
			}
		}
		if n := strings.Count(short, "\n"); n > 55 {
			t.Errorf("the help of %s has %d lines", c.Name, n)
		}
		for _, f := range c.Flags {
			if name := "--" + f.Names()[0] + " "; !strings.Contains(full, name) {
				t.Errorf("%s --help-all does not show %s", c.Name, name)
			}
		}
	}
}

// TestExamplesWork runs the example at the end of each command's help in the quickstart.
func TestExamplesWork(t *testing.T) {
	files := t.TempDir()
	for _, c := range commands(Env{}) {
		text := help(t, c.Name, "--help")
		if !strings.HasSuffix(text, "\nExample:\n  "+c.Example+"\n") {
			t.Errorf("the help of %s does not end with its example", c.Name)
		}
		script := "exec sh prepare.sh\ncd quickstart\nexits 0 sh ../example.sh\n" + prepare + "-- example.sh --\n" +
			c.Example + "\n"
		if slices.Contains([]string{"serve", "status", "trigger"}, c.Name) {
			script = whileServed(strings.TrimPrefix("exits 0 "+c.Example+"\n", "exits 0 "+serveExample+"\n")) + prepare
		}
		if err := os.WriteFile(filepath.Join(files, c.Name+".txtar"), []byte(script), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	testscript.Run(t, params(files))
}

// serveExample is the command that examples start a service with.
const serveExample = "agentry serve -f pipeline.yaml"

// whileServed is a script that runs commands while a service of the quickstart runs.
func whileServed(lines string) string {
	return "exec sh prepare.sh\ncd quickstart\nports\nexec " + serveExample + " &service&\nready\n" + lines +
		"kill -INT service\nwait service\n"
}

// prepare makes a repository of the quickstart and points its pipeline at it.
const prepare = `
-- prepare.sh --
set -e
git init -q quickstart
git -C quickstart add .
git -C quickstart commit -q -m Start
git clone -q --bare quickstart monitoring.git
sed -i.bak -e "s|https://git.example.com/platform/|file://$PWD/|" -e '/auth:/d' -e '/passwordEnv:/d' quickstart/pipeline.yaml
echo '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}' > quickstart/objects.json
`

// TestEveryFlagHasAVariable checks the promise of the manual.
func TestEveryFlagHasAVariable(t *testing.T) {
	for _, c := range newApp(Env{LookupEnv: os.LookupEnv}).Commands {
		for _, f := range c.Flags {
			if f.Names()[0] == "help-all" {
				continue
			}
			want := "AGENTRY_" + strings.ToUpper(strings.ReplaceAll(f.Names()[0], "-", "_"))
			if d, ok := f.(cli.DocGenerationFlag); !ok || len(d.GetEnvVars()) != 1 || d.GetEnvVars()[0] != want {
				t.Errorf("%s --%s: no variable %s", c.Name, f.Names()[0], want)
			}
		}
	}
}
