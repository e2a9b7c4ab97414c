package console

import (
	"net/http"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
)

// codePage is the manual's page of the code of a diagnostic.
type codePage struct {
	frame
	diag.CodeInfo
}

// Paragraphs returns what the code means, and what to do.
func (p codePage) Paragraphs() []string { return strings.Split(p.Help, "\n\n") }

func (c *console) serveCode(w http.ResponseWriter, r *http.Request) {
	info, ok := diag.Lookup(diag.Code(r.PathValue("code")))
	if !ok {
		c.refuse(w, r, http.StatusNotFound, "no such code", "the page Diagnostics of the manual has all")
		return
	}
	p := codePage{c.frame(r, string(info.Code), ""), info}
	p.Still = true
	c.write(w, r, http.StatusOK, "code", p)
}
