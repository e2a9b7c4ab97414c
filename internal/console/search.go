package console

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/explainers"
)

const (
	// searchTime limits how long a search looks.
	searchTime = time.Second
	// maxFound and maxFoundOfOne limit what the page shows of each group of results, and of the only one.
	maxFound, maxFoundOfOne = 10, 100
	// minCommit is how much of a commit's id has to be known.
	minCommit = 4
	// maxUnsearched limits the named pipelines in which nobody could look.
	maxUnsearched = 20
)

// searchPage is the page of what a search found.
type searchPage struct {
	frame
	Words string
	// In is the key of the only group that is shown. Empty: all are.
	In         string
	Choices    []choice
	Groups     []foundGroup
	Total      int
	Unsearched []unsearched
}

// foundGroup is the results of one kind.
type foundGroup struct {
	Key, Name string
	Total     int
	Found     []foundRow
}

// More returns how many results the page does not show.
func (g foundGroup) More() int { return g.Total - len(g.Found) }

// HasState reports whether the results have states.
func (g foundGroup) HasState() bool { return len(g.Found) > 0 && g.Found[0].State != "" }

// foundRow is one result.
type foundRow struct {
	Text, Link string
	// State is the state of an object or a pipeline, or empty.
	State, Class string
	Details      string
	Pipeline     string
}

// PipelineLink returns the page of the pipeline.
func (r foundRow) PipelineLink() string { return pipelineLink(r.Pipeline) }

// unsearched is pipelines in which nobody could look, for one reason.
type unsearched struct {
	Why       string
	Pipelines []string
}

// Shown returns the pipelines that are named.
func (u unsearched) Shown() []string { return u.Pipelines[:min(len(u.Pipelines), maxUnsearched)] }

// More returns how many pipelines are not named.
func (u unsearched) More() int { return len(u.Pipelines) - len(u.Shown()) }

// Link returns the address of the search with another group, or with all.
func (p searchPage) Link(in string) string {
	v := url.Values{"q": {p.Words}}
	if p.Pipeline != "" {
		v.Set("pipeline", p.Pipeline)
	}
	if in != "" {
		v.Set("in", in)
	}
	return "/search?" + v.Encode()
}

// Everywhere returns the address of the same search in all pipelines.
func (p searchPage) Everywhere() string {
	p.Pipeline = ""
	return p.Link(p.In)
}

func (c *console) serveSearch(w http.ResponseWriter, r *http.Request) {
	ask := r.URL.Query()
	p := searchPage{frame: c.frame(r, "Search", "search"), Words: strings.TrimSpace(ask.Get("q")), In: ask.Get("in")}
	rows := c.rows()
	if name := ask.Get("pipeline"); name != "" {
		p.frame = c.of(r, name, "hierarchy", "Search in "+name)
		if rows = slices.DeleteFunc(rows, func(r row) bool { return r.Name != name }); len(rows) == 0 {
			c.refuseNoPipeline(w, r)
			return
		}
	}
	p.Find = p.Words
	if words := explain.Words(p.Words); len(words) > 0 {
		ctx, cancel := context.WithTimeout(r.Context(), searchTime)
		defer cancel()
		if refused := c.search(ctx, &p, rows, words); refused != nil {
			c.refuse(w, r, refused.Status, refused.Message, refused.Hint)
			return
		}
	}
	c.write(w, r, http.StatusOK, "search", p)
}

// search looks for words in pipelines, and in what their last passes rendered.
func (c *console) search(ctx context.Context, p *searchPage, rows []row, words []string) *explainers.Refusal {
	limit := maxFound
	if p.In != "" {
		limit = maxFoundOfOne
	}
	var names []string
	for i := range rows {
		if rows[i].ForEach == "" {
			names = append(names, rows[i].Name)
		}
	}
	found, missed, refused := c.Explained.SearchAll(ctx, names, p.Words, limit)
	if refused != nil {
		return refused
	}
	groups := []foundGroup{
		pipelinesFound(rows, p.Words),
		rendered("objects", "Objects", found.Result(explain.Objects)),
		rendered("secrets", "Secrets, ConfigMaps and Namespaces", found.Result(explain.Referred)),
		rendered("jobs", "Jobs", found.Result(explain.Jobs)),
		rendered("writers", "Writers", found.Result(explain.Writers)),
		rendered("files", "Rendered files", found.Result(explain.Files)),
		commitsFound(rows, words),
	}
	if p.Pipeline != "" {
		groups = groups[1:]
	}
	if !slices.ContainsFunc(groups, func(g foundGroup) bool { return g.Key == p.In }) {
		p.In = ""
	}
	for _, g := range groups {
		p.Total += g.Total
		if g.Total > 0 || g.Key == p.In {
			of := state{Key: g.Key, Word: g.Name}
			p.Choices = append(p.Choices, choice{of, g.Total, p.Link(g.Key), p.In == g.Key})
		}
		if g.Total > 0 && (p.In == "" || p.In == g.Key) {
			g.Found = g.Found[:min(len(g.Found), limit)]
			p.Groups = append(p.Groups, g)
		}
	}
	all := choice{state{Word: "All"}, p.Total, p.Link(""), p.In == ""}
	p.Choices = append([]choice{all}, p.Choices...)
	p.Unsearched = whyUnsearched(rows, missed, ctx.Err() != nil)
	return nil
}

