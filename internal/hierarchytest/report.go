package hierarchytest

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Failed counts the failed results.
func Failed(results []Result) int {
	n := 0
	for _, r := range results {
		if len(r.Problems) > 0 {
			n++
		}
	}
	return n
}

// Text prints the failed cases for people.
func Text(w io.Writer, results []Result) error {
	for _, r := range results {
		if len(r.Problems) == 0 {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s:%d: FAIL %s: %s\n%s", diag.Plain(r.File), r.Line, diag.Plain(r.suite()),
			diag.Plain(r.Case), r.text()); err != nil {
			return err
		}
	}
	return nil
}

// suite names the test, and the pipeline if there are several.
func (r Result) suite() string {
	if r.Pipeline == "" {
		return r.Test
	}
	return r.Test + " (pipeline " + r.Pipeline + ")"
}

// text returns the problems, where - marks an expected line that was not found, and + a found line that was not
// expected.
func (r Result) text() string {
	var b strings.Builder
	for _, p := range r.Problems {
		b.WriteString("  " + diag.Plain(p.About))
		if len(p.Expected)+len(p.Found) > 0 {
			b.WriteString(":")
		}
		b.WriteString("\n")
		for _, line := range p.Expected {
			b.WriteString("    - " + diag.Plain(line) + "\n")
		}
		for _, line := range p.Found {
			b.WriteString("    + " + diag.Plain(line) + "\n")
		}
	}
	return b.String()
}

// The elements of a JUnit report, as far as CI systems use them.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		File    string        `xml:"file,attr"`
		Line    int           `xml:"line,attr"`
		Failure *junitFailure `xml:"failure"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit prints all cases as a JUnit report, with a suite for each test in a file. It has no times.
func JUnit(w io.Writer, results []Result) error {
	all := junitSuites{Tests: len(results), Failures: Failed(results)}
	for i := 0; i < len(results); {
		suite := junitSuite{Name: results[i].suite()}
		for first := results[i]; i < len(results) && results[i].suite() == first.suite() &&
			results[i].File == first.File; i++ {
			c := junitCase{Name: results[i].Case, Class: suite.Name, File: first.File, Line: results[i].Line}
			if len(results[i].Problems) > 0 {
				suite.Failures++
				c.Failure = &junitFailure{Message: results[i].Problems[0].About, Text: results[i].text()}
			}
			suite.Cases = append(suite.Cases, c)
		}
		suite.Tests = len(suite.Cases)
		all.Suites = append(all.Suites, suite)
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}
