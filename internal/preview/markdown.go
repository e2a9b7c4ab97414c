package preview

import (
	"fmt"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/internal/forge"
)

// The limits of a comment besides the forge's own.
const (
	maxUnits    = 100
	maxHeld     = 50
	maxDiags    = 50
	maxFiles    = 200
	maxDiffSize = 20 << 10 // of one object
	restSize    = 200      // reserved for counting what is missing
)

// markdown returns the comment, of at most limit bytes. The most important comes first, and what does not fit is
// counted.
func (r *result) markdown(pipeline string, limit int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### agentry: %s\n\n", forge.Code(pipeline))
	if r.refused != "" {
		fmt.Fprintf(&b, "No preview of %s: %s.\n", forge.Code(shortID(r.head)), r.refused)
		r.writeDiags(&b)
		return forge.Truncate(b.String(), limit)
	}
	fmt.Fprintf(&b, "**%s** with %s, compared with %s. Nothing is pushed for this.\n", r.summary(), forge.Code(shortID(r.head)), forge.Code(shortID(r.base)))
	var units []string
	for _, u := range r.units {
		units = append(units, forge.Code(u.name)+" "+u.what)
	}
	forge.Section(&b, "Units", units, maxUnits)
	forge.Held(&b, r.held, maxHeld)
	r.writeDiags(&b)
	head := forge.Truncate(b.String(), limit)
	return head + r.writeFiles(limit-len(head))
}

func (r *result) writeDiags(b *strings.Builder) {
	var lines []string
	for _, severity := range []diag.Severity{diag.Error, diag.Warning} {
		for _, d := range r.diags {
			if d.Severity != severity {
				continue
			}
			text := fmt.Sprintf("%s %s: %s", d.Severity, forge.Code(d.Position()), forge.Code(d.Message))
			if d.Hint != "" {
				text += "; " + forge.Code(d.Hint)
			}
			lines = append(lines, text)
		}
	}
	forge.Section(b, "Findings", lines, maxDiags)
	if r.known > 0 {
		fmt.Fprintf(b, "\nErrors and warnings that the branch has already: %d.\n", r.known)
	}
}

// writeFiles writes diffs as long as they fit.
func (r *result) writeFiles(room int) string {
	if len(r.files) == 0 || room < 2*restSize {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n### Objects\n\n")
	for i, f := range r.files {
		text := f.markdown(true)
		if b.Len()+len(text)+restSize > room {
			text = f.markdown(false)
		}
		if i == maxFiles || b.Len()+len(text)+restSize > room {
			fmt.Fprintf(&b, "\nThere is no room for %d more.\n", len(r.files)-i)
			break
		}
		b.WriteString(text)
	}
	return b.String()
}

// markdown returns one object, with its diff or only with the number of its lines.
func (f fileChange) markdown(whole bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- %s %s", f.op, forge.Code(f.path))
	if len(f.keys) > 0 {
		fmt.Fprintf(&b, ": %s", strings.Join(f.keys, ", "))
	}
	if f.diff == "" {
		return b.String() + "\n"
	}
	fmt.Fprintf(&b, " (+%d −%d lines)\n", f.plus, f.less)
	if whole && len(f.diff) <= maxDiffSize {
		fmt.Fprintf(&b, "\n<details><summary>Diff</summary>\n\n%s\n</details>\n\n", forge.Block("diff", f.diff))
	}
	return b.String()
}

func shortID(commit string) string { return commit[:min(len(commit), 7)] }