// pipelinesFound returns the pipelines with all words.
func pipelinesFound(rows []row, words string) foundGroup {
	g := foundGroup{Key: "pipelines", Name: "Pipelines"}
	for _, r := range rows {
		if has(r, words) {
			g.Found = append(g.Found, foundRow{Text: r.Name, Link: r.Link(), State: r.State.Word, Class: r.State.Class,
				Details: r.Brief(), Pipeline: r.Name})
		}
	}
	g.Total = len(g.Found)
	return g
}

// rendered returns a group of what was rendered.
func rendered(key, name string, found explain.SearchResult) foundGroup {
	g := foundGroup{Key: key, Name: name, Total: found.Total}
	for _, e := range found.Entries {
		id := e.ID().String()
		row := foundRow{Text: cmp.Or(e.Text, id), Link: explainLink(e.Pipeline, id), Pipeline: e.Pipeline}
		switch key {
		case "jobs":
			row.Details = "from " + id + ", in " + e.Instance
		case "writers":
			row.Details = "of " + id
		case "files":
			row.Text = e.Unit + "/" + e.Text
			row.Link, row.Details = outputLink(e.Pipeline, row.Text, 0), id
		default:
			row.State, row.Class = string(e.State), classOf(e.State)
			row.Details = strings.TrimSpace(fileAndLine(e.File, e.Line) + " " + explain.LabelText(e.Labels))
		}
		g.Found = append(g.Found, row)
	}
	return g
}

// commitsFound returns the latest commits of pipelines whose id begins with one of the words, or whose subject has them
// all. Some of them may be in the name of the pipeline.
func commitsFound(rows []row, words []string) foundGroup {
	g := foundGroup{Key: "commits", Name: "Commits"}
	isID := func(k knownCommit) bool {
		return slices.ContainsFunc(words, func(word string) bool {
			return len(word) >= minCommit && strings.HasPrefix(k.id, word)
		})
	}
	isSubject := func(k knownCommit, pipeline string) bool {
		subject, context := strings.ToLower(k.subject), strings.ToLower(pipeline)
		in := 0
		for _, word := range words {
			switch {
			case strings.Contains(subject, word):
				in++
			case !strings.Contains(context, word):
				return false
			}
		}
		return in > 0
	}
	for _, r := range rows {
		for _, k := range r.commits() {
			if isID(k) || isSubject(k, r.Name) {
				text := strings.TrimSpace(short(k.id) + " " + k.subject)
				link := r.Link() + "#findings"
				if k.output != "" {
					link = commitPageLink(r.Name, k.output)
				}
				g.Found = append(g.Found, foundRow{Text: text, Link: link, Details: k.of, Pipeline: r.Name})
			}
		}
	}
	g.Total = len(g.Found)
	return g
}

// knownCommit is a commit that a pipeline read or made, and the commit of the output branch that was rendered from it,
// or that it is, or nothing for one that changed what is wrong now. The subject is known of input commits.
type knownCommit struct{ id, subject, of, output string }

// commits returns the latest commits of a pipeline, each once.
func (r row) commits() (out []knownCommit) {
	if r.Output == nil {
		return nil
	}
	add := func(k knownCommit) {
		isKnown := slices.ContainsFunc(out, func(other knownCommit) bool { return other.id == k.id })
		if k.id != "" && !isKnown {
			out = append(out, k)
		}
	}
	branch := "output branch " + r.Output.Branch
	input := func(s gitsync.SourceStatus) string { return "input " + repositoryName(s.URL) + ", " + s.Ref }
	add(knownCommit{r.Output.Commit, "", branch, r.Output.Commit})
	for _, s := range r.Sources {
		add(knownCommit{s.Commit, s.Subject, input(s), r.Output.Commit}) // no link if nothing was rendered yet
	}
	for _, h := range r.History {
		output := strings.TrimPrefix(h.Digest, "sha1:")
		add(knownCommit{output, "", branch, output})
		if _, commit, ok := strings.Cut(h.Metadata["originRevision"], "sha1:"); ok && len(r.Sources) > 0 {
			add(knownCommit{commit, h.Metadata["originSubject"], input(r.Sources[0]), output})
		}
	}
	for _, d := range r.wrong() {
		if d.Changed != nil {
			add(knownCommit{d.Changed.Commit, d.Changed.Subject, "changed " + d.File + " last", ""})
		}
	}
	return out
}

// whyUnsearched returns the pipelines in which nobody could look, by the reason.
func whyUnsearched(rows []row, missed []string, isLate bool) (out []unsearched) {
	byName := make(map[string]row, len(rows))
	for _, r := range rows {
		byName[r.Name] = r
	}
	for _, name := range missed {
		why := reasonUnsearched(byName[name].Status)
		if isLate {
			why = "there was no time: search for fewer words"
		}
		i := slices.IndexFunc(out, func(u unsearched) bool { return u.Why == why })
		if i < 0 {
			i, out = len(out), append(out, unsearched{Why: why})
		}
		out[i].Pipelines = append(out[i].Pipelines, name)
	}
	return out
}

// reasonUnsearched returns why nothing is known of what a pipeline renders.
func reasonUnsearched(s fleet.Status) string {
	switch {
	case s.Suspended:
		return "suspended"
	case !s.Owned:
		return "another replica runs them"
	case s.LastPass == nil:
		return "no pass has ended yet"
	}
	return "the last pass rendered nothing, or --memory is too small for its names"
}
