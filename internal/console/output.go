package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/internal/repobrowser"
)

// maxLines is how many lines of a file are on one page.
const maxLines = 2000

// outputLink returns the page of a folder or file of the output branch, at a line if there is one.
func outputLink(pipeline, at string, line int) string {
	address := pipelineLink(pipeline) + "/output/" + strings.TrimPrefix((&url.URL{Path: "/" + at}).EscapedPath(), "/")
	if line > 0 {
		n := strconv.Itoa(line)
		address += "?line=" + n + "#L" + n
	}
	return address
}

// outputPage is the page of what is on the output branch: units, the files of one, or the lines of a file.
type outputPage struct {
	pipelinePage
	*repobrowser.Output
	First int // the number of the first line that is shown
}

func (c *console) serveOutput(w http.ResponseWriter, r *http.Request) {
	found, ok := c.find(w, r)
	if !ok {
		return
	}
	at := r.PathValue("path")
	out, refused := c.Repositories.Output(found.Name, at)
	if refused != nil {
		c.refuseOn(w, r, found.Name, "output", refused)
		return
	}
	p := outputPage{pipelinePage: pipelinePage{frame: c.of(r, found.Name, "output", found.Name+": "+at), row: found},
		Output: out, First: 1}
	p.Still = out.File != nil
	if line, err := strconv.Atoi(r.URL.Query().Get("line")); err == nil && line > 0 {
		p.First = (min(line, len(out.Lines))-1)/maxLines*maxLines + 1
	}
	c.write(w, r, http.StatusOK, "output", p)
}

// Row is the pipeline.
func (p outputPage) Row() row { return p.row }

// At returns the page of a folder or file.
func (p outputPage) At(name string) string { return outputLink(p.Name, name, 0) }

// PathOf returns a file of the unit as the forge knows it.
func (p outputPage) PathOf(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(p.row.Output.Path, ".")+"/"+p.Unit+"/"+name, "/")
}

// ForgePage returns the page of the file at the forge.
func (p outputPage) ForgePage() string {
	return p.links.output.File(p.Commit, p.PathOf(p.File.Name), 0)
}

// OnPage returns the lines of the page.
func (p outputPage) OnPage() []codeLine {
	var out []codeLine
	isYAML := strings.HasSuffix(p.File.Name, ".yaml") || strings.HasSuffix(p.File.Name, ".yml.txt")
	for i := p.First - 1; i < min(p.First-1+maxLines, len(p.Lines)); i++ {
		out = append(out, codeLine{Number: i + 1, Parts: parts(p.Lines[i], isYAML)})
	}
	return out
}

// Turn returns the address of the page before or after this one; empty if there is none.
func (p outputPage) Turn(by int) string {
	line := p.First + by*maxLines
	if line < 1 || line > len(p.Lines) {
		return ""
	}
	return outputLink(p.Name, p.Unit+"/"+p.File.Name, line)
}
