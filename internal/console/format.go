package console

import (
	"fmt"
	"html/template"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/gitsync/fleet"
)

func functions() template.FuncMap {
	return template.FuncMap{
		"short": short, "position": position, "at": fileAndLine, "took": took, "amount": amount,
		"labels": explain.LabelText, "line": changeOf, "class": classOf, "repository": repositoryName,
		"because": because, "spans": spans, "segment": url.PathEscape, "delivered": deliveryClass, "after": after,
		"commit": func(commit, page string) commitLink { return commitLink{commit, page} },
		"place":  func(text, page string) placeLink { return placeLink{text, page} },
	}
}

// commitLink is a commit, and its page at the forge if that is known.
type commitLink struct{ Commit, Page string }

// placeLink is a text, and the page that it is about if that is known.
type placeLink struct{ Text, Page string }

// shownTime is a time for programs, for those who want to know exactly, and for the others.
type shownTime struct{ ISO, Exact, Text string }

// Ago returns how long ago a time was, or how long it is until then. The text changes at most once a minute, so that a
// page in which nothing else changes stays the same.
func (f frame) Ago(t *metav1.Time) shownTime {
	if t.IsZero() {
		return shownTime{Text: "never"}
	}
	return f.Since(t.Time)
}

// Since is Ago for a time that is known.
func (f frame) Since(t time.Time) shownTime {
	out, d := shownTime{ISO: t.UTC().Format(time.RFC3339), Exact: t.UTC().Format("2 January 2006, 15:04:05 UTC")},
		f.now.Sub(t)
	switch {
	case d < 0:
		out.Text = "in " + roughly(-d)
	case d < time.Minute:
		out.Text = "just now"
	default:
		out.Text = roughly(d) + " ago"
	}
	return out
}

// roughly returns a duration in its largest unit.
func roughly(d time.Duration) string {
	const day, month, year = 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour
	switch {
	case d < time.Minute:
		return "a minute"
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d < 2*month:
		return fmt.Sprintf("%d days", d/day)
	case d < 2*year:
		return fmt.Sprintf("%d months", d/month)
	}
	return fmt.Sprintf("%d years", d/year)
}

// took returns a rounded duration.
func took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "less than 1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// because returns why a pass was made, in words.
func because(trigger string) string {
	words, ok := map[string]string{
		fleet.ReasonStart: "at the start", fleet.ReasonPoll: "after a new commit", fleet.ReasonRetry: "after a failure",
		fleet.ReasonWebhook: "after a webhook", fleet.ReasonAPI: "because somebody asked for it",
		fleet.ReasonSignal: "after SIGHUP", fleet.ReasonCharts: "to look up the versions of charts",
		fleet.ReasonQuestion: "to explain what was not kept",
	}[trigger]
	if !ok {
		return "because of " + trigger
	}
	return words
}

// spans cuts a text at backticks. What is between two of them is code.
func spans(text string) (out []part) {
	for i, s := range strings.Split(text, "`") {
		p := part{Text: s}
		if i%2 == 1 {
			p.Class = "code"
		}
		out = append(out, p)
	}
	return out
}

// short returns an abbreviated commit id.
func short(commit string) string { return commit[:min(7, len(commit))] }

// position returns file:line:column, without the parts that are unknown.
func position(f diag.Diagnostic) string {
	out := fileAndLine(f.File, f.Line)
	if f.Line > 0 && f.Column > 0 {
		out += ":" + strconv.Itoa(f.Column)
	}
	return out
}

// fileAndLine returns a place, as far as it is known.
func fileAndLine(file string, line int) string {
	file = strings.ReplaceAll(file, "\n", string(unicode.ReplacementChar)) // which HTML shows as a space
	if file == "" || line == 0 {
		return file
	}
	return file + ":" + strconv.Itoa(line)
}

func amount(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// repositoryName returns the last two parts of a URL, by which people know a repository.
func repositoryName(url string) string {
	rest := strings.TrimSuffix(url, ".git")
	if _, after, ok := strings.Cut(rest, "://"); ok {
		rest = after
	}
	dir, name := path.Split(rest)
	if owner := path.Base(dir); strings.Contains(strings.TrimSuffix(dir, "/"), "/") {
		return owner + "/" + name
	}
	return name
}

// classOf returns the CSS class of the state of an object.
func classOf(s explain.State) string {
	switch s {
	case explain.Rendered, explain.Used:
		return "good"
	case explain.LeftOut, explain.Held, explain.NotRendered:
		return "bad"
	}
	return ""
}
