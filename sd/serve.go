package sd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/internal/webpage"
	"github.com/agentry-dev/agentry/sd/merge"
)

// The contract with the generator, which writes these into http_sd_configs.
const (
	// Path is the URL path of the document.
	Path = "/operator/api/v1/metrics/integrations/sd"
	// Parameter selects the part of one GrafanaAgent, as namespace/name.
	Parameter = "grafanaagent"
)

// writeBuffer is the size in bytes of the writes that the fragments of pods are joined into.
const writeBuffer = 64 << 10

// Handler serves the document and the page. Requests must carry the token if the function is not nil.
func (a *Aggregator) Handler(token func() string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Path, a.serveSD)
	mux.HandleFunc("GET /{$}", a.servePage)
	mux.HandleFunc("GET /status.json", a.serveStatus)
	mux.HandleFunc("GET /style.css", webpage.Serve)
	var guarded http.Handler = mux
	if token != nil {
		guarded = requireBearer(token, mux)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		webpage.Secure(w.Header())
		counted := &statusWriter{ResponseWriter: w, code: http.StatusOK}
		guarded.ServeHTTP(counted, r)
		a.metrics.requests.WithLabelValues(strconv.Itoa(counted.code), viewName(r.URL)).Inc()
	})
}

// viewName returns the view that a request asks for, as a label value of a metric.
func viewName(u *url.URL) string {
	switch u.Path {
	case Path:
		if u.RawQuery == "" {
			return "all"
		}
		return "agent"
	case "/", "/status.json", "/style.css":
		return "page"
	}
	return "other"
}

func (a *Aggregator) serveSD(w http.ResponseWriter, r *http.Request) {
	owner, all, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	document := a.poller.Document()
	if document == nil {
		unavailable(w, "not ready: "+a.missing())
		return
	}
	if all {
		a.serveView(w, r, document.All())
		return
	}
	if !a.source.Sees(owner) {
		unavailable(w, "cannot see the integration pods of "+owner.String()+
			": its namespace is not watched, or watching it is forbidden")
		return
	}
	a.serveView(w, r, document.Of(owner))
}

// unavailable answers with an error, so that consumers keep their targets.
func unavailable(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why, http.StatusServiceUnavailable)
}

// missing describes the work that the first document still waits for.
func (a *Aggregator) missing() string {
	waiting, started := a.poller.Waiting()
	if !started {
		return "not all namespaces or names have been listed yet"
	}
	if waiting == 0 {
		return "asking peers for the targets of pods that do not answer"
	}
	return fmt.Sprintf("%d pods have not been tried yet", waiting)
}

// parseQuery reads a query, which names one agent or is empty for the whole document.
func parseQuery(query string) (owner merge.Owner, all bool, err error) {
	if query == "" {
		return owner, true, nil
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return owner, false, errors.New("the query is malformed")
	}
	if len(values) != 1 || len(values[Parameter]) != 1 {
		return owner, false, errors.New("the only parameter is " + Parameter + ", given once")
	}
	owner, ok := merge.ParseOwner(values.Get(Parameter))
	if !ok {
		return owner, false, errors.New(Parameter + " must be NAMESPACE/NAME")
	}
	return owner, false, nil
}

func (a *Aggregator) serveView(w http.ResponseWriter, r *http.Request, view *merge.View) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Vary", "Accept-Encoding")
	header.Set("Cache-Control", "no-cache")
	zip := acceptsGzip(r.Header.Values("Accept-Encoding"))
	tag := `"` + view.Tag() + `"`
	if zip {
		tag = `"` + view.Tag() + `-gzip"`
	}
	header.Set("Etag", tag)
	if matches(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if zip {
		body := view.Gzip()
		header.Set("Content-Encoding", "gzip")
		header.Set("Content-Length", strconv.Itoa(len(body)))
		if r.Method != http.MethodHead {
			_, _ = w.Write(body) // It is not an error if the consumer hangs up.
		}
		return
	}
	header.Set("Content-Length", strconv.Itoa(view.Size()))
	if r.Method != http.MethodHead {
		a.write(w, view)
	}
}

func (a *Aggregator) write(w io.Writer, view *merge.View) {
	out, ok := a.buffers.Get().(*bufio.Writer)
	if !ok {
		out = bufio.NewWriterSize(w, writeBuffer)
	}
	out.Reset(w)
	if _, err := view.WriteTo(out); err == nil {
		_ = out.Flush()
	}
	out.Reset(nil)
	a.buffers.Put(out)
}

// matches reports whether an If-None-Match header names the tag. Weak tags compare as strong ones.
func matches(conditions []string, tag string) bool {
	for _, condition := range conditions {
		for one := range strings.SplitSeq(condition, ",") {
			if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag {
				return true
			}
		}
	}
	return false
}

// acceptsGzip reports whether an Accept-Encoding header names gzip with a weight above zero.
func acceptsGzip(accepted []string) bool {
	for _, line := range accepted {
		for one := range strings.SplitSeq(line, ",") {
			coding, weight, _ := strings.Cut(one, ";")
			if !strings.EqualFold(strings.TrimSpace(coding), "gzip") {
				continue
			}
			q, weighted := strings.CutPrefix(strings.ReplaceAll(weight, " ", ""), "q=")
			value, err := strconv.ParseFloat(q, 64)
			return !weighted || err == nil && value > 0
		}
	}
	return false
}

// statusWriter records the status code.
type statusWriter struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements [http.ResponseWriter].
func (w *statusWriter) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap lets [http.ResponseController] reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
