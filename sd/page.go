package sd

import (
	"bytes"
	_ "embed" // the page
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"time"

	"github.com/agentry-dev/agentry/sd/merge"
)

// maxRows is the most pods on the page; those with problems come first. The JSON lists all pods.
const maxRows = 500

//go:embed page.html
var pageText string

// page is the data of the template.
type page struct {
	Report
	Path string
	// Chosen is the agent named in the request, or empty.
	Chosen string
	Rows   []row
	Hidden int
	now    time.Time
}

type row struct {
	PodReport
	Agent merge.Owner
}

// Ago formats the time since t, or "never".
func (p page) Ago(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return p.Age(t) + " ago"
}

// Age formats the time since t.
func (p page) Age(t time.Time) string { return p.now.Sub(t).Truncate(time.Second).String() }

func newPage(r Report, owner *merge.Owner, now time.Time) page {
	p := page{Report: r, Path: Path, now: now}
	if owner != nil {
		p.Chosen = owner.String()
	}
	for _, agent := range r.Agents {
		if owner != nil && agent.Owner != *owner {
			continue
		}
		for _, pod := range agent.Pods {
			p.Rows = append(p.Rows, row{pod, agent.Owner})
		}
	}
	slices.SortStableFunc(p.Rows, func(a, b row) int {
		switch {
		case a.Troubled() == b.Troubled():
			return 0
		case a.Troubled():
			return -1
		}
		return 1
	})
	p.Hidden = max(0, len(p.Rows)-maxRows)
	p.Rows = p.Rows[:len(p.Rows)-p.Hidden]
	return p
}

func (a *Aggregator) servePage(w http.ResponseWriter, r *http.Request) {
	owner, all, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	chosen := &owner
	if all {
		chosen = nil
	}
	var out bytes.Buffer
	parsed, err := template.New("page").Parse(pageText)
	if err == nil {
		err = parsed.Execute(&out, newPage(a.report(), chosen, time.Now()))
	}
	if err != nil {
		a.log.Error("cannot make the page", "err", err)
		http.Error(w, "the page cannot be made; see the log", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = out.WriteTo(w)
}

func (a *Aggregator) serveStatus(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(a.report())
}
