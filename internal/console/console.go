package console

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/delivery"
	"github.com/agentry-dev/agentry/internal/explainers"
	"github.com/agentry-dev/agentry/internal/repobrowser"
	"github.com/agentry-dev/agentry/internal/webpage"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed console.css
var sheet []byte

//go:embed console.js
var script []byte

//go:embed icon.svg
var icon []byte

// Fleet is the state that is shown. It is implemented by [fleet.Fleet].
type Fleet interface {
	Status() []fleet.Status
	Pipeline(name string) (fleet.Status, bool)
	Definitions() []*fleet.Definition
	Remotes() []fleet.RemoteStatus
	Problems() diag.List
}

// Options are what the pages show, and what they may ask for.
type Options struct {
	Fleet Fleet
	// Delivery knows how far commits have come in clusters. It may be nil.
	Delivery  *delivery.Store
	Explained *explainers.Store
	// Repositories are what is cached of the pipelines' repositories.
	Repositories *repobrowser.Store
	// Pass asks for a pass of a pipeline, and returns the token that its status repeats.
	Pass func(r *http.Request, pipeline string) (token string)
	// Who says who sent a request.
	Who     func(*http.Request) Person
	Version string
	Log     *slog.Logger
}

// Person is who looks at a page.
type Person struct {
	// User is the name of somebody who has logged in, and can log out. It is empty for those who have a token.
	User string
	// MayAct says that they may ask for passes.
	MayAct bool
}

// Message is a page that says one thing.
type Message struct {
	Status      int
	Title, Hint string
	// Links lead on. None: to the first page.
	Links []Link
}

// Link leads to a page.
type Link struct{ Text, Address string }

// console serves the pages.
type console struct {
	Options
	pages map[string]*template.Template
	now   func() time.Time
}

// Handle adds the pages to a mux. It returns a function that answers a request with a message.
func Handle(mux *http.ServeMux, o Options) (say func(http.ResponseWriter, *http.Request, Message), err error) {
	c := &console{Options: o, pages: map[string]*template.Template{}, now: time.Now}
	for _, name := range [...]string{"list", "pipeline", "remotes", "hierarchy", "explain", "history", "commit",
		"output", "search", "code", "missing"} {
		page, err := template.New("layout.html").Funcs(functions()).ParseFS(templates, "templates/layout.html",
			"templates/parts.html", "templates/"+name+".html")
		if err != nil {
			return nil, err
		}
		c.pages[name] = page
	}
	mux.HandleFunc("GET /{$}", c.serveList)
	mux.HandleFunc("GET /search", c.serveSearch)
	mux.HandleFunc("GET /codes/{code}", c.serveCode)
	mux.HandleFunc("GET /remotes", c.serveRemotes)
	mux.HandleFunc("GET /pipelines/{name}", c.servePipeline)
	mux.HandleFunc("POST /pipelines/{name}/pass", c.pass)
	mux.HandleFunc("GET /pipelines/{name}/hierarchy", c.serveHierarchy)
	mux.HandleFunc("GET /pipelines/{name}/explain", c.serveExplanation)
	mux.HandleFunc("GET /pipelines/{name}/commits", c.serveHistory)
	mux.HandleFunc("GET /pipelines/{name}/commits/{commit}", c.serveCommit)
	mux.HandleFunc("GET /pipelines/{name}/output/{path...}", c.serveOutput)
	Files(mux)
	return c.say, nil
}

// Files adds what all pages load to a mux. It is the same everywhere, so everybody may have it.
func Files(mux *http.ServeMux) {
	mux.HandleFunc("GET /style.css", webpage.Serve)
	mux.HandleFunc("GET /console.css", serveFile(sheet, "text/css; charset=utf-8"))
	mux.HandleFunc("GET /icon.svg", serveFile(icon, "image/svg+xml"))
	mux.HandleFunc("GET /console.js", serveFile(script, "text/javascript; charset=utf-8"))
}

func serveFile(data []byte, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(data)
	}
}

// frame is the frame around every page.
type frame struct {
	Person
	Version string
	Title   string
	// Section is the entry of the main menu, and Tab the entry of the pipeline's menu, if the page is about one.
	Section, Tab string
	Pipeline     string
	// Find is what was searched for, in the form of the header.
	Find string
	// Still pages are not asked for again.
	Still bool
	now   time.Time
}

func (c *console) frame(r *http.Request, title, section string) frame {
	return frame{Person: c.Who(r), Version: c.Version, Title: title, Section: section, now: c.now()}
}

// of returns the frame of a page about a pipeline.
func (c *console) of(r *http.Request, pipeline, tab, title string) frame {
	f := c.frame(r, cmp.Or(title, pipeline), "pipelines")
	f.Pipeline, f.Tab = pipeline, tab
	return f
}

// policy limits a browser on a page: it may load the style, the script and the icon from here, ask here again, and send
// forms here.
const policy = "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// write sends a page. One that the browser has already is not sent again.
func (c *console) write(w http.ResponseWriter, r *http.Request, status int, name string, data any) {
	var out bytes.Buffer
	if err := c.pages[name].Execute(&out, data); err != nil {
		c.Log.Error("cannot make the page", "page", name, "err", err)
		http.Error(w, "the page cannot be made; see the log", http.StatusInternalServerError)
		return
	}
	page := bytes.Map(visible, out.Bytes())
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "same-origin") // otherwise browsers send forms with the origin null, and they are refused
	h.Set("Cache-Control", "private, no-cache")
	sum := sha256.Sum256(page)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	h.Set("ETag", tag)
	if status == http.StatusOK && slices.Contains(strings.Fields(r.Header.Get("If-None-Match")), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.WriteHeader(status)
	_, _ = w.Write(page)
}

// visible replaces characters that somebody may have put into a name to steer a reader's program, or to turn text
// around.
func visible(r rune) rune {
	switch {
	case r == '\n', r == '\t':
		return r
	case unicode.IsControl(r), unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control):
		return unicode.ReplacementChar
	}
	return r
}

// missing is the page in place of one that cannot be shown.
type missing struct {
	frame
	Says Message
}

func (c *console) say(w http.ResponseWriter, r *http.Request, m Message) {
	c.write(w, r, m.Status, "missing", missing{c.frame(r, m.Title, ""), m})
}

func (c *console) refuseNoPipeline(w http.ResponseWriter, r *http.Request) {
	c.refuse(w, r, http.StatusNotFound, "no such pipeline",
		"it may have been removed from the configuration, or renamed")
}

func (c *console) refuse(w http.ResponseWriter, r *http.Request, status int, message, hint string) {
	c.say(w, r, Message{Status: status, Title: message, Hint: hint})
}
