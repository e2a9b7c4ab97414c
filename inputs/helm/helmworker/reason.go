package helmworker

import (
	"bufio"
	"bytes"
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/helm"
)

var (
	// location matches a position in errors of Go's templates: file:line:column.
	location = regexp.MustCompile(`([^\s()"<>]+/templates/[^\s():"]+):(\d+)(?::\d+)?`)
	// plainReasons matches errors of Go's templates that contain only names of fields, functions and types.
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
	// namesInReasons matches the names in these errors. A template may take them from values, as in include and tpl.
	namesInReasons = regexp.MustCompile(`"\$?([^"]+)"|evaluating .*\.(\w+)|field (\w+)`)
)

// chartText has all lines of a chart's templates. Quoting them reveals no secrets of a user.
type chartText struct {
	lines []string
	files map[string][]string // lines by file name, as in errors
}

// readText reads the templates of a chart and its subcharts.
func readText(c *chart.Chart) *chartText {
	t := &chartText{files: map[string][]string{}}
	for _, f := range c.Templates {
		var lines []string
		for s := bufio.NewScanner(bytes.NewReader(f.Data)); s.Scan(); {
			lines = append(lines, s.Text())
		}
		t.lines, t.files[path.Join(c.ChartFullPath(), f.Name)] = append(t.lines, lines...), lines
	}
	for _, sub := range c.Dependencies() {
		below := readText(sub)
		t.lines = append(t.lines, below.lines...)
		maps.Copy(t.files, below.files)
	}
	return t
}

// quotable returns the lines of a message that are literally in the chart, such as an author's text for `fail` and
// `required`.
func (t *chartText) quotable(message string) string {
	var out []string
	for line := range strings.SplitSeq(message, "\n") {
		line = strings.TrimSpace(line)
		const short = 8 // a shorter line could be a value that happens to be in the chart
		if len(line) >= short && slices.ContainsFunc(t.lines, func(l string) bool {
			return strings.Contains(l, line)
		}) {
			out = append(out, line)
		}
	}
	return strings.Join(out, " ")
}

var (
	// nilField matches an error about a field of an unset value.
	nilField = regexp.MustCompile(`nil pointer evaluating [^.]*\.(\w+)`)
	// valuePath matches the path of a value in a template.
	valuePath = regexp.MustCompile(`\.Values((?:\.\w+)+)`)
)

// unsetValue explains an error about a field of an unset value by naming the value, or returns "". place is a match of
// location in the error.
func (t *chartText) unsetValue(text string, place []string, values map[string]any) string {
	field := nilField.FindStringSubmatch(text)
	number, err := strconv.Atoi(place[2])
	lines := t.files[place[1]]
	if field == nil || err != nil || number < 1 || number > len(lines) {
		return ""
	}
	for _, sub := range strings.Split(place[1], "/charts/")[1:] { // its values are below its name
		name, _, _ := strings.Cut(sub, "/")
		values, _ = values[name].(map[string]any)
	}
	for _, match := range valuePath.FindAllStringSubmatch(lines[number-1], -1) {
		steps, there := strings.Split(match[1][1:], "."), values
		for i, step := range steps[:len(steps)-1] {
			if there[step] != nil {
				there, _ = there[step].(map[string]any)
				continue
			}
			if steps[i+1] != field[1] {
				break
			}
			reason := ".Values." + strings.Join(steps[:i+1], ".") + " is not set"
			if meant, found := diag.Suggest(step, slices.Sorted(maps.Keys(there))); found {
				reason += " (did you mean " + meant + "?)"
			}
			return reason
		}
	}
	return ""
}

// failure turns an error of Helm's engine into a Failure without values.
func (t *chartText) failure(err error, values map[string]any) *helm.Failure {
	text := err.Error()
	out := &helm.Failure{Reason: "the template fails; the reason is not shown because it may quote values"}
	places := location.FindAllStringSubmatch(text, -1)
	if len(places) > 0 {
		out.Template = helm.InChart(places[0][1])
		out.Line, _ = strconv.Atoi(places[0][2])
	}
	_, message, _ := strings.Cut(text, "): ") // Helm's prefix of messages of `fail` and `required`
	if reason := t.plainReason(text); reason != "" {
		out.Reason = reason
	}
	if len(places) > 0 {
		out.Reason = cmp.Or(t.unsetValue(text, places[len(places)-1], values), out.Reason)
	}
	if own := t.quotable(message); own != "" {
		out.Reason = "the chart refuses the values: " + own
	}
	if last := places; len(last) > 1 && helm.InChart(last[len(last)-1][1]) != out.Template {
		out.Reason += " (in " + helm.InChart(last[len(last)-1][1]) + ", line " + last[len(last)-1][2] + ")"
	}
	return out
}

// plainReason returns the part of an error of Go's templates that quotes no values, or "".
func (t *chartText) plainReason(text string) string {
	reasons := plainReasons.FindAllString(text, -1)
	reasons = slices.DeleteFunc(reasons, func(r string) bool { return !t.hasNames(r) })
	if i := slices.IndexFunc(reasons, func(r string) bool { return !strings.HasPrefix(r, "error calling") }); i > 0 {
		reasons = reasons[i:]
	}
	if len(reasons) == 0 {
		return ""
	}
	if reasons[0] == "range can't iterate over" {
		return reasons[0] + " a value that is neither a list nor a map"
	}
	return reasons[0]
}

// hasNames reports whether the names in an error of Go's templates are literally in the chart.
func (t *chartText) hasNames(reason string) bool {
	for _, match := range namesInReasons.FindAllStringSubmatch(reason, -1) {
		form := `\b` + regexp.QuoteMeta(cmp.Or(match[1], match[2], match[3])) + `\b`
		if strings.Contains(match[0], `"`) && strings.Contains(reason, "template ") {
			form = "[\"`]" + regexp.QuoteMeta(match[1]) + "[\"`]" // how a template names another one
		}
		own := regexp.MustCompile(form)
		if match[0] != `"gotpl"` && !slices.ContainsFunc(t.lines, own.MatchString) {
			return false
		}
	}
	return true
}
