// Package webpage has the style sheet and the security headers of agentry's pages.
package webpage

import (
	_ "embed"
	"net/http"
)

//go:embed style.css
var sheet []byte

// Serve serves the style sheet, which pages load from /style.css.
func Serve(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	_, _ = w.Write(sheet)
}

// Secure sets the security headers of a response: a browser loads only the style sheet, runs nothing, sends no form,
// and shows the page in no frame.
func Secure(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Referrer-Policy", "no-referrer")
}
