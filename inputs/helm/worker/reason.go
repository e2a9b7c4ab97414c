package worker

import (
	"bufio"
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/agentry-dev/agentry/inputs/helm"
)

var (
	// location is how Go's templates name a place: file:line:column.
	location = regexp.MustCompile(`([^\s()"<>]+/templates/[^\s():"]+):(\d+)(?::\d+)?`)
	// plainReasons are errors of Go's templates that hold nothing but names of fields, functions and types.
	plainReasons = regexp.MustCompile(strings.Join([]string{
		`nil pointer evaluating [\w.{} *\[\]]+`,
		`can't evaluate field \w+ in type [\w.{} *\[\]]+`,
		`function "\w+" not defined`,
		`no template "[\w./ -]+" associated with template "gotpl"`,
		`template "[\w./ -]+" not defined`,
		`error calling \w+`,
		`wrong number of args for \w+: want (?:at least )?\d+ got \d+`,
		`wrong type for value; expected [\w.{} *\[\]]+; got [\w.{} *\[\]]+`,
		`incompatible types for comparison`,
		`range can't iterate over`,
		`exceeded maximum template depth`,
		`unexpected (?:EOF|\{\{end\}\})`,
		`unclosed action`,
		`undefined variable "\$\w+"`,
		`map has no entry for key "[\w.-]+"`,
		`slugify takes [\w, ]+`,
	}, "|"))
)

// chartText has all lines of a chart's own files. A message made of them contains no secret of a user.
type chartText struct{ lines []string }

// readText takes a chart's templates, with those of its subcharts.
func readText(c *chart.Chart) *chartText {
	t := &chartText{}
	for _, f := range c.Templates {
		for s := bufio.NewScanner(bytes.NewReader(f.Data)); s.Scan(); {
			t.lines = append(t.lines, s.Text())
		}
	}
	for _, sub := range c.Dependencies() {
		t.lines = append(t.lines, readText(sub).lines...)
	}
	return t
}

// own keeps those lines of a message that stand literally in the chart: what an author wrote for `fail` and `required`.
func (t *chartText) own(message string) string {
	var out []string
	for line := range strings.SplitSeq(message, "\n") {
		line = strings.TrimSpace(line)
		const short = 8 // could be a value that the chart happens to hold too
		if len(line) >= short && slices.ContainsFunc(t.lines, func(l string) bool { return strings.Contains(l, line) }) {
			out = append(out, line)
		}
	}
	return strings.Join(out, " ")
}

// clean makes a helm.Failure of an error of Helm's engine.
func (t *chartText) clean(err error) *helm.Failure {
	text := err.Error()
	out := &helm.Failure{Reason: "the template fails; the reason may quote values, and is not shown"}
	places := location.FindAllStringSubmatch(text, -1)
	if len(places) > 0 {
		out.Template = helm.InChart(places[0][1])
		out.Line, _ = strconv.Atoi(places[0][2])
	}
	_, message, _ := strings.Cut(text, "): ") // Helm's frame around what `fail` and `required` say
	if reason := plainReason(text); reason != "" {
		out.Reason = reason
	}
	if own := t.own(message); own != "" {
		out.Reason = "the chart refuses the values: " + own
	}
	if last := places; len(last) > 1 && helm.InChart(last[len(last)-1][1]) != out.Template {
		out.Reason += " (in " + helm.InChart(last[len(last)-1][1]) + ", line " + last[len(last)-1][2] + ")"
	}
	return out
}

// plainReason is what an error of Go's templates says without values.
func plainReason(text string) string {
	reasons := plainReasons.FindAllString(text, -1)
	if i := slices.IndexFunc(reasons, func(r string) bool { return !strings.HasPrefix(r, "error calling") }); i > 0 {
		reasons = reasons[i:]
	}
	if len(reasons) == 0 {
		return ""
	}
	if reasons[0] == "range can't iterate over" {
		return reasons[0] + " a value that is no list and no map"
	}
	return reasons[0]
}
