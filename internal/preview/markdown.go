package preview

import (
	"fmt"
	"strings"

	"github.com/agentry-dev/agentry/internal/forge"
)

// Limits of a comment besides the forge's.
const (
	maxHeld  = 50
	maxDiags = 50
)

// markdown returns the comment, of at most limit bytes. The most important parts come first, and parts that do not fit
// are counted.
func (r *result) markdown(pipeline string, limit int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### agentry: %s\n\n", forge.Code(pipeline))
	if r.refused != "" {
		fmt.Fprintf(&b, "No preview of %s: %s.\n", forge.Code(shortID(r.head)), r.refused)
		r.writeDiags(&b)
		return forge.Truncate(b.String(), limit)
	}
	fmt.Fprintf(&b, "**%s** with %s, compared with %s. Nothing is pushed for this.\n", r.summary(),
		forge.Code(shortID(r.head)), forge.Code(shortID(r.base)))
	forge.Effects(&b, r.changes)
	forge.Held(&b, r.held, maxHeld)
	r.writeDiags(&b)
	head := forge.Truncate(b.String(), limit)
	return head + forge.Objects(r.changes, limit-len(head))
}

func (r *result) writeDiags(b *strings.Builder) {
	forge.Findings(b, r.diags, maxDiags)
	if r.known > 0 {
		fmt.Fprintf(b, "\nErrors and warnings already on the branch: %d.\n", r.known)
	}
}

func shortID(commit string) string { return commit[:min(len(commit), 7)] }
