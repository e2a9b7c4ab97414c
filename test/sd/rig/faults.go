package rig

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentry-dev/agentry/sd/merge"
	"github.com/agentry-dev/agentry/sd/poll"
)

// Fault is a way in which pods that run the [Typical] integrations misbehave.
type Fault struct {
	Name string
	// New makes a pod with the fault.
	New func() http.Handler
	// Failure is the reason of failed polls. Without it, at least some polls succeed.
	Failure poll.Reason
	// Drop is the reason for dropping groups of its answers; the typical groups stay.
	Drop merge.Reason
}

// Faults lists all faults.
func Faults() []Fault {
	return slices.Concat(brokenAnswers(), oddAnswers(), badGroups())
}

// FaultNamed returns the fault with that name.
func FaultNamed(name string) Fault {
	faults := Faults()
	return faults[slices.IndexFunc(faults, func(f Fault) bool { return f.Name == name })]
}

// brokenAnswers returns faults with missing or incomplete answers.
func brokenAnswers() []Fault {
	body := answer(Typical())
	return []Fault{
		{Name: "hang", New: handler(hang), Failure: poll.ReasonTimeout},
		{Name: "hang in the body", New: handler(hangInBody), Failure: poll.ReasonTimeout},
		{Name: "dribble", New: handler(dribble), Failure: poll.ReasonTimeout},
		{Name: "100 MB", New: handler(hundredMegabytes), Failure: poll.ReasonTooLarge},
		{Name: "100 MB announced", New: handler(announced), Failure: poll.ReasonTooLarge},
		{Name: "a long header", New: handler(longHeader), Failure: poll.ReasonBroken},
		{Name: "reset", New: handler(reset), Failure: poll.ReasonBroken},
		{Name: "cut", New: handler(cut), Failure: poll.ReasonBroken},
		{Name: "TLS", New: handler(speakTLS), Failure: poll.ReasonBroken},
		{Name: "truncated", New: saying(body[:len(body)/2]), Failure: poll.ReasonMalformed},
	}
}

// oddAnswers returns faults with complete answers that no agent gives.
func oddAnswers() []Fault {
	body := answer(Typical())
	return []Fault{
		{Name: "bad JSON", New: saying(`[{"targets":["HOST"],}]`), Failure: poll.ReasonMalformed},
		{Name: "no JSON", New: saying(`hello`), Failure: poll.ReasonMalformed},
		{Name: "nothing", New: saying(``), Failure: poll.ReasonMalformed},
		{Name: "null", New: saying(`null`), Failure: poll.ReasonMalformed},
		{Name: "an object", New: saying(`{}`), Failure: poll.ReasonMalformed},
		{Name: "two documents", New: saying(body + body), Failure: poll.ReasonMalformed},
		{Name: "byte order mark", New: saying("\ufeff" + body), Failure: poll.ReasonMalformed},
		{Name: "too many groups", New: saying("[" + strings.Repeat("{},", 5000) + "{}]"),
			Failure: poll.ReasonTooManyGroups},
		{Name: "too many labels", New: func() http.Handler { return huge(manyLabels()) }, Failure: poll.ReasonTooLarge},
		{Name: "10 MB in a label", New: func() http.Handler { return huge(hugeLabel()) }, Failure: poll.ReasonTooLarge},
		{Name: "gzip", New: zipped(body), Failure: poll.ReasonContentType},
		{Name: "HTML", New: typed("text/html", body), Failure: poll.ReasonContentType},
		{Name: "Latin-1", New: typed("application/json; charset=iso-8859-1", body), Failure: poll.ReasonContentType},
		{Name: "status 500", New: status(http.StatusInternalServerError), Failure: poll.ReasonStatus},
		{Name: "status 204", New: status(http.StatusNoContent), Failure: poll.ReasonStatus},
		{Name: "redirect to itself", New: redirect(poll.Path), Failure: poll.ReasonRedirect},
		{Name: "redirect to another path", New: redirect("/elsewhere"), Failure: poll.ReasonRedirect},
		{Name: "redirect to another host", New: redirect("http://10.0.0.2:80/"), Failure: poll.ReasonRedirect},
		{Name: "flap", New: flap},
	}
}

