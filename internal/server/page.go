package server

import (
	"bytes"
	_ "embed" // the page
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/gitsync/fleet"
)

// Limits of the page. It shows pipelines with problems first; the JSON has all pipelines.
const (
	maxPageRows = 500
	maxPageHeld = 200
)

//go:embed page.html
var pageText string

// page is the data of the template.
type page struct {
	Version  string
	Chosen   string // the pipeline that the request names
	Rows     []pageRow
	Hidden   int
	Total    int
	Bad      int
	Problems []fleet.Finding
	Remotes  []fleet.RemoteStatus
	now      time.Time
}

// pageRow is a pipeline.
type pageRow struct {
	fleet.Status
	Ready, Stalled metav1.Condition
}

// Good reports whether the pipeline needs no attention.
func (r pageRow) Good() bool {
	return r.Ready.Status == metav1.ConditionTrue || r.Suspended || !r.Owned
}

// Bad reports whether something is wrong. A pipeline can be neither good nor bad, for example before its first pass.
func (r pageRow) Bad() bool {
	return !r.Good() && (r.Ready.Status == metav1.ConditionFalse || r.Stalled.Status == metav1.ConditionTrue)
}

// State returns the CSS class of the row.
func (r pageRow) State() string {
	switch {
	case r.Bad():
		return "bad"
	case r.Good() && r.Owned && !r.Suspended: // other replicas' pipelines are unknown here
		return "good"
	}
	return ""
}

// HeldUnits returns the units that are held or left out as a whole.
func (r pageRow) HeldUnits() []fleet.UnitStatus {
	var out []fleet.UnitStatus
	for _, u := range r.Units {
		if u.Reason != "" {
			out = append(out, u)
		}
	}
	return out
}

// HeldShown returns the held objects that the page shows.
func (r pageRow) HeldShown() []fleet.HeldStatus { return r.Held[:min(len(r.Held), maxPageHeld)] }

// HeldHidden returns the number of held objects that the page does not show.
func (r pageRow) HeldHidden() int { return max(0, len(r.Held)-maxPageHeld) }

// Ago returns how long ago a time was, or how long it is until then.
func (p page) Ago(t *metav1.Time) string {
	if t.IsZero() {
		return "never"
	}
	if d := p.now.Sub(t.Time).Round(time.Second); d >= 0 {
		return d.String() + " ago"
	}
	return "in " + t.Sub(p.now).Round(time.Second).String()
}

// took returns a rounded duration.
func took(d time.Duration) string { return d.Round(time.Millisecond).String() }

// short returns an abbreviated commit id.
func short(commit string) string { return commit[:min(7, len(commit))] }

// position returns file:line:column, without the parts that are unknown.
func position(f fleet.Finding) string {
	out := f.File
	for _, n := range []int{f.Line, f.Column} {
		if n == 0 {
			break
		}
		out += ":" + strconv.Itoa(n)
	}
	return out
}

func (a *admin) newPage(chosen string) (p page, found bool) {
	p = page{Version: a.Version, Chosen: chosen, Problems: findings(a.Fleet.Problems()), Remotes: a.Fleet.Remotes(), now: time.Now()}
	for _, s := range a.Fleet.Status() {
		row := pageRow{Status: s}
		if c := s.Condition(meta.ReadyCondition); c != nil {
			row.Ready = *c
		}
		if c := s.Condition(meta.StalledCondition); c != nil {
			row.Stalled = *c
		}
		p.Total++
		if row.Bad() {
			p.Bad++
		}
		if chosen == "" || s.Name == chosen {
			p.Rows = append(p.Rows, row)
		}
	}
	slices.SortStableFunc(p.Rows, func(a, b pageRow) int { return rank(a) - rank(b) })
	p.Hidden = max(0, len(p.Rows)-maxPageRows)
	p.Rows = p.Rows[:len(p.Rows)-p.Hidden]
	return p, chosen == "" || len(p.Rows) > 0
}

// rank orders rows: bad ones first, good ones last.
func rank(r pageRow) int {
	switch {
	case r.Bad():
		return 0
	case r.Good():
		return 2
	}
	return 1
}

func (a *admin) servePage(w http.ResponseWriter, r *http.Request) {
	p, found := a.newPage(r.URL.Query().Get("pipeline"))
	if !found {
		http.Error(w, "no such pipeline", http.StatusNotFound)
		return
	}
	var out bytes.Buffer
	functions := template.FuncMap{"short": short, "position": position, "took": took, "amount": amount}
	parsed, err := template.New("page").Funcs(functions).Parse(pageText)
	if err == nil {
		err = parsed.Execute(&out, p)
	}
	if err != nil {
		a.Log.Error("cannot make the page", "err", err)
		http.Error(w, "the page cannot be made; see the log", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = out.WriteTo(w)
}
