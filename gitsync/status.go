package gitsync

import (
	"slices"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

// SourceStatus is one input commit.
type SourceStatus struct {
	URL string `json:"url"` // normalised
	// Ref names the ref that is read, such as `branch main`.
	Ref string `json:"ref"`
	// Commit is the input commit, empty before the first pass, and Date its committer's.
	Commit string    `json:"commit"`
	Date   time.Time `json:"date,omitzero"`
	// Subject is the first line of the commit's message.
	Subject string `json:"subject,omitempty"`
	// Stale says that the source could not be read: the commit is the one that the output was last rendered from.
	Stale bool `json:"stale"`
	// Label is the source in findings about its files. It is empty if there is only one.
	Label string `json:"-"`
	// Mounts are the indices of the sources that it can build from, by the folder that their files are in, in findings.
	Mounts map[string]int `json:"-"`
}

// Locate returns the index of the source that the file of a finding about a source is in, or -1, and the name that it
// has there.
func Locate(sources []SourceStatus, source, file string) (i int, name string) {
	i = slices.IndexFunc(sources, func(s SourceStatus) bool { return s.Label == source })
	mount, rest, _ := strings.Cut(file, "/")
	for n, s := range sources {
		if of, isMounted := s.Mounts[mount]; isMounted && (n == i || i < 0) { // nobody knows the source: it can be any
			return of, rest
		}
	}
	return i, file
}

// OutputStatus is the output branch.
type OutputStatus struct {
	URL    string `json:"url"` // normalised
	Branch string `json:"branch"`
	Path   string `json:"path"`
	// Before and Commit are the tip before and after the pass. They are empty while there is no such branch.
	Before string `json:"before"`
	Commit string `json:"commit,omitempty"`
}

// UnitStatus is one unit: all that one GrafanaAgent renders to, or what is passed through to a namespace.
type UnitStatus struct {
	Name string `json:"name"` // namespace/name
	// State is the state of the unit after the pass.
	State plan.UnitState `json:"state"`
	// Reason says why a unit is held or left out.
	Reason string `json:"reason"`
	// Error is the finding that says so; zero if none does by itself.
	Error diag.Diagnostic `json:"-"`
	// Lost counts the inputs that a changed unit is no longer rendered from, such as "-2 ServiceMonitors, -4 jobs".
	Lost string `json:"lost,omitempty"`
	// Files is the number of files in its folder, without those that describe it.
	Files int `json:"files"`
}

// IsWithheld reports whether an error holds the unit or leaves it out.
func (u UnitStatus) IsWithheld() bool { return u.State == plan.UnitHeld || u.State == plan.UnitLeftOut }

// MaxFindings is how many diagnostics [Findings] shows; all are counted.
const MaxFindings = 20

// Findings are the diagnostics of a pass in short.
type Findings struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Infos    int `json:"infos"`
	// First are the first of them, errors first, at most [MaxFindings]. Many problems of one cause are one of these.
	First diag.List `json:"first"`
}

// NewFindings returns diagnostics in short.
func NewFindings(all diag.List) Findings {
	out := Findings{Errors: all.Count(diag.Error), Warnings: all.Count(diag.Warning), Infos: all.Count(diag.Info),
		First: diag.List{}}
	all = all.Together()
	for _, severity := range []diag.Severity{diag.Error, diag.Warning, diag.Info} {
		for _, d := range all {
			if d.Severity == severity && len(out.First) < MaxFindings {
				out.First = append(out.First, d)
			}
		}
	}
	return out
}