// badGroups returns faults with bad groups beside good ones.
func badGroups() []Fault {
	beside := func(name, group string, drop merge.Reason) Fault {
		body := answer(Typical())
		return Fault{Name: name, New: saying(body[:len(body)-1] + "," + group + "]"), Drop: drop}
	}
	label := func(name, value string) string {
		return fmt.Sprintf(`{"targets":["HOST"],"labels":{%q:%q}}`, name, value)
	}
	return []Fault{
		beside("null group", `null`, merge.ReasonMalformed),
		beside("unknown field", `{"targets":["HOST"],"stale":"true"}`, merge.ReasonMalformed),
		beside("number as a target", `{"targets":[1]}`, merge.ReasonMalformed),
		beside("number as a label", `{"targets":["HOST"],"labels":{"a":1}}`, merge.ReasonMalformed),
		beside("not UTF-8", "{\"targets\":[\"HOST\"],\"labels\":{\"a\":\"\xff\"}}", merge.ReasonMalformed),
		beside("no target", `{}`, merge.ReasonNoTarget),
		beside("foreign host", `{"targets":["169.254.169.254:80"]}`, merge.ReasonForeignTarget),
		beside("foreign port", `{"targets":["HOST0"]}`, merge.ReasonForeignTarget),
		beside("foreign host beside its own", `{"targets":["HOST","10.0.0.2:80"]}`, merge.ReasonForeignTarget),
		beside("foreign address label", label("__address__", "10.0.0.2:80"), merge.ReasonReservedLabel),
		beside("scrape interval", label("__scrape_interval__", "1ms"), merge.ReasonReservedLabel),
		beside("foreign scheme", label("__scheme__", "ftp"), merge.ReasonScheme),
		beside("bad label name", label("a-b", "c"), merge.ReasonLabelName),
		beside("empty label name", label("", "c"), merge.ReasonLabelName),
		beside("label bomb", labels(2000), merge.ReasonTooLarge),
		beside("long label", longLabel(100_000), merge.ReasonTooLarge),
	}
}

// labels returns a group with n labels.
func labels(n int) string {
	var b strings.Builder
	b.WriteString(`{"targets":["HOST"],"labels":{"l":""`)
	for i := range n {
		fmt.Fprintf(&b, `,"l%d":"v"`, i)
	}
	b.WriteString("}}")
	return b.String()
}

// Texts of some MB, made once when they are needed.
var (
	manyLabels = sync.OnceValue(func() string { return "[" + labels(1_000_000) + "]" })
	hugeLabel  = sync.OnceValue(func() string { return "[" + longLabel(10<<20) + "]" })
)

// huge returns a pod that answers with a text without replacing HOST, because nobody reads it to the end.
func huge(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { says(w, text) })
}

// longLabel returns a group with a label of n bytes.
func longLabel(n int) string {
	return `{"targets":["HOST"],"labels":{"a":"` + strings.Repeat("x", n) + `"}}`
}

func handler(f http.HandlerFunc) func() http.Handler { return func() http.Handler { return f } }

func saying(text string) func() http.Handler {
	return func() http.Handler { return Says(text) }
}

func typed(kind, text string) func() http.Handler {
	return handler(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, strings.ReplaceAll(text, "HOST", r.Host))
	})
}

func zipped(text string) func() http.Handler {
	return handler(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		zip := gzip.NewWriter(&body)
		_, _ = io.WriteString(zip, strings.ReplaceAll(text, "HOST", r.Host))
		_ = zip.Close()
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = body.WriteTo(w)
	})
}

func status(code int) func() http.Handler {
	return handler(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
}

func redirect(to string) func() http.Handler {
	return handler(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
}

// flap answers every second poll.
func flap() http.Handler {
	var polls atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if polls.Add(1)%2 == 1 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		typical.ServeHTTP(w, r)
	})
}

func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func hangInBody(w http.ResponseWriter, r *http.Request) {
	says(w, "[")
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

func dribble(w http.ResponseWriter, r *http.Request) {
	says(w, "[")
	for {
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(time.Second):
			_, _ = io.WriteString(w, " ")
		}
	}
}

func hundredMegabytes(w http.ResponseWriter, _ *http.Request) {
	says(w, "[")
	blanks := strings.Repeat(" ", 1<<20)
	for range 100 {
		if _, err := io.WriteString(w, blanks); err != nil {
			return
		}
	}
}

func announced(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", "104857600")
	hundredMegabytes(w, r)
}

func longHeader(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
	says(w, "[]")
}

func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	says(w, "[")
	panic(http.ErrAbortHandler)
}

// reset ends the connection with RST.
func reset(w http.ResponseWriter, _ *http.Request) {
	if conn := raw(w); conn != nil {
		_ = conn.SetLinger(0)
		_ = conn.Close()
	}
}

// speakTLS answers like a TLS server that gets a plain request.
func speakTLS(w http.ResponseWriter, _ *http.Request) {
	if conn := raw(w); conn != nil {
		_, _ = conn.Write([]byte{0x15, 3, 1, 0, 2, 2, 22})
		_ = conn.Close()
	}
}

// raw returns the connection itself, nil over TLS.
func raw(w http.ResponseWriter) *net.TCPConn {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil
	}
	tcp, _ := conn.(*net.TCPConn)
	return tcp
}
