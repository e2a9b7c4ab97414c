// Command renderer renders one fixture after the other, for the fuzz tests of test/agentcheck,
// which live in a module of their own and cannot call the renderer: a process for each fixture
// would cost more than the fixture.
//
// The argument is the compatibility mode. Each line of standard input is a JSON string, the manifests of a fixture as
// one YAML stream. Each is answered by a line of JSON: an Answer by secrets policy.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// Answer is what became of a fixture.
type Answer struct {
	Findings []Finding
	// Files are the rendered manifests by path.
	Files map[string]string
	// Panic is what the renderer panicked with; empty as it should be.
	Panic string
	// Differs names a file that a second render made different; empty as it should be.
	Differs string
}

// Finding is a diagnostic.
type Finding struct {
	Severity diag.Severity
	Code     diag.Code
	Object   string
	Message  string
	Position string
	Related  string // objects, separated by spaces
}

func main() {
	if err := run(os.Stdin, os.Stdout, manifest.Compatibility(os.Args[1])); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer, mode manifest.Compatibility) error {
	fixtures, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for {
		var fixture string
		switch err := fixtures.Decode(&fixture); err {
		case nil:
		case io.EOF: //nolint:errorlint // as the decoder documents
			return nil
		default:
			return err
		}
		all := map[secretref.Policy]Answer{}
		for _, policy := range []secretref.Policy{secretref.Plaintext, secretref.Reference} {
			all[policy] = twice(fixture, mode, policy)
		}
		if err := answers.Encode(all); err != nil {
			return err
		}
	}
}

// twice renders a fixture two times, from the text on, and compares.
func twice(fixture string, mode manifest.Compatibility, policy secretref.Policy) Answer {
	first, second := once(fixture, mode, policy), once(fixture, mode, policy)
	for path, text := range first.Files {
		if second.Files[path] != text {
			first.Differs = path
		}
	}
	if len(first.Files) != len(second.Files) {
		first.Differs = "the number of files"
	}
	if !slices.Equal(first.Findings, second.Findings) {
		first.Differs = "diagnostics"
	}
	return first
}

func once(fixture string, mode manifest.Compatibility, policy secretref.Policy) (a Answer) {
	defer func() {
		if p := recover(); p != nil {
			a.Panic = fmt.Sprintf("%v\n%s", p, debug.Stack())
		}
	}()
	a.Files = map[string]string{}
	parsed := manifest.Parse(manifest.File{Path: "input.yaml", Data: []byte(fixture)},
		manifest.Options{Compatibility: mode})
	out := generator.Render(manifest.NewSet(parsed), generator.Options{Compatibility: mode, Secrets: policy}, nil)
	for _, d := range append(parsed.Diags, out.Diags...) {
		var related []string
		for _, o := range d.Related {
			related = append(related, o.String())
		}
		a.Findings = append(a.Findings,
			Finding{d.Severity, d.Code, d.Object.String(), d.Message, d.Position(), strings.Join(related, " ")})
	}
	slices.SortFunc(a.Findings, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(x.Position, y.Position), cmp.Compare(x.Code, y.Code),
			cmp.Compare(x.Message, y.Message))
	})
	for _, u := range out.Units {
		for _, f := range u.Files {
			if f.Manifest && f.Object != (manifest.ID{}) {
				a.Files[u.Name+"/"+f.Path] = string(f.Data)
			}
		}
	}
	return a
}
