package server

import (
	"bytes"
	_ "embed" // the page
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/explain"
)

//go:embed explain.html
var explainText string

// explainPage is the data of the page that explains an object, or finds some.
type explainPage struct {
	Pipeline, Query, Object string
	Hits                    *explain.Hits
	Explanation             *explain.Explanation
	Refused                 *Problem
}

// Link returns the address of the page of an object.
func (p explainPage) Link(o explain.Object) string {
	return "/explain?" + url.Values{"pipeline": {p.Pipeline}, "object": {o.ID().String()}}.Encode()
}

// missOnPage is a miss with the page that it is on.
type missOnPage struct {
	Page explainPage
	Miss explain.Miss
}

// serveExplain serves the page of one object, or the objects that have the words of a query; without either it is the
// GrafanaAgents, from which links lead down.
func (a *admin) serveExplain(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	p, status := a.newExplainPage(query.Get("pipeline"), query.Get("object"), query.Get("q"))
	functions := template.FuncMap{
		"amount": amount, "at": fileAndLine, "labels": labelList, "class": classOf,
		"pair": func(p explainPage, m explain.Miss) missOnPage { return missOnPage{p, m} },
	}
	var out bytes.Buffer
	parsed, err := template.New("explain").Funcs(functions).Parse(explainText)
	if err == nil {
		err = parsed.Execute(&out, p)
	}
	if err != nil {
		a.Log.Error("cannot make the page", "err", err)
		http.Error(w, "the page cannot be made; see the log", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", strings.Replace(w.Header().Get("Content-Security-Policy"), "form-action 'none'", "form-action 'self'", 1))
	w.WriteHeader(status)
	_, _ = out.WriteTo(w)
}

func (a *admin) newExplainPage(pipeline, object, query string) (p explainPage, status int) {
	p = explainPage{Pipeline: pipeline, Object: object, Query: query}
	k, refused := a.explained(pipeline)
	switch {
	case refused != nil:
	case len(query) > maxQueryBytes:
		refused = &refusal{http.StatusBadRequest, Problem{"the query is too long", "ask for fewer words"}}
	case object != "" && query == "":
		var found explain.List
		if found, refused = k.explain([]string{object}, ""); refused == nil {
			p.Explanation = found.Items[0]
		}
	default:
		words := query
		if strings.TrimSpace(words) == "" {
			words = "grafanaagent/"
		}
		hits := k.search(words, maxHits)
		p.Hits = &hits
	}
	if refused != nil {
		p.Refused = &refused.Problem
		return p, refused.status
	}
	return p, http.StatusOK
}

// fileAndLine returns a place, as far as it is known.
func fileAndLine(file string, line int) string {
	if file == "" || line == 0 {
		return file
	}
	return file + ":" + strconv.Itoa(line)
}

func labelList(labels map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, k+"="+labels[k])
	}
	return strings.Join(out, ", ")
}

// classOf returns the CSS class of a state.
func classOf(s explain.State) string {
	switch s {
	case explain.Rendered, explain.Used:
		return "good"
	case explain.LeftOut, explain.Held, explain.NotRendered:
		return "bad"
	}
	return ""
}
