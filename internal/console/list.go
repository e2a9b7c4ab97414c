package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/fleet"
)

const (
	// maxRows is how many pipelines are on one page.
	maxRows = 1000
	// maxQueryBytes limits what is looked for.
	maxQueryBytes = 256
)

// query says which pipelines are shown, and how.
type query struct {
	Words, State, Sort, Group string
	Page                      int // from 1
}

func newQuery(from url.Values) query {
	q := query{Words: strings.TrimSpace(from.Get("q")), State: from.Get("state"), Sort: from.Get("sort"),
		Group: from.Get("group"), Page: 1}
	q.Words = strings.ToValidUTF8(q.Words[:min(len(q.Words), maxQueryBytes)], "")
	if n, err := strconv.Atoi(from.Get("page")); err == nil && n > 0 {
		q.Page = n
	}
	if !slices.ContainsFunc(states(), func(s state) bool { return s.Key == q.State }) {
		q.State = ""
	}
	if orders()[q.Sort] == nil {
		q.Sort = ""
	}
	if q.Group != "repository" {
		q.Group = ""
	}
	return q
}

// link returns the address of the list with the query.
func (q query) link() string {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	set("q", q.Words)
	set("state", q.State)
	set("sort", q.Sort)
	set("group", q.Group)
	if q.Page > 1 {
		set("page", strconv.Itoa(q.Page))
	}
	if len(v) == 0 {
		return "/"
	}
	return "/?" + v.Encode()
}

// orders returns the orders of the list by name. The first, "", begins with pipelines that need attention.
func orders() map[string]func(a, b row) int {
	name := func(a, b row) int { return cmp.Compare(a.Name, b.Name) }
	findings := func(a, b row) int {
		return cmp.Or(cmp.Compare(b.Findings.Errors, a.Findings.Errors),
			cmp.Compare(b.Findings.Warnings, a.Findings.Warnings))
	}
	began := func(r row) int64 {
		if r.LastPass == nil {
			return 0
		}
		return r.LastPass.Began.UnixNano()
	}
	return map[string]func(a, b row) int{
		"":         func(a, b row) int { return cmp.Or(cmp.Compare(a.rank, b.rank), name(a, b)) },
		"name":     name,
		"findings": func(a, b row) int { return cmp.Or(findings(a, b), name(a, b)) },
		"held":     func(a, b row) int { return cmp.Or(cmp.Compare(b.HeldCount(), a.HeldCount()), name(a, b)) },
		"pass":     func(a, b row) int { return cmp.Or(cmp.Compare(began(b), began(a)), name(a, b)) },
	}
}

// list is the page of all pipelines.
type list struct {
	frame
	query
	Problems diag.List
	Total    int
	Bad      int
	Found    int // by the words, in the state
	States   []choice
	Causes   []cause
	Groups   []group
	Pages    int
}

// choice is a link that shows fewer pipelines.
type choice struct {
	state
	Count  int
	Link   string
	Chosen bool
}

// group is pipelines that stand together.
type group struct {
	Name string // a repository; empty if there are no groups
	Rows []row
}

func (c *console) serveList(w http.ResponseWriter, r *http.Request) {
	c.write(w, r, http.StatusOK, "list", c.newList(r, newQuery(r.URL.Query())))
}

func (c *console) newList(r *http.Request, q query) list {
	p := list{frame: c.frame(r, "Pipelines", "pipelines"), query: q, Problems: c.Fleet.Problems()}
	all := c.rows()
	p.Total = len(all)
	found := slices.DeleteFunc(all, func(r row) bool {
		if r.Bad() {
			p.Bad++
		}
		return !has(r, q.Words)
	})
	p.count(found)
	if q.State != "" {
		found = slices.DeleteFunc(found, func(r row) bool { return r.State.Key != q.State })
	}
	p.Found = len(found)
	p.Causes = causes(found)
	order := orders()[q.Sort]
	slices.SortStableFunc(found, func(a, b row) int {
		if q.Group != "" {
			if n := cmp.Compare(a.Repository(), b.Repository()); n != 0 {
				return n
			}
		}
		return order(a, b)
	})
	p.Pages = max(1, (len(found)+maxRows-1)/maxRows)
	p.Page = min(p.Page, p.Pages)
	found = found[(p.Page-1)*maxRows:]
	p.Groups = grouped(found[:min(len(found), maxRows)], q.Group != "")
	if p.Bad > 0 {
		p.Title = strconv.Itoa(p.Bad) + " not ready"
	}
	return p
}

// rows returns all pipelines.
func (c *console) rows() []row {
	defs := map[string]*fleet.Definition{}
	for _, d := range c.Fleet.Definitions() {
		defs[d.Metadata.Name] = d
	}
	all := c.Fleet.Status()
	out := make([]row, 0, len(all))
	for _, s := range all {
		out = append(out, newRow(s, defs[s.Name]))
	}
	return out
}

// has reports whether a row has all words.
func has(r row, words string) bool {
	if words == "" {
		return true
	}
	text := r.text()
	for word := range strings.FieldsSeq(strings.ToLower(words)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// count sets the choices of states, with how many pipelines each would show.
func (p *list) count(found []row) {
	q := p.query
	q.State, q.Page = "", 1
	p.States = append(p.States, choice{state{"", "All", ""}, len(found), q.link(), p.State == ""})
	for _, s := range states() {
		n := 0
		for _, r := range found {
			if r.State.Key == s.Key {
				n++
			}
		}
		if n > 0 || s.Key == p.State {
			q.State = s.Key
			p.States = append(p.States, choice{s, n, q.link(), p.State == s.Key})
		}
	}
}

func grouped(rows []row, byRepository bool) (out []group) {
	if !byRepository {
		return []group{{Rows: rows}}
	}
	for _, r := range rows {
		if len(out) == 0 || out[len(out)-1].Name != r.Repository() {
			out = append(out, group{Name: r.Repository()})
		}
		last := &out[len(out)-1]
		last.Rows = append(last.Rows, r)
	}
	return out
}

// SortLink returns the address of the list in another order.
func (p list) SortLink(order string) string {
	q := p.query
	q.Sort, q.Page = order, 1
	return q.link()
}

// Sorted returns the value of aria-sort for a column.
func (p list) Sorted(order string) string {
	switch {
	case p.Sort != order:
		return "none"
	case order == "" || order == "name":
		return "ascending"
	}
	return "descending"
}

// GroupLink returns the address of the list with or without groups.
func (p list) GroupLink() string {
	q := p.query
	q.Page = 1
	if q.Group == "" {
		q.Group = "repository"
	} else {
		q.Group = ""
	}
	return q.link()
}

// PageLink returns the address of another page; empty if there is none.
func (p list) PageLink(step int) string {
	q := p.query
	if q.Page = p.Page + step; q.Page < 1 || q.Page > p.Pages {
		return ""
	}
	return q.link()
}
