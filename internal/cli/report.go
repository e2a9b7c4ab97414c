package cli

import (
	"fmt"
	"io"

	"github.com/agentry-dev/agentry/generator/diag"
)

// report prints diagnostics for people.
func (e Env) report(w io.Writer, in *input, list diag.List) error {
	return diag.Text{Color: e.colored(w), Input: in.text}.Print(w, list)
}

// verdict is the error that a command ends with when its input has errors, or with
// strict also warnings.
func verdict(list diag.List, strict bool) error {
	if list.HasErrors() || strict && list.Count(diag.Warning) > 0 {
		return errFindings
	}
	return nil
}

// findings counts diagnostics in words.
func findings(list diag.List) string {
	return amount(list.Count(diag.Error), "error") + ", " + amount(list.Count(diag.Warning), "warning")
}

// amount is a number with its noun.
func amount(n int, noun string) string {
	return fmt.Sprintf("%d %s", n, plural(noun, n))
}

// progress says on a terminal what takes a while, until done is called.
func (e Env) progress(text string) (done func()) {
	if term, _ := e.LookupEnv("TERM"); term == "dumb" || !isTerminal(e.Stderr) {
		return func() {}
	}
	fmt.Fprint(e.Stderr, text+" ...")
	return func() { fmt.Fprint(e.Stderr, "\r\x1b[K") }
}
