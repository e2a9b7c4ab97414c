package console

import (
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
)

func functions() template.FuncMap {
	return template.FuncMap{
		"short": short, "position": position, "at": fileAndLine, "took": took, "amount": amount, "labels": labelList,
		"line": changeOf, "iso": iso, "class": classOf, "repository": repositoryName, "moment": moment,
		"segment": url.PathEscape, "clusters": clustersOf, "delivered": deliveryClass, "after": after,
		"commit": func(commit, page string) commitLink { return commitLink{commit, page} },
		"place":  func(text, page string) placeLink { return placeLink{text, page} },
	}
}

// commitLink is a commit, and its page at the forge if that is known.
type commitLink struct{ Commit, Page string }

// placeLink is a text, and the page that it is about if that is known.
type placeLink struct{ Text, Page string }

// Ago returns how long ago a time was, or how long it is until then. The text changes at most once a minute, so that a
// page in which nothing else changes stays the same.
func (f frame) Ago(t *metav1.Time) string {
	if t.IsZero() {
		return "never"
	}
	return f.Since(t.Time)
}

// Since is Ago for a time that is known.
func (f frame) Since(t time.Time) string {
	d := f.now.Sub(t)
	if d < 0 {
		return "in " + roughly(-d)
	}
	if d < time.Minute {
		return "just now"
	}
	return roughly(d) + " ago"
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

// moment returns a time for programs.
func moment(t metav1.Time) string { return iso(t.Time) }

// iso returns a time as HTML has it.
func iso(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// took returns a rounded duration.
func took(d time.Duration) string { return d.Round(time.Millisecond).String() }

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

func labelList(labels map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, k+"="+labels[k])
	}
	return strings.Join(out, ", ")
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
