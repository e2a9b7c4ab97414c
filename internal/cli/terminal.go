package cli

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/display"
	"github.com/agentry-dev/agentry/internal/cli/dryrun"
)

// report prints what runs found for people.
func (e Env) report(w io.Writer, runs []*dryrun.Run, list diag.List) error {
	return diag.Text{Color: e.colored(w), Input: dryrun.Texts(runs)}.Print(w, list)
}

// verdict returns the error that a command ends with if there are errors in its input, or with strict also warnings.
func verdict(list diag.List, strict bool) error {
	if list.HasErrors() || strict && list.Count(diag.Warning) > 0 {
		return command.ErrFindings
	}
	return nil
}

// findings returns the number of diagnostics in words.
func findings(list diag.List) string {
	return display.Amount(list.Count(diag.Error), "error") + ", " + display.Amount(list.Count(diag.Warning), "warning")
}

// progress prints a text on a terminal until done is called.
func (e Env) progress(text string) (done func()) {
	if name, _ := e.LookupEnv("TERM"); name == "dumb" || !isTerminal(e.Stderr) {
		return func() {}
	}
	fmt.Fprint(e.Stderr, text+" ...")
	return func() { fmt.Fprint(e.Stderr, "\r\x1b[K") }
}

// colored reports whether output to w is coloured.
func (e Env) colored(w io.Writer) bool {
	if off, _ := e.LookupEnv("NO_COLOR"); off != "" {
		return false
	}
	if name, _ := e.LookupEnv("TERM"); name == "dumb" {
		return false
	}
	return isTerminal(w)
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// isAttended reports whether somebody can type at a stream; /dev/null, which is a device too, is not a terminal.
func isAttended(r io.Reader) bool {
	file, ok := r.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// printer returns the printer for a format. The text of a file, if it is not nil, is quoted for people.
func (e Env) printer(format string, text func(source, file string) []byte) diag.Printer {
	switch format {
	case command.JSON:
		return diag.JSON{}
	case command.YAML:
		return yamlPrinter{}
	case "github":
		return diag.GitHub{}
	case "sarif":
		return diag.SARIF{}
	}
	return diag.Text{Color: e.colored(e.Stdout), Input: text}
}

// yamlPrinter prints diagnostics as YAML, with the keys of [diag.JSON].
type yamlPrinter struct{}

// Print implements [diag.Printer].
func (yamlPrinter) Print(w io.Writer, list diag.List) error {
	return command.WriteData(w, command.YAML, list)
}
