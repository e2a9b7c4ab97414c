// Package style is how the pages of agentry's programs look, and what a browser may do on them.
package style

import (
	_ "embed"
	"net/http"
)

//go:embed style.css
var sheet []byte

// Serve serves the style sheet, which the pages expect at /style.css.
func Serve(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	_, _ = w.Write(sheet)
}

// Secure sets the headers of every answer of a server with pages: a browser loads nothing but the style sheet, runs
// nothing, sends no form, and shows the page in no frame.
func Secure(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Referrer-Policy", "no-referrer")
}
